package prompt

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	maxPerson   = 64  // characters of a person's name
	maxFileName = 120 // of a file's
	maxWord     = 60  // of a media type
	maxReason   = 160 // of why a file is not there
	maxQuoted   = 400 // of what a message replies to
	maxFiles    = 32  // of one message that are named
)

// message is a person's message with what belongs to it, as the model is shown it: the i-th entry of a turn. Words of others
// stand between fences.
func (s sight) message(turnID string, i int, e turn.Entry) (string, []model.Image) {
	var images []model.Image
	n := 0
	foreign := func(text string) string {
		n++
		return "\n" + fence(kindData, foreignLine, code(turnID, fmt.Sprintf("message %d %d", i, n)), text) // no call has an id with spaces
	}
	text := assemble(e, foreign, func(f *messagev1.File) string {
		if !isPicture(f) {
			return s.documentLine(f)
		}
		line, why := fileLine(f), ""
		switch {
		case s.shown[f]:
			images = append(images, model.Image{Digest: f.Digest, Label: line})
		case s.blind:
			why = " (this model cannot see pictures)"
		default:
			why = " (not shown any more)"
		}
		return "[" + line + "]" + why
	})
	return text, images
}

// Said is what an entry says as a plain text, without fences: for people, and for a place that is fenced as a whole.
func Said(e turn.Entry) string {
	if e.Beside == nil {
		return e.Text
	}
	return assemble(e, func(text string) string { return " " + text }, func(f *messagev1.File) string { return "[" + fileLine(f) + "]" })
}

// assemble puts a message together: who writes, what it replies to, where it comes from, the text, the files.
func assemble(e turn.Entry, foreign func(string) string, file func(*messagev1.File) string) string {
	b := e.Beside
	var lines []string
	if q := b.Quote; q != nil {
		from, text := person(q.From), defuse(oneLine(q.Text, maxQuoted))
		switch {
		case q.Own && text != "":
			lines = append(lines, "[in reply to you: "+unbracket(text)+"]")
		case q.Own:
			lines = append(lines, "[in reply to you]")
		case text != "":
			lines = append(lines, "[in reply to "+from+":]"+foreign(text))
		default:
			lines = append(lines, "[in reply to "+from+"]")
		}
	}
	text := e.Text
	if b.Forwarded != "" {
		line := "[forwarded from " + person(b.Forwarded) + "]"
		if !blank(text) {
			line = "[forwarded from " + person(b.Forwarded) + ":]" + foreign(text)
		}
		lines, text = append(lines, line), ""
	}
	if b.Told != "" {
		return "[said to the person in your name by the program " + label(b.Told, maxPerson) + ":]" + foreign(text)
	}
	if !blank(text) {
		if b.Writer != "" { // nobody in a group can begin a line as if somebody else wrote
			text = inset(text)
		}
		lines = append(lines, text)
	}
	for i := range b.Files {
		if i == maxFiles {
			lines = append(lines, fmt.Sprintf("[and %d more files]", len(b.Files)-i))
			break
		}
		lines = append(lines, file(&b.Files[i]))
	}
	all := strings.Join(lines, "\n")
	if b.Writer != "" {
		all = person(b.Writer) + ": " + all
	}
	return all
}

// fileLine is a file in a few words: "photo 1280x720, 85 KB".
func fileLine(f *messagev1.File) string {
	var b strings.Builder
	b.WriteString(kindOf(f.Kind))
	if name := label(f.Name, maxFileName); name != "" {
		b.WriteString(" " + name)
	}
	more := func(format string, args ...any) { fmt.Fprintf(&b, ", "+format, args...) }
	if kind := label(f.Type, maxWord); kind != "" && !telling(f.Kind) {
		more("%s", kind)
	}
	switch size := f.Width > 0 && f.Height > 0; {
	case size && f.Name == "" && telling(f.Kind):
		fmt.Fprintf(&b, " %dx%d", f.Width, f.Height)
	case size:
		more("%dx%d", f.Width, f.Height)
	}
	if s := f.Seconds; s >= 120 {
		more("%d min %d s", s/60, s%60)
	} else if s > 0 {
		more("%d s", s)
	}
	if f.Size > 0 && (f.Kind != messagev1.Voice || f.Seconds <= 0) {
		more("%s", bytesOf(f.Size))
	}
	if f.Digest == "" {
		more("not there")
		if why := label(f.Missing, maxReason); why != "" {
			b.WriteString(": " + why)
		}
	}
	return b.String()
}

func kindOf(k messagev1.Kind) string {
	switch k {
	case messagev1.Photo, messagev1.Document, messagev1.Audio, messagev1.Video, messagev1.Animation, messagev1.Sticker:
		return string(k)
	case messagev1.Voice:
		return "voice message"
	}
	return "file"
}

// telling says whether a kind says what a file is, so that nobody needs its media type.
func telling(k messagev1.Kind) bool { return kindOf(k) != "file" && k != messagev1.Document }

func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 999_500:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// colons are what ends the name of who speaks, and what looks like it: "Ann： yes" must not be a name.
var colons = strings.NewReplacer(":", " ", "\uff1a", " ", "\ufe55", " ", "\ufe13", " ", "\u2236", " ", "\ua789", " ", "\u02d0", " ", "\u02f8", " ",
	"\u0589", " ", "\u05c3", " ", "\u205a", " ", "\u0703", " ", "\u0704", " ", "\u1365", " ")

// person is a name that people have given themselves: one line without signs that mean something here.
func person(name string) string {
	if name = label(colons.Replace(name), maxPerson); name == "" {
		return "somebody"
	}
	return name
}

// label is a short text of a stranger as a part of a line of ours.
func label(text string, most int) string { return defuse(unbracket(oneLine(text, most))) }

// brackets are what our own lines and marks begin and end with.
var brackets = strings.NewReplacer("[", "(", "]", ")", "<", "(", ">", ")")

func unbracket(text string) string { return brackets.Replace(text) }

// oneLine is at most so many characters of text, in one line and without signs that nobody sees.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // those that turn a line around, too
			return -1
		}
		return r
	}, valid(text))
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if most--; most < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
