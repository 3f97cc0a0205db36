package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

// past is what the journal has of one session.
type past struct {
	cursors []uint64  // since its last tombstone, that one included; the next run's archive
	last    uint64    // cursor
	at      time.Time // of the latest event; zero when no event says it
	bytes   int64     // of all of it
	stones  []stone   // tombstones, oldest first
	gap     uint64    // cursor of an event that follows on one which cannot be read; 0 when there is none
}

// stone is a tombstone.
type stone struct {
	cursor  uint64
	archive string   // name of the file that has what lay below it
	below   []uint64 // what still lies below it, down to the one before: a run did not come to its end
}

// survey is the whole journal.
type survey struct {
	sessions map[session.ID]*past
	book     ledger.Book
	bytes    int64
	events   int
}

func (p *Pruner) survey(ctx context.Context) (*survey, error) {
	s := &survey{sessions: map[session.ID]*past{}}
	err := p.Bus.Replay(ctx, bus.ReplayOptions{}, func(ev envelope.Event) error {
		p.Step()
		s.add(ev)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return s, nil
}

func (s *survey) add(ev envelope.Event) {
	s.events++
	s.book.Add(ev)
	x, known := s.sessions[ev.Session]
	if !known {
		x = &past{}
		s.sessions[ev.Session] = x
	}
	size := sizeOf(ev)
	s.bytes += size
	x.bytes += size
	if ev.Time.After(x.at) {
		x.at = ev.Time
	}
	if body, ok := ev.Body.(turnv1.SessionDeleted); ok { // it explains what is missing below it
		x.stones = append(x.stones, stone{cursor: ev.Cursor, archive: body.Archive, below: x.cursors})
		x.cursors, x.gap = nil, 0
	} else if ev.Prev != x.last {
		x.gap = ev.Cursor
	}
	x.cursors, x.last = append(x.cursors, ev.Cursor), ev.Cursor
}

// empty says that nothing has come since the tombstone.
func (x *past) empty() bool {
	return len(x.cursors) == 1 && len(x.stones) > 0 && x.stones[len(x.stones)-1].cursor == x.last
}

// left is how many events lie below the tombstones.
func (x *past) left() int {
	n := 0
	for _, t := range x.stones {
		n += len(t.below)
	}
	return n
}

// frame is about what subject and headers of an event take.
const frame = 400

// sizeOf is about what an event takes in the journal. A body that is too large for it lies in the object store.
func sizeOf(ev envelope.Event) int64 {
	n := 0
	if u, ok := ev.Body.(envelope.Unknown); ok {
		n = len(u.Data)
	} else if b, err := json.Marshal(ev.Body); err == nil { // what could be decoded can be encoded
		n = len(b)
	}
	if n > bus.ClaimCheckSize {
		n = 0
	}
	return frame + int64(n)
}
