package telegram

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/thread"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// body is the text of a message, as an agent is to read it.
type body struct {
	text      string
	addressed bool // it names the bot
	command   bool // it begins with a command that the bot may take as meant for it
}

// maxEntities is far more than Telegram sends. Each is looked for from the begin of the text on.
const maxEntities = 256

// bodyOf is a message's text or caption, with a line for what has no text of its own.
func bodyOf(m *botapi.Message, me botapi.User) body {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	b := body{text: text}
	for _, e := range entities[:min(len(entities), maxEntities)] {
		marked, ok := part(text, e.Offset, e.Length)
		if !ok {
			continue
		}
		switch e.Type {
		case "mention":
			if !isName(strings.TrimPrefix(marked, "@"), me) {
				continue
			}
			b.addressed = true
			if e.Offset == 0 && m.Chat.Type != private {
				b.text = without(text, marked)
			}
		case "text_mention":
			b.addressed = b.addressed || e.User != nil && e.User.ID == me.ID
		case "bot_command":
			if e.Offset != 0 {
				continue
			}
			name, of, named := strings.Cut(marked, "@")
			if named && !isName(of, me) {
				continue
			}
			b.addressed, b.command = true, true
			b.text = name + text[len(marked):]
		}
	}
	if m.Text != "" && forwardedBy(m) == "" {
		b.text = lowered(b.text)
	}
	if line := lineOf(m); line != "" {
		b.text = strings.TrimPrefix(b.text+"\n"+line, "\n")
	}
	if strings.TrimSpace(b.text) == "" {
		b.text = ""
	}
	return b
}

// lowered is a text with its first word in small letters, if that is a command of ours: phones begin a text with a large one. All
// other words are the agent's to read.
func lowered(text string) string {
	n := strings.IndexFunc(text, unicode.IsSpace)
	if n < 0 {
		n = len(text)
	}
	name, ok := strings.CutPrefix(strings.ToLower(text[:min(n, maxPart)]), "/")
	if ok && (thread.IsVerb(messagev1.Verb(name)) || name == "start" || name == "reset") {
		return "/" + name + text[n:]
	}
	return text
}

func isName(name string, me botapi.User) bool {
	return me.Username != "" && strings.EqualFold(name, me.Username)
}

// without takes the bot's name away from the begin of a text; one that is nothing else stays.
func without(text, name string) string {
	rest := strings.TrimLeft(strings.TrimPrefix(text, name), ",:")
	if rest = strings.TrimLeftFunc(rest, unicode.IsSpace); rest == "" {
		return text
	}
	return rest
}

// part is a part of a text by UTF-16 code units; false when it is not within the text, or cuts a character.
func part(text string, offset, length int) (string, bool) {
	if offset < 0 || length <= 0 {
		return "", false
	}
	from := byteAt(text, offset)
	if from < 0 {
		return "", false
	}
	n := byteAt(text[from:], length)
	if n < 0 {
		return "", false
	}
	return text[from : from+n], true
}

// byteAt is where a UTF-16 code unit begins in a text; -1 when there is none, or it is the second of a character.
func byteAt(text string, unit int) int {
	for at, r := range text {
		if unit <= 0 {
			if unit < 0 {
				return -1
			}
			return at
		}
		if unit--; r > 0xffff {
			unit--
		}
	}
	if unit == 0 {
		return len(text)
	}
	return -1
}

// lineOf says in words what a message holds that has no text; "" for most.
func lineOf(m *botapi.Message) string {
	switch {
	case m.Venue != nil:
		return "[venue " + joined(m.Venue.Title, m.Venue.Address) + ": " + place(m.Venue.Location) + "]"
	case m.Location != nil:
		return "[location " + place(*m.Location) + "]"
	case m.Contact != nil:
		return "[contact " + joined(m.Contact.FirstName+" "+m.Contact.LastName, m.Contact.PhoneNumber) + "]"
	case m.Poll != nil:
		options := make([]string, 0, len(m.Poll.Options))
		for _, o := range m.Poll.Options {
			options = append(options, brief(o.Text, maxPart))
		}
		return "[poll " + brief(m.Poll.Question, 2*maxPart) + " — " + strings.Join(options[:min(len(options), 20)], " / ") + "]"
	case m.Dice != nil:
		return "[dice " + brief(m.Dice.Emoji, maxPart) + " " + strconv.Itoa(m.Dice.Value) + "]"
	case m.Sticker != nil && !isPictured(m.Sticker): // else it is a file
		return strings.TrimSuffix("[sticker "+brief(m.Sticker.Emoji, maxPart), " ") + "]"
	}
	return ""
}

const maxPart = 200 // bytes of one thing in a line

// joined are those that are not empty, behind a comma each.
func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = brief(p, maxPart); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

func place(l botapi.Location) string { return degrees(l.Latitude) + ", " + degrees(l.Longitude) }

func degrees(d float64) string {
	s := strings.TrimRight(strconv.FormatFloat(d, 'f', 6, 64), "0")
	if i := strings.IndexByte(s, '.'); i >= 0 {
		for len(s) < i+3 {
			s += "0"
		}
	}
	return s
}

// brief is somebody's word as a part of one line: short, without line breaks, control characters and the brackets that such
// a line has.
func brief(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
