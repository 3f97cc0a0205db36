package thread

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// Limits of the gate.
type Limits struct {
	MaxBytes int // of a text, as it came in
}

// DefaultLimits are the limits when nothing else is configured.
func DefaultLimits() Limits { return Limits{MaxBytes: 1 << 20} }

// Inbound is what a channel hands in. Who From is, and that they may write here, the channel has proved.
type Inbound struct {
	From  messagev1.Sender
	Text  string         // as it came in; any bytes
	Edits string         // id of the message that Text replaces, or ""
	Verb  messagev1.Verb // a command given by other means than text (a button, an endpoint); Text is then not read
	// Argument is what goes with Verb.
	Argument string

	Native    string // the channel's id of the message
	Group     bool
	Quote     *messagev1.Quote
	Forwarded string
	Files     []messagev1.File   // what came beside Text, or instead of it
	Reaction  *messagev1.Reacted // what came instead of a text; Text and Files are then not read
	Button    bool               // Verb was given by a button
	Refusal   string             // why the channel does not let From in; nothing else is then read
	Tell      bool               // refusals are shown in the session
}

// maxName bounds how much of a sender's display name is kept, in bytes.
const maxName = 128

// Admit is the one gate for every way in. It returns messagev1.Received, Edited, Reacted, Control, Decision or
// Refused.
//
// A forwarded text is never a command: somebody else has written it.
//
// A text is taken when it is not longer than the limit, is valid UTF-8 without NUL, and has something in it besides
// white space. It is kept as written but for two things: CR LF and CR become LF, and the other control characters
// (C0 but tab, DEL, C1) are dropped, since they mean nothing in a message and can drive the terminal that shows it.
func Admit(in Inbound, l Limits) messagev1.Event {
	from := messagev1.Sender{ID: in.From.ID, Name: cleanName(in.From.Name)}
	size := len(in.Text)
	refuse := func(r messagev1.Reason, format string, args ...any) messagev1.Event {
		return messagev1.Refused{From: from, Reason: r, Detail: fmt.Sprintf(format, args...), Bytes: size, Tell: in.Tell}
	}
	switch {
	case in.Refusal != "":
		return refuse(messagev1.Denied, "%s", in.Refusal)
	case in.Reaction != nil:
		return messagev1.Reacted{From: from, Native: in.Reaction.Native, Emoji: in.Reaction.Emoji, Removed: in.Reaction.Removed}
	}
	control := func(v messagev1.Verb, name, arg string) messagev1.Event {
		if v == messagev1.Approve || v == messagev1.Deny {
			d, wrong := decide(v, name, arg)
			if wrong != "" {
				return refuse(messagev1.Denied, "%s", wrong)
			}
			d.From, d.Button = from, in.Button
			return d
		}
		if v == messagev1.Stop || v == messagev1.Help { // whatever follows: who writes this wants it to stop, or needs help
			arg = ""
		}
		if wrong := wrongArgument(v, name, arg); wrong != "" {
			return refuse(messagev1.Denied, "%s", wrong)
		}
		return messagev1.Control{From: from, Verb: v, Argument: arg}
	}
	if in.Verb != "" {
		size = len(in.Argument)
		if !IsVerb(in.Verb) {
			return refuse(messagev1.Denied, "there is no command %.40q: use %s", string(in.Verb), Verbs)
		}
		return control(in.Verb, string(in.Verb), strings.TrimSpace(in.Argument))
	}
	if len(in.Text) > l.MaxBytes {
		return refuse(messagev1.TooLarge, "the text has %d bytes, at most %d are taken: shorten it or send it in parts", len(in.Text), l.MaxBytes)
	}
	if i := firstInvalid(in.Text); i >= 0 {
		return refuse(messagev1.NotUTF8, "the text is not UTF-8: byte %d is 0x%02x", i, in.Text[i])
	}
	if i := strings.IndexByte(in.Text, 0); i >= 0 {
		return refuse(messagev1.NotUTF8, "this is not text: byte %d is NUL", i)
	}
	text := clean(in.Text)
	word, rest := firstWord(text)
	switch {
	case word == "" && (len(in.Files) == 0 || in.Edits != ""):
		return refuse(messagev1.Empty, "the text is empty: write something")
	case in.Edits != "":
		return messagev1.Edited{Message: in.Edits, From: from, Text: text}
	}
	if verb := verbOf(word); verb != "" && in.Forwarded == "" && len(in.Files) == 0 {
		return control(verb, word, rest)
	}
	return messagev1.Received{
		From: from, Text: text, Native: in.Native, Group: in.Group, Quote: quoteOf(in.Quote), Forwarded: cleanName(in.Forwarded),
		Files: in.Files,
	}
}

// maxQuote bounds how much of a quoted message is kept, in bytes.
const maxQuote = 1 << 10

// quoteOf is a quote as it is kept: somebody else's words, cleaned as a message is, and cut.
func quoteOf(q *messagev1.Quote) *messagev1.Quote {
	if q == nil {
		return nil
	}
	kept := *q
	kept.From = cleanName(q.From)
	kept.Text = clean(strings.ToValidUTF8(q.Text, "\uFFFD"))
	if len(kept.Text) > maxQuote {
		kept.Text = strings.ToValidUTF8(kept.Text[:maxQuote-len("…")], "") + "…"
	}
	return &kept
}

func firstInvalid(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

// clean expects valid UTF-8. Most texts come back as they are.
func clean(s string) string {
	if !strings.ContainsFunc(s, dropped) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case dropped(r):
			return -1
		}
		return r
	}, s)
}

func dropped(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f
}

func cleanName(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == 0 || dropped(r) {
			return -1
		}
		return r
	}, s)), " ")
	if len(s) <= maxName {
		return s
	}
	cut := maxName
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	i := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}
