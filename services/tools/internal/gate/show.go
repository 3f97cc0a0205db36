package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// maxShown bounds what a person is asked to read, in bytes. What is longer cannot be approved: it would be cut somewhere on
// its way to the person, or not be read.
const maxShown = 16 << 10

// shown is a call as people see it: the tool, and each argument by its name, whole. Texts stand as they are, their lines
// indented so that none can pass for an argument; all else is JSON. A shell command comes first.
func shown(tool toolv1.Tool, args map[string]any) string {
	var b strings.Builder
	b.WriteString(visible(tool.Name, false))
	b.WriteByte('\n')
	names := slices.Sorted(maps.Keys(args))
	if i := slices.Index(names, tool.Shell); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, tool.Shell)
	}
	for _, name := range names {
		b.WriteString(visible(name, false))
		b.WriteByte(':')
		text, isText := args[name].(string)
		switch {
		case !isText:
			b.WriteString(" " + visible(compact(args[name]), false))
		case text == "":
			b.WriteString(" (empty)")
		case strings.Contains(text, "\n"):
			for line := range strings.SplitSeq(text, "\n") {
				b.WriteString("\n    " + trailing(visible(line, true)))
			}
		default:
			b.WriteString(" " + trailing(visible(text, true)))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// trailing makes a space at the end of a line visible.
func trailing(line string) string {
	if n := len(line); n > 0 && line[n-1] == ' ' {
		return line[:n-1] + `\u{20}`
	}
	return line
}

// maxMarks is how many accents one letter may have. More of them cover the lines around.
const maxMarks = 2

// visible is a text with everything escaped that does not show, or shows as something else: control characters, those that
// turn the direction of text, invisible ones, spaces other than the usual. A text that holds such an escape already has its
// backslash escaped, so that no two texts look the same. Tabs stay when tabs is set.
func visible(text string, tabs bool) string {
	var b strings.Builder
	marks := 0
	for i, r := range text {
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02X}`, text[i])
		case r == '\\' && (strings.HasPrefix(text[i:], `\u{`) || strings.HasPrefix(text[i:], `\x{`)):
			b.WriteString(`\u{5C}`)
		case r == '\t' && tabs:
			b.WriteRune(r)
		case !unicode.IsPrint(r), hidden(r), marks > maxMarks:
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden says whether a character that counts as printed shows nothing, or changes how others show.
func hidden(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Bidi_Control, r)
}

// fixed are the names of arguments that an answer "always" holds for, and the same in words. The shell command is always one
// of them. Of a call that is more dangerous than its tool (it writes what every prompt begins with) all of them are: nobody
// allows whatever may come.
func fixed(c *subject, raised bool) (names []string, inWords string) {
	if c.tool.AnyArgs && !raised && c.tool.Shell == "" {
		return nil, visible(c.tool.Name, false) + " with any arguments"
	}
	all := raised || len(c.tool.Fixes) == 0 && !c.tool.AnyArgs
	for name := range c.args {
		if all || covers(c.tool.Fixes, name) || name == top(c.tool.Shell) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if all {
		return names, visible(c.tool.Name, false) + " with exactly these arguments"
	}
	var b strings.Builder
	b.WriteString(visible(c.tool.Name, false))
	for i, name := range names {
		b.WriteString([]string{" with ", ", "}[min(i, 1)])
		value, isText := c.args[name].(string)
		if !isText {
			value = compact(c.args[name])
		}
		b.WriteString(visible(name, false) + " = " + cut(visible(value, false), 200))
	}
	var others []string
	for _, name := range c.names {
		if !slices.Contains(names, name) && !covers(c.tool.Fixes, name) {
			others = append(others, "any "+visible(name, false))
		}
	}
	if len(others) > 0 {
		b.WriteString(", " + strings.Join(others, ", "))
	}
	for _, name := range c.tool.Fixes {
		if _, has := c.args[top(name)]; !has {
			b.WriteString(", no " + visible(top(name), false))
		}
	}
	return names, b.String()
}

// covers says whether one of the names, which may lead into objects, begins with an argument.
func covers(names []string, argument string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return top(n) == argument || n == argument })
}

func top(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// named are the arguments of those names, as canonical JSON would have them.
func named(args map[string]any, names []string) json.RawMessage {
	m := make(map[string]any, len(names))
	for _, n := range names {
		m[n] = args[n]
	}
	return json.RawMessage(compact(m))
}
