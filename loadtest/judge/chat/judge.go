package chat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Judge looks at everything once.
func Judge(ev Evidence) Verdict {
	c := &court{ev: ev, sessions: map[session.ID]*ledger{}, marked: map[string]int64{}, kept: map[string]int{}, shown: shownOf(ev)}
	for _, e := range ev.Journal {
		l := c.sessions[e.Session]
		if l == nil {
			l = newLedger(e.Session)
			c.sessions[e.Session] = l
		}
		l.fold(e)
		switch b := e.Body.(type) {
		case messagev1.Quarantined:
			c.aside(e.Session, e.Cursor, b)
		case deliveryv1.Unknown:
			c.counts.Unknown++
		case deliveryv1.Deferred:
			c.counts.Deferred++
		}
	}
	byChat := c.people()
	for _, chat := range slices.Sorted(maps.Keys(byChat)) {
		c.chat(chat, byChat[chat])
	}
	c.strangers(byChat)
	c.malformed()
	c.messenger()
	slices.SortStableFunc(c.found, func(a, b judge.Violation) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Cursor, b.Cursor))
	})
	return Verdict{Violations: c.found, Counts: c.counts}
}

type court struct {
	ev       Evidence
	sessions map[session.ID]*ledger
	shown    map[int64]map[string]*sight
	marked   map[string]int64 // chat of each marker
	kept     map[string]int   // malformed updates by marker
	found    []judge.Violation
	counts   Counts
}

func (c *court) say(k judge.Kind, s session.ID, cursor uint64, format string, args ...any) {
	c.found = append(c.found, judge.Violation{Kind: k, Session: s, Cursor: cursor, Text: fmt.Sprintf(format, args...)})
}

// people sorts what was said by chat.
func (c *court) people() map[int64][]Said {
	out := map[int64][]Said{}
	for _, s := range c.ev.Said {
		if s.Marker != "" {
			c.marked[s.Marker] = s.Chat
		}
		if s.What != Malformed {
			out[s.Chat] = append(out[s.Chat], s)
		}
	}
	return out
}

func (c *court) ledger(s session.ID) *ledger {
	l := c.sessions[s]
	if l == nil {
		l = newLedger(s)
		c.sessions[s] = l
	}
	return l
}

// pictures is where most emoji begin; below are lines of tables, bullets and the like.
const pictures = 0x1f000

// letters is what of a text has to arrive: neither spaces nor marks of formatting.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r >= pictures && unicode.Is(unicode.So, r) {
			return r
		}
		return -1
	}, text)
}
