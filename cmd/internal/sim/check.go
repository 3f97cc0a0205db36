package sim

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// checker knows the journal, and what people, the model, the tools and the channels know. Of the machines it knows nothing.
type checker struct {
	w    *world
	errs []error
}

func (w *world) check() []error {
	c := &checker{w: w}
	taken := map[string]bool{}
	for _, s := range sessions {
		var events []envelope.Event
		for _, e := range w.server.events {
			if e.Session == s {
				events = append(events, e)
				taken[e.ID] = true
			}
		}
		c.chain(s, events)
		c.messages(s, events)
		c.calls(s, events)
		c.approvals(s, events)
		if c.w.limits.Routes[s.Channel()] != "" {
			c.deliveries(s, events)
		}
	}
	for id := range w.outside.receipts {
		if !taken[id] {
			c.wrong("", "there is a receipt of %s, and the journal does not have it", id)
		}
	}
	for id := range w.outside.wanted {
		if !taken[id] {
			c.wrong("", "%s was never taken in", id)
		}
	}
	slices.SortFunc(c.errs, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return c.errs
}

func (c *checker) wrong(s session.ID, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %w", s, fmt.Errorf(format, args...)))
}

// chain: each event names the one before it.
func (c *checker) chain(s session.ID, events []envelope.Event) {
	prev := uint64(0)
	ids := map[string]bool{}
	for _, e := range events {
		if e.Prev != prev {
			c.wrong(s, "event %d follows %d, and says %d", e.Cursor, prev, e.Prev)
		}
		if ids[e.ID] {
			c.wrong(s, "event %d has the id %s of another", e.Cursor, e.ID)
		}
		prev, ids[e.ID] = e.Cursor, true
	}
}
