package prompt

import (
	"fmt"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// slack is what a cut has to save: its own notes are nearly as long.
const slack = 128

// split gives the first and last bytes of text that are shown when about limit of them may be, at borders of characters, and
// whether anything is left out between them. Most of it is the beginning: what is long often says first what it is.
func split(text string, limit int) (head, tail string, isCut bool) {
	if len(text) <= limit+slack {
		return text, "", false
	}
	n := limit * 2 / 3
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	m := len(text) - limit/3
	for m < len(text) && !utf8.RuneStart(text[m]) {
		m++
	}
	return text[:n], text[m:], true
}

// cut is text with about limit bytes of it, and a note where something is left out.
func cut(text string, limit int) string {
	head, tail, isCut := split(text, limit)
	if !isCut {
		return text
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes left out]\n%s", head, len(text)-len(head)-len(tail), len(text), tail)
}

// cutResult cuts the result of c to about limit bytes. How to read what is left out, where that can be, is jetclaw's own
// word and stands outside of the fence.
func cutResult(c *turn.Call, limit int) {
	head, _, isCut := split(c.Result, limit)
	c.Result = cut(c.Result, limit)
	if !isCut || c.Cursor == 0 {
		return
	}
	if c.Note != "" {
		c.Note += "\n"
	}
	c.Note += fmt.Sprintf("[call %s for what is left out]", c.ReadOn(max(0, len(head)-c.Lead)))
}
