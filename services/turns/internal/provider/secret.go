package provider

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSaid = 300 // bytes of a provider's message that are passed on
	minKey  = 4   // a shorter key is a placeholder; to blot it out would garble texts
)

// Secret is the key that must not show in any text that comes from outside; some providers repeat it.
type Secret string

// Blot is the text without the key.
func (s Secret) Blot(text string) string {
	if len(s) < minKey {
		return text
	}
	text = strings.ReplaceAll(text, string(s), blot)
	if !strings.ContainsAny(text, `\%`) {
		return text
	}
	for _, other := range s.spellings() {
		text = strings.ReplaceAll(text, other, blot)
	}
	return text
}

const blot = "[key]"

// spellings are the other ways in which JSON (within JSON too) and addresses write a key; the longest come first, as one may
// be part of another.
func (s Secret) spellings() []string {
	var all []string
	add := func(t string) {
		if t != string(s) && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	for _, slash := range []string{"/", `\/`} {
		once := strings.ReplaceAll(quoted(string(s)), "/", slash)
		add(once)
		add(quoted(once))
	}
	add(url.QueryEscape(string(s)))
	add(url.PathEscape(string(s)))
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// quoted is a text as it stands in a JSON string.
func quoted(s string) string {
	q, err := json.Marshal(s)
	if err != nil { // never for a string
		return s
	}
	return string(q[1 : len(q)-1])
}

// Raw is a foreign text as it may be kept: valid UTF-8 without the key.
func (s Secret) Raw(text string) string { return s.Blot(strings.ToValidUTF8(text, "�")) }

// JSON is a foreign text of JSON without the key, however its signs are written; what is no JSON is as of Raw.
func (s Secret) JSON(text string) string {
	if len(s) >= minKey && strings.Contains(text, `\u`) {
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&v) == nil && !d.More() {
			if again, err := json.Marshal(v); err == nil && s.Blot(string(again)) != string(again) {
				text = string(again)
			}
		}
	}
	return s.Raw(text)
}

// Line makes one short line of a foreign text.
func (s Secret) Line(text string) string {
	text = strings.Join(strings.FieldsFunc(s.Raw(text), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
	if len(text) <= maxSaid {
		return text
	}
	n := maxSaid
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// Filter is a Filter for a text that comes piece by piece.
func (s Secret) Filter() Filter { return Filter{secret: s} }

// Filter passes a text on, piece by piece, without the key and without control characters other than tab and line feed:
// those mean nothing in an answer and can drive the terminal that shows it. What may be the beginning of the key is held
// back until the next piece.
type Filter struct {
	secret Secret
	held   string
}

// Pass is what may be shown of the text so far and was not yet.
func (f *Filter) Pass(text string) string {
	text = f.secret.Blot(f.held + strings.Map(printed, text))
	keep := f.secret.begun(text)
	f.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// Rest is what was held back, at the end.
func (f *Filter) Rest() string {
	text := f.held
	f.held = ""
	return text
}

func printed(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// begun is the length of the beginning of the key with which a text ends.
func (s Secret) begun(text string) int {
	if len(s) < minKey {
		return 0
	}
	for n := min(len(s)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(s[:n])) {
			return n
		}
	}
	return 0
}
