package intake

import (
	"context"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// fullAt is the share of the journal's MaxBytes at which no new messages are taken; the rest is for running turns.
const (
	fullAt    = 0.9
	roomEvery = 3 * time.Second
)

// room knows how full the journal was a moment ago, and guesses what has come since.
type room struct {
	mu    sync.Mutex
	usage bus.Usage // guarded by mu
}

const turnBytes = 2 << 10 // envelopes and claims of a turn

// took counts a message until the next look, and as much again for its answer: a burst could fill the journal in between.
// A guess that is too high costs a look.
func (r *room) took(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.Bytes += uint64(2*len(text) + turnBytes)
}

func (r *room) set(u bus.Usage) (full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage = u
	return u.Full() >= fullAt
}

func (r *room) get() bus.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

// checkRoom is a fault.Full when new messages have to wait. It asks again before it says so: space returns at once.
func (s *Service) checkRoom(ctx context.Context) error {
	u := s.room.get()
	if u.Full() < fullAt {
		return nil
	}
	if now, err := s.journal.Usage(ctx); err == nil {
		u = now
		if !s.room.set(u) {
			return nil
		}
	}
	return fault.New(fault.Full, "the journal is %.0f %% full (%d of %d bytes) and takes no new messages: "+
		"delete sessions or raise bus.max_bytes, then send this again; stop still works", 100*u.Full(), u.Bytes, u.MaxBytes)
}

// watchRoom polls the journal until ctx ends.
func (s *Service) watchRoom(ctx context.Context) {
	tick := time.NewTicker(roomEvery)
	defer tick.Stop()
	full := false
	for {
		u, err := s.journal.Usage(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // keep the last: appends themselves tell when there is no room
			s.log.Warn("how full the journal is cannot be told", "error", err)
		default:
			if now := s.room.set(u); now != full {
				full = now
				s.log.Warn("journal space", "full", full, "bytes", u.Bytes, "max_bytes", u.MaxBytes)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
