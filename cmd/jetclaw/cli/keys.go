package cli

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Control characters that a line editor acts on.
const (
	ctrlA, ctrlB, ctrlC, ctrlD, ctrlE, ctrlF = '\x01', '\x02', '\x03', '\x04', '\x05', '\x06'
	ctrlH, ctrlK, ctrlL, ctrlN, ctrlP        = '\x08', '\x0b', '\x0c', '\x0e', '\x10'
	ctrlT, ctrlU, ctrlW, escape, backspace   = '\x14', '\x15', '\x17', '\x1b', '\x7f'
)

// What stands on the one line of the editor for what a pasted text has.
const (
	breakMark = '␤'
	tabMark   = '␉'
)

const (
	textBegins = "\x1b[200~"
	textEnds   = "\x1b[201~"
	longestKey = 32 // bytes of an escape sequence; a longer one is none
)

// keys turns what a keyboard sends into what term.Terminal understands, so that nothing but text gets into a message: a
// sequence that the editor does not know is dropped whole, and so are control characters and what is not UTF-8. Text is
// handed on as pasted, in brackets: of that the editor takes a line of any length. A paste is one text, whatever line
// breaks it holds. Keys may come in pieces.
type keys struct {
	interrupt func() // Ctrl-C

	rest   []byte // the beginning of something
	lone   bool   // rest is an Escape that nothing followed in its piece: the key of that name, or a sequence torn apart
	paste  bool
	cr     bool // the last character was a carriage return
	typing bool // something may stand on the line

	out  strings.Builder
	text bool // out ends within brackets
}

// feed takes a piece and returns what the editor is to read.
func (k *keys) feed(piece []byte) string {
	b := slices.Concat(k.rest, piece)
	k.rest = nil
	k.out.Reset()
	for len(b) > 0 {
		n := k.one(b)
		if n == 0 {
			k.rest = append([]byte(nil), b...)
			break
		}
		b = b[n:]
	}
	k.lone = len(k.rest) == 1 && k.rest[0] == escape
	k.bracket(false)
	return k.out.String()
}

// one takes one key or character from the front and returns its length, 0 when it is not whole yet.
func (k *keys) one(b []byte) int {
	if b[0] == escape {
		return k.sequence(b)
	}
	if b[0] < ' ' || b[0] == backspace {
		k.control(rune(b[0]))
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r != utf8.RuneError && !drives(r) {
		k.put(r)
	}
	k.cr = false
	return n
}

func (k *keys) put(r rune) {
	k.bracket(true)
	k.out.WriteRune(r)
	k.typing = true
}

func (k *keys) key(sequence string) {
	k.bracket(false)
	k.out.WriteString(sequence)
}

// bracket begins or ends text.
func (k *keys) bracket(text bool) {
	if text == k.text {
		return
	}
	if k.text = text; text {
		k.out.WriteString(textBegins)
	} else {
		k.out.WriteString(textEnds)
	}
}

func (k *keys) control(c rune) {
	again := c == '\n' && k.cr // of one line break
	k.cr = c == '\r'
	switch {
	case again:
	case c == '\t':
		k.put(tabMark)
	case k.paste:
		if c == '\r' || c == '\n' {
			k.put(breakMark)
		}
	case c == ctrlC:
		k.interrupt()
	case c == '\r' || c == '\n':
		k.key("\r")
		k.typing = false
	case strings.ContainsRune(string([]rune{
		ctrlA, ctrlB, ctrlD, ctrlE, ctrlF, ctrlH, ctrlK, ctrlL, ctrlN, ctrlP, ctrlT, ctrlU, ctrlW, backspace,
	}), c):
		k.key(string(c))
		k.typing = k.typing && c != ctrlU || c == ctrlP
	}
}

// sequence takes what begins with an Escape.
func (k *keys) sequence(b []byte) int {
	switch {
	case len(b) == 1:
		return k.torn(b)
	case b[1] == '[':
		return k.csi(b)
	case b[1] == 'O': // what some terminals send for arrows
		if len(b) == 2 {
			return 0
		}
		k.known(string(b[2:3]))
		return 3
	case k.lone || k.paste || b[1] < ' ' || b[1] >= utf8.RuneSelf:
		return 1
	}
	switch b[1] { // Alt and a letter
	case 'b':
		k.known("1;3D")
	case 'f':
		k.known("1;3C")
	}
	return 2
}

// torn waits for the rest of a sequence.
func (k *keys) torn(b []byte) int {
	if len(b) > longestKey {
		return len(b)
	}
	return 0
}

// csi takes ESC [ parameters final.
func (k *keys) csi(b []byte) int {
	i := 2
	for i < len(b) && b[i] >= ' ' && b[i] <= '?' {
		i++
	}
	if i == len(b) {
		return k.torn(b)
	}
	if b[i] < '@' || b[i] > '~' { // it breaks off
		return i
	}
	k.known(string(b[2 : i+1]))
	return i + 1
}

// known hands on a sequence that means something; name is what follows ESC [.
func (k *keys) known(name string) {
	switch name {
	case "200~":
		k.paste = true
		return
	case "201~":
		k.paste = false
		return
	}
	if k.paste {
		return
	}
	switch name {
	case "A", "B", "C", "D", "H", "F", "3~":
	case "1~", "7~":
		name = "H"
	case "4~", "8~":
		name = "F"
	case "1;3C", "1;5C":
		name = "1;3C"
	case "1;3D", "1;5D":
		name = "1;3D"
	default:
		return
	}
	k.key("\x1b[" + name)
	k.typing = k.typing || name == "A"
}

// textOf is the text of an edited line.
func textOf(line string) string {
	return forTerminal(strings.NewReplacer(string(breakMark), "\n", string(tabMark), "\t").Replace(line))
}
