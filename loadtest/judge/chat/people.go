package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// maxEcho is how many characters of a message its answer repeats for certain: there are names and lines about files beside it.
const maxEcho = 1500

// chat judges all that was said in one chat, in its order.
func (c *court) chat(id int64, said []Said) {
	l := c.ledger(said[0].Session)
	l.chat = id
	known := map[string]bool{}
	last, lastAnswer := 0, 0
	for _, s := range said {
		switch s.What {
		case Message:
			c.counts.Messages++
			xs := l.received(s)
			c.message(l, s, xs)
			for _, x := range xs {
				known[x.event.ID] = true
				place := slices.Index(l.entries, x)
				if place < last {
					c.say(judge.Disordered, l.id, x.event.Cursor, "%s was sent after a message that was received after it", s.name())
				}
				last = max(last, place)
				if first := l.firstShown(x); first > 0 {
					if first < lastAnswer {
						c.say(judge.Disordered, l.id, x.event.Cursor, "the answer to %s (message %d) stands before the answer to an earlier one (message %d)",
							s.name(), first, lastAnswer)
					}
					lastAnswer = max(lastAnswer, first)
				}
			}
		case Command:
			c.counts.Commands++
			if x := c.command(l, s); x != nil {
				known[x.event.ID] = true
			}
		case Edit:
			c.edited(l, s)
		case Malformed:
		}
	}
	for _, x := range l.entries {
		if !known[x.event.ID] {
			c.say(judge.Wrong, l.id, x.event.Cursor, "%s of message %q with key %q, which nobody has sent: %.60q",
				x.event.Kind(), x.native, x.event.Key, x.text)
		}
	}
	c.inChat(id, l)
}

func (s Said) name() string {
	if s.Marker != "" {
		return s.Marker
	}
	return "message " + strconv.Itoa(s.ID)
}

// received are the entries of a message: one, but for an album that came in pieces.
func (l *ledger) received(s Said) []*entry {
	var out []*entry
	for _, x := range l.entries {
		if n, err := strconv.Atoi(x.native); err == nil && (n == s.ID || slices.Contains(s.More, n)) {
			out = append(out, x)
		}
	}
	return out
}

func (c *court) message(l *ledger, s Said, xs []*entry) {
	if len(s.More) > 0 {
		c.counts.Albums++
	}
	if len(xs) == 0 {
		c.say(judge.Lost, l.id, 0, "%s (message %d of chat %d) is not in the journal", s.name(), s.ID, s.Chat)
		return
	}
	seen := map[string]bool{}
	var texts, files []string
	for _, x := range xs {
		if seen[x.native] {
			c.say(judge.Doubled, l.id, x.event.Cursor, "%s (message %s) was received already", s.name(), x.native)
		}
		seen[x.native] = true
		texts = append(texts, x.text)
		for _, f := range x.files {
			files = append(files, f.Digest)
			if f.Digest == "" {
				c.say(judge.Lost, l.id, x.event.Cursor, "a file of %s is not there: %s", s.name(), f.Missing)
			}
		}
		c.answered(l, s, x)
	}
	if len(xs) > 1 {
		c.counts.Split++
	}
	c.counts.Files += len(files)
	if got := strings.Join(texts, ""); s.Text != "" && letters(got) != letters(s.Text) {
		c.say(judge.Wrong, l.id, xs[0].event.Cursor, "%s was sent as %.80q and received as %.80q", s.name(), s.Text, got)
	}
	if !slices.Equal(files, s.Files) && !slices.Contains(files, "") {
		c.say(judge.Wrong, l.id, xs[0].event.Cursor, "%s has the files %.12q, and came with %.12q", s.name(), files, s.Files)
	}
}

