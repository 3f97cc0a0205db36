package shell

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of an output is kept. Its beginning says what a command was about, its end what became of it.
const (
	keepHead = 24 << 10
	keepTail = 40 << 10
)

// capture keeps the beginning and the end of what is written to it. It never grows beyond that, and never fails.
type capture struct {
	head, tail []byte // tail holds up to twice what is kept of it, so that it is not moved for every write
	total      int64
}

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	first := min(keepHead-len(c.head), n)
	c.head, p = append(c.head, p[:first]...), p[first:]
	p = p[max(0, len(p)-keepTail):]
	if len(c.tail)+len(p) > 2*keepTail {
		kept := copy(c.tail, c.tail[len(c.tail)-(keepTail-len(p)):])
		c.tail = c.tail[:kept]
	}
	c.tail = append(c.tail, p...)
	return n, nil
}

// result is the text, which ends with a line break if there is any, and how many bytes it leaves out.
func (c *capture) result() (string, int64) {
	head, tail := c.head, c.tail[max(0, len(c.tail)-keepTail):]
	cut := c.total - int64(len(head)+len(tail))
	if cut == 0 {
		return lines(plain(string(head) + string(tail))), 0
	}
	// A character that the cut goes through is left out whole.
	for i := 1; i <= min(utf8.UTFMax-1, len(head)); i++ {
		if b := head[len(head)-i:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				head, cut = head[:len(head)-i], cut+int64(i)
			}
			break
		}
	}
	for i := 0; i < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail, cut = tail[1:], cut+1
	}
	return fmt.Sprintf("%s[… %d bytes of output are left out here; to see them, write the output to a file and read parts of it …]\n%s",
		lines(plain(string(head))), cut, lines(plain(string(tail)))), cut
}

// lines ends a text with a line break, unless there is none.
func lines(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// escapes are what terminals take for orders (ECMA-48): colours, moves, titles.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[\x20-/]*[\x40-\x7e]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[\x20-/]*[0-~])`)

// plain makes of what was printed text: valid, without orders to a terminal, and with one kind of line break.
func plain(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r': // a line that was printed over the one before, as bars of progress are
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, s)
}
