package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of one message.
const (
	MaxUnits    = 4096     // UTF-16 code units of text
	MaxEntities = 100      // more are ignored by the server
	MaxBytes    = 32 << 10 // of the request before it is parsed
)

// Entity is one MessageEntity of the Bot API: offset and length in UTF-16 code units.
type Entity struct {
	Type     string `json:"type"` // one of the names below
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`      // text_link
	Language string `json:"language,omitempty"` // pre
}

// The types of entities that Render makes.
const (
	bold       = "bold"
	italic     = "italic"
	strike     = "strikethrough"
	code       = "code"
	pre        = "pre"
	textLink   = "text_link"
	blockquote = "blockquote"
)

// Part is one message: 1 to MaxUnits UTF-16 code units of text, at most MaxEntities entities, all within its bounds, sorted by
// offset, an outer one before those within it.
type Part struct {
	Text     string
	Entities []Entity
}

// nothing is what is sent in place of a text that has nothing to see in it: the server refuses an empty message.
const nothing = "…"

// Render turns Markdown (as a model writes it) into text and entities. It never fails: what it does not understand is text.
// The text is trimmed, and empty if there is nothing in it.
func Render(markdown string) (text string, entities []Entity) {
	source := calm(clean(markdown))
	out, ok := rendered([]byte(source))
	if !ok {
		return strings.TrimSpace(source), nil
	}
	return out.finish()
}

// Parts is Render and Split with MaxUnits. There is at least one part, and something to see in each.
func Parts(markdown string) []Part {
	text, entities := Render(markdown)
	return some(Split(text, entities, MaxUnits))
}

// Plain cuts a text without any markup: for texts that are not Markdown.
func Plain(text string) []Part { return some(Split(clean(text), nil, MaxUnits)) }

func some(parts []Part) []Part {
	if len(parts) == 0 {
		return []Part{{Text: nothing}}
	}
	return parts
}

// Units is the length in UTF-16 code units, as Telegram counts. A byte that is no UTF-8 counts as the U+FFFD that it becomes.
func Units(s string) (n int) {
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// clean drops what has no place in a message: control characters, and bytes that are no UTF-8. Lines end with \n, whatever
// ended them before: the server takes the other separators out, and would join two words.
func clean(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
}

// calmest is how many empty lines follow each other at most.
const calmest = 3

// calm takes empty lines away where there are many: the parser remembers every list that each of them belongs to.
func calm(s string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "" {
			empty = 0
		} else if empty++; empty > calmest {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// visible reports whether there is something to see: the server refuses a message of spaces, also of those that are not
// called so, and of marks that it takes out.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !blank(r) })
}

func blank(r rune) bool {
	switch r {
	case '\u0333', '\u033f', '\u030a': // lines that the server takes out
		return true
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2800', '\u3164', '\uffa0', '\ufffc':
		return true
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zs, unicode.Variation_Selector)
}