// answered: once, about this message as it was when a turn took it up, and whole in the chat.
func (c *court) answered(l *ledger, s Said, x *entry) {
	i := c.answer(l, s, x)
	if i == nil || s.Text == "" {
		return
	}
	if _, ok := i.event.Body.(turnv1.Completed); !ok {
		c.say(judge.Wrong, l.id, i.event.Cursor, "%s came to %s", s.name(), i.event.Kind())
		return
	}
	want := x.text
	for _, e := range l.edits {
		if e.message == x.event.ID && (x.claimed == 0 || e.event.Cursor < x.claimed) {
			want = e.text
		}
	}
	if echo := letters(first(want, maxEcho)); !strings.Contains(letters(i.text), echo) {
		c.say(judge.Wrong, l.id, i.event.Cursor, "the answer to %s is %.80q, and it said %.80q", s.name(), i.text, want)
	}
}

// answer finds the one item that answers an entry, and checks that it has arrived.
func (c *court) answer(l *ledger, s Said, x *entry) *item {
	switch n := len(x.answers); {
	case n == 0:
		c.say(judge.Stuck, l.id, x.event.Cursor, "%s has no answer", s.name())
		return nil
	case n > 1:
		c.say(judge.Doubled, l.id, x.event.Cursor, "%s has %d answers", s.name(), n)
	}
	i := l.byItem[x.answers[0]]
	switch {
	case i == nil || !i.done():
		c.say(judge.Stuck, l.id, x.event.Cursor, "the answer to %s is not delivered", s.name())
		return nil
	case !i.whole:
		c.say(judge.Lost, l.id, x.event.Cursor, "the answer to %s was given up: %s", s.name(), i.failed)
		return nil
	}
	return i
}

// firstShown is the id of the message in which the answer to an entry begins; 0 when it is not known, or was a draft before
// it was an answer: that has the place of the draft.
func (l *ledger) firstShown(x *entry) int {
	if len(x.answers) == 0 {
		return 0
	}
	i := l.byItem[x.answers[0]]
	if i == nil || !i.whole {
		return 0
	}
	if _, draft := l.drafts[i.parts[0].receipt]; draft {
		return 0
	}
	return number(i.parts[0].receipt)
}

// number is the messenger's id within a receipt.
func number(receipt string) int {
	n, err := strconv.Atoi(receipt[strings.LastIndexByte(receipt, '/')+1:])
	if err != nil {
		return 0
	}
	return n
}

// command is known by its key, which ends with the message's id.
func (c *court) command(l *ledger, s Said) *entry {
	end := "." + strconv.Itoa(s.ID)
	var xs []*entry
	for _, x := range l.entries {
		if x.event.Kind() == "control.requested" && strings.HasSuffix(x.event.Key, end) {
			xs = append(xs, x)
		}
	}
	switch len(xs) {
	case 0:
		c.say(judge.Lost, l.id, 0, "the command %q (message %d of chat %d) is not in the journal", s.Text, s.ID, s.Chat)
		return nil
	case 1:
	default:
		c.say(judge.Doubled, l.id, xs[1].event.Cursor, "the command %q (message %d) was received already", s.Text, s.ID)
	}
	c.answer(l, s, xs[0])
	return xs[0]
}

func (c *court) edited(l *ledger, s Said) {
	c.counts.Edits++
	xs := l.received(s)
	if len(xs) == 0 { // said elsewhere
		return
	}
	n := 0
	for _, e := range l.edits {
		if e.message == xs[0].event.ID && letters(e.text) == letters(s.Text) {
			if n++; n == 1 && (xs[0].claimed == 0 || e.event.Cursor < xs[0].claimed) {
				c.counts.InTime++
			}
		}
	}
	switch {
	case n == 0:
		c.say(judge.Lost, l.id, xs[0].event.Cursor, "the edit of message %d to %.80q is not in the journal", s.ID, s.Text)
	case n > 1:
		c.say(judge.Doubled, l.id, xs[0].event.Cursor, "the edit of message %d to %.80q is there %d times", s.ID, s.Text, n)
	}
}

func first(text string, n int) string {
	r := []rune(text)
	return string(r[:min(n, len(r))])
}
