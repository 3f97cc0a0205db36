package form

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxRemark = 200 // bytes of a title or a description that are shown
	maxListed = 40  // choices that are shown
)

// Show is an answer for people, a field a line: what it sends, and what would be taken. What the server or the answer says is
// in quotes, or stands for itself.
func (f Form) Show(answer json.RawMessage) string {
	all, err := object(answer)
	if err != nil {
		all = nil
	}
	if len(f.Fields) == 0 {
		return "nothing but the answer yes"
	}
	var b strings.Builder
	for i, field := range f.Fields {
		if i > 0 {
			b.WriteByte('\n')
		}
		value := "(left out)"
		raw, ok := all[field.Name]
		switch {
		case ok:
			value = shown(raw)
		case field.Required:
			value = "(missing)"
		}
		fmt.Fprintf(&b, "%s = %s   %s", name(field.Name), value, field.takes())
		if remark := field.remark(); remark != "" {
			fmt.Fprintf(&b, "\n    %s", remark)
		}
	}
	return b.String()
}

// takes says what a field takes.
func (f Field) takes() string {
	var parts []string
	switch f.kind {
	case text:
		switch {
		case f.choices != nil:
			parts = append(parts, "one of "+f.listed())
		case f.format != "":
			parts = append(parts, Line(f.format, maxRemark))
		default:
			parts = append(parts, "text")
		}
		if f.pattern != nil {
			parts = append(parts, "matching "+quoted(f.patternShown))
		}
		parts = f.bounds(parts, " characters")
	case number:
		parts = f.bounds(append(parts, "number"), "")
	case integer:
		parts = f.bounds(append(parts, "whole number"), "")
	case yesNo:
		parts = append(parts, "true or false")
	case several:
		parts = f.bounds(append(parts, "some of "+f.listed()), " of them")
	}
	if f.Required {
		parts = append(parts, "required")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (f Field) bounds(parts []string, what string) []string {
	if f.least != nil {
		parts = append(parts, fmt.Sprintf("at least %v%s", *f.least, what))
	}
	if f.most != nil {
		parts = append(parts, fmt.Sprintf("at most %v%s", *f.most, what))
	}
	return parts
}

func (f Field) remark() string {
	var parts []string
	for _, s := range []string{f.title, f.description} {
		if s != "" {
			parts = append(parts, quoted(Line(s, maxRemark)))
		}
	}
	return strings.Join(parts, ": ")
}

// listed are the choices.
func (f Field) listed() string {
	var all []string
	for i, c := range f.choices {
		if i == maxListed {
			all = append(all, fmt.Sprintf("%d more", len(f.choices)-i))
			break
		}
		one := quoted(c.value)
		if c.title != "" && c.title != c.value {
			one += " (" + quoted(Line(c.title, maxRemark)) + ")"
		}
		all = append(all, one)
	}
	return strings.Join(all, ", ")
}

// name is a field's name: in quotes, if it is not plain.
func name(s string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if len(s) > maxRemark {
		s = strings.ToValidUTF8(s[:maxRemark], "") + "…"
	}
	return quoted(s)
}

// shown is a value with all that is invisible in it as an escape.
func shown(raw json.RawMessage) string {
	var s string
	var list []string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return quoted(s)
	case json.Unmarshal(raw, &list) == nil:
		all := make([]string, len(list))
		for i, v := range list {
			all[i] = quoted(v)
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return strings.Trim(quoted(string(raw)), `"`) // a number, true or false
}

func quoted(s string) string { return strconv.QuoteToGraphic(s) }

// Line is a text of somebody else's in one line, cut to most bytes, without anything invisible.
func Line(s string, most int) string {
	return cut(strings.Join(strings.Fields(visible(s)), " "), most)
}

// Lines is a text of somebody else's, cut to most bytes, without anything invisible but the ends of its lines.
func Lines(s string, most int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		lines = append(lines, strings.TrimRight(visible(line), " "))
	}
	return cut(strings.Trim(strings.Join(lines, "\n"), "\n"), most)
}

func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:max(0, most-len("…"))], "") + "…"
}
