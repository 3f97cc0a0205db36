package chat

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// RepeatMark begins a message that may be there already.
const RepeatMark = "↻ perhaps a repeat"

// sight is a message of the bot that stands in a chat.
type sight struct {
	faketelegram.Message
	marked bool
	text   string // without the mark
	part   *part  // that it is, by a receipt
}

func shownOf(ev Evidence) map[int64]map[string]*sight {
	out := map[int64]map[string]*sight{}
	for chat, list := range ev.Shown {
		out[chat] = map[string]*sight{}
		for _, m := range list {
			s := &sight{Message: m, text: m.Text}
			if rest, ok := strings.CutPrefix(m.Text, RepeatMark); ok {
				s.marked, s.text = true, strings.TrimPrefix(rest, ":")
			}
			out[chat][strconv.Itoa(m.ID)] = s
		}
	}
	return out
}

// inChat holds what stands in a chat against what is recorded as shown there.
func (c *court) inChat(chat int64, l *ledger) {
	shown := c.shown[chat]
	for _, i := range l.items {
		if !i.done() {
			c.say(judge.Stuck, l.id, i.event.Cursor, "the delivery of %s %s is not over", i.event.Kind(), i.event.ID)
		}
		c.receipts(l, i, shown)
	}
	for _, s := range inOrder(shown) {
		if s.part == nil {
			c.orphan(l, s)
		}
		for _, m := range marker.All(s.text) {
			if of, ok := c.marked[m]; ok && of != chat {
				c.say(judge.Wrong, l.id, 0, "message %d of chat %d has %s, which was said in chat %d", s.ID, chat, m, of)
			}
		}
	}
	for receipt, answer := range l.drafts {
		if !answer && shown[receipt] != nil {
			c.say(judge.Wrong, l.id, 0, "the draft %s stands in chat %d and was never made an answer: %.60q", receipt, chat, shown[receipt].Text)
		}
	}
}

func inOrder(shown map[string]*sight) []*sight {
	return slices.SortedFunc(maps.Values(shown), func(a, b *sight) int { return a.ID - b.ID })
}

// receipts: each part that was sent stands in the chat under its receipt, and all of them together are the text.
func (c *court) receipts(l *ledger, i *item, shown map[string]*sight) {
	var texts []string
	for n, p := range i.parts {
		if p.receipt == "" {
			continue
		}
		s := shown[strconv.Itoa(number(p.receipt))]
		if s == nil {
			c.say(judge.Lost, l.id, i.event.Cursor, "part %d of %s was sent as message %q, which is not in the chat", n, i.event.ID, p.receipt)
			return
		}
		if s.part != nil {
			c.say(judge.Doubled, l.id, i.event.Cursor, "part %d of %s is message %q, and so is another one", n, i.event.ID, p.receipt)
		}
		s.part = p
		c.counts.Parts++
		_, draft := l.drafts[p.receipt]
		switch repeat := p.sure != nil && p.sure.repeat; {
		case draft:
			l.drafts[p.receipt] = true
			c.counts.Drafts++
		case repeat && !s.marked:
			c.say(judge.Wrong, l.id, i.event.Cursor, "part %d of %s may be a repeat and does not say so: message %d is %.60q", n, i.event.ID, s.ID, s.Text)
		case !repeat && s.marked:
			c.say(judge.Wrong, l.id, i.event.Cursor, "part %d of %s says that it may be a repeat and is none: message %d", n, i.event.ID, s.ID)
		}
		if s.marked {
			c.counts.Marked++
		}
		texts = append(texts, s.text)
	}
	if !i.whole {
		return
	}
	c.counts.Answers++
	if got := strings.Join(texts, ""); letters(got) != letters(i.text) {
		c.say(judge.Lost, l.id, i.event.Cursor, "%s is %.80q (%d letters) and shown as %.80q (%d letters)",
			i.event.ID, i.text, len(letters(i.text)), got, len(letters(got)))
	}
}

// orphan is a message that no receipt names: an attempt of which nobody knows has sent it, or it should not be there.
func (c *court) orphan(l *ledger, s *sight) {
	text := letters(s.text)
	for _, i := range l.items {
		for n, p := range i.parts {
			if p.strays >= p.unknown() || !c.same(s.Chat, i, n, text) {
				continue
			}
			if p.bare && !s.marked {
				c.say(judge.Wrong, l.id, i.event.Cursor, "part %d of %s stands in the chat again and does not say that it may be a repeat: message %d",
					n, i.event.ID, s.ID)
			}
			p.strays, p.bare = p.strays+1, p.bare || !s.marked
			c.counts.Repeats++
			if s.marked {
				c.counts.Marked++
			}
			return
		}
	}
	if l.drafting > 0 && slices.ContainsFunc(l.items, func(i *item) bool { return strings.HasPrefix(letters(i.text), text) }) {
		l.drafting--
		c.counts.Stale++
		return
	}
	c.say(judge.Doubled, l.id, 0, "message %d of chat %d is in no record: %.80q", s.ID, s.Chat, s.Text)
}

// same tells whether a text is that of the n-th part of an item, as far as that is known.
func (c *court) same(chat int64, i *item, n int, text string) bool {
	if r := i.parts[n].receipt; r != "" {
		s := c.shown[chat][strconv.Itoa(number(r))]
		return s != nil && letters(s.text) == text
	}
	return strings.Contains(letters(i.text), text)
}

// strangers are chats that nobody has written in.
func (c *court) strangers(said map[int64][]Said) {
	for chat, shown := range c.shown {
		if len(said[chat]) == 0 && len(shown) > 0 {
			c.say(judge.Wrong, "", 0, "the bot has written in chat %d, where nobody else has", chat)
		}
	}
}
