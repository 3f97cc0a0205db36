package backup

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/nats-io/nats-server/v2/server/archive"

	"github.com/jetclaw/jetclaw/bus"
)

const (
	slab   = 64 // messages that are asked for at once, and held in memory
	rounds = 8
)

// tail writes what was stored after the snapshot's last sequence.
func (c *copying) tail(ctx context.Context, admin *bus.Conn) error {
	c.next = c.saved.Last + 1
	if c.last == nil {
		return c.appended(ctx, admin)
	}
	if _, err := c.round(ctx, admin); err != nil {
		return err
	}
	return c.missed(ctx, admin)
}

// appended reads a stream in which messages are added, and now and then purged, in rounds. A message that has gone before
// it was read was purged: its tombstone was stored before the next round begins. So a round that finds all is the last.
// Sessions that are deleted all the time could keep it from ending. It stops then: the reading is in order, and a purge
// takes the first of a session first, so what is there of a session has no hole, but an earlier end.
func (c *copying) appended(ctx context.Context, admin *bus.Conn) error {
	for range rounds {
		if whole, err := c.round(ctx, admin); whole || err != nil {
			return err
		}
	}
	return nil
}

// missed reads, of a stream that keeps one message a subject, the subjects that the copy has not yet: each of their
// messages was replaced before it was read. Whoever is there all the time is found; a timer that rings meanwhile is found
// in the next round, under the subject on which it rings.
func (c *copying) missed(ctx context.Context, admin *bus.Conn) error {
	for range rounds {
		subjects, err := subjectsOf(ctx, admin, c.saved.Name)
		if err != nil {
			return err
		}
		var found []message
		gone := false
		for _, subj := range subjects {
			if _, ok := c.last[subj]; ok {
				continue
			}
			m, err := storedLast(ctx, admin, c.saved.Name, subj)
			if err != nil {
				return err
			}
			if m.Seq == 0 {
				gone = true
				continue
			}
			found = append(found, m)
		}
		slices.SortFunc(found, func(a, b message) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, m := range found {
			if err := c.put(m); err != nil {
				return err
			}
		}
		if !gone {
			return nil
		}
	}
	return nil
}

// round reads up to what is the last sequence now, and says whether all messages were there.
func (c *copying) round(ctx context.Context, admin *bus.Conn) (whole bool, err error) {
	now, err := stateOf(ctx, admin, c.saved.Name)
	if err != nil {
		return false, err
	}
	whole = true
	for from := c.next; from <= now.Last; from += slab {
		got, err := storedAll(ctx, admin, c.saved.Name, from, min(from+slab-1, now.Last))
		if err != nil {
			return false, err
		}
		for _, m := range got {
			if m.Seq == 0 {
				whole = false
			} else if err := c.put(m); err != nil {
				return false, err
			}
		}
	}
	c.next = max(c.next, now.Last+1)
	return whole, nil
}

func (c *copying) put(m message) error {
	hdr := &archive.Header{
		Name: m.Subject, Sequence: m.Seq, Timestamp: m.Time.UnixNano(),
		HeaderSize: int64(len(m.Header)), PayloadSize: int64(len(m.Data)),
	}
	return c.message(hdr, bytes.NewReader(append(m.Header, m.Data...)))
}
