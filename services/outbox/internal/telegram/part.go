package telegram

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

const (
	answered = "turn.completed"
	// maxUnits is the longest part: the mark of a repeat has to fit before it.
	maxUnits = 4000
	// repeatMark begins a message that may be there already.
	repeatMark = "↻ perhaps a repeat:\n"
)

// partsOf cuts an item into messages: the same for each attempt. Only an answer is Markdown; a notice or a question
// shows to the letter what it says.
func partsOf(i channel.Item) []format.Part {
	if i.Kind == answered {
		text, es := format.Render(i.Text)
		return some(format.Split(text, es, maxUnits))
	}
	if buttonsOf(i) != nil {
		return plain(strings.TrimSuffix(i.Text, i.Ways))
	}
	return plain(i.Text)
}

// maxCut is how many answers are remembered as they were cut: each part is an attempt of its own, and to cut a long answer again for
// each of its hundreds of parts is the work of a minute.
const maxCut = 8

// cut is partsOf, done once for an item while its parts are sent.
func (b *bot) cut(i channel.Item) []format.Part {
	if i.Kind != answered || len(i.Text) <= maxUnits {
		return partsOf(i)
	}
	key := cutKey{i.Session, i.Delivery, maphash.String(draftSeed, i.Text)}
	parts, ok := b.cuts.get(key)
	if !ok {
		parts = partsOf(i)
		b.cuts.put(key, parts)
	}
	return parts
}

// cutKey is an item with its text.
type cutKey struct {
	session  session.ID
	delivery string
	text     uint64
}

// some has at least one part: Telegram refuses an empty message.
func some(parts []format.Part) []format.Part {
	if len(parts) == 0 {
		return []format.Part{{Text: "…"}}
	}
	return parts
}

// plain cuts a text without interpreting it, as format.Plain does, but leaves room for the mark.
func plain(text string) []format.Part {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, string(utf8.RuneError)), "\r\n", "\n")
	return some(format.Split(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029': // Telegram takes them out, and would join two words
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text), nil, maxUnits))
}

// marked puts the mark of a repeat before a part.
func marked(p format.Part) format.Part {
	p.Text = repeatMark + p.Text
	p.Entities = slices.Clone(p.Entities)
	for i := range p.Entities {
		p.Entities[i].Offset += format.Units(repeatMark)
	}
	return p
}

// maxDraft is how much Markdown is looked at for the one message of a draft.
const maxDraft = 64 << 10

// draftOf is the one message that shows an answer as far as it has come.
func draftOf(markdown string) format.Part {
	cut := len(markdown) > maxDraft
	if cut {
		markdown = strings.ToValidUTF8(markdown[:maxDraft], "")
	}
	text, es := format.Render(markdown)
	parts := some(format.Split(text, es, maxUnits))
	first := parts[0]
	if cut || len(parts) > 1 {
		first.Text += "…"
	}
	return first
}

// entities are those of a part as the client takes them.
func entities(p format.Part) []botapi.Entity {
	var es []botapi.Entity
	for _, e := range p.Entities {
		es = append(es, botapi.Entity{Type: e.Type, Offset: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language})
	}
	return es
}
