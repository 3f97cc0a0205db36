package conversations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

const (
	startDelay = 500 * time.Millisecond // unless somebody asks: a start has better things to do
	firstWait  = time.Second            // after trouble with the file or the journal; doubles
	lastWait   = time.Minute
)

// errOther says that the journal is not the one that the file was made from.
var errOther = errors.New("it was made from another journal")

// errFresh ends the use of a file for a new one.
var errFresh = errors.New("a new index is built")

// keep keeps a file open and up to date until ctx ends.
func (s *Service) keep(ctx context.Context) error {
	pause(ctx, startDelay, s.wake)
	removed := false
	for wait := firstWait; ctx.Err() == nil; {
		select {
		case <-s.fresh: // it came while none was open
			s.swap()
		default:
		}
		began := time.Now()
		x, err := s.begin(ctx)
		if x != nil {
			err = s.follow(ctx, x)
		}
		if time.Since(began) > lastWait {
			wait, removed = firstWait, false
		}
		other := errors.Is(err, store.ErrForeign) || errors.Is(err, errOther)
		switch {
		case ctx.Err() != nil:
			s.end(x)
		case errors.Is(err, errFresh):
			s.end(x)
			s.swap()
		case other && !removed:
			s.log.Warn("the index of conversations is removed, to be built again from the journal", "path", s.path, "error", err)
			s.end(x)
			removed = store.Remove(s.path) == nil
		default:
			s.log.Warn("the index of conversations cannot be kept up to date; trying again", "path", s.path, "wait", wait, "error", err)
			if x == nil {
				s.setTrouble(err)
			}
			pause(ctx, wait, nil) // what is there goes on to answer
			wait = min(2*wait, lastWait)
			s.end(x)
			if other {
				removed = false
			}
		}
	}
	return nil
}

// begin opens the file and lets it answer.
func (s *Service) begin(ctx context.Context) (*index, error) {
	x, err := s.open(ctx, s.path)
	if err != nil {
		return nil, err
	}
	if err := s.same(ctx, x); err != nil {
		return nil, errors.Join(err, x.store.Close())
	}
	return x, nil
}

// end closes the file once nobody uses it.
func (s *Service) end(x *index) {
	if x == nil {
		return
	}
	s.setIndex(nil)
	x.users.Wait()
	if err := x.store.Close(); err != nil {
		s.log.Warn("the index of conversations was not closed well", "path", s.path, "error", err)
	}
}

// follow keeps a file up to date until something fails, ctx ends, or a new file is there.
func (s *Service) follow(ctx context.Context, x *index) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	x.fail = end
	s.setIndex(x)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return x.write(gctx) })
	g.Go(func() error {
		err := s.conn.Follow(gctx, bus.ReplayOptions{From: x.mark.Cursor + 1}, x.takes(gctx))
		if err == nil || gctx.Err() != nil {
			return context.Cause(gctx)
		}
		return err
	})
	g.Go(func() error {
		select {
		case <-s.fresh:
			return errFresh
		case <-gctx.Done():
			return context.Cause(gctx)
		}
	})
	return g.Wait()
}

// open opens a file as an index, and begins one where there is none.
func (s *Service) open(ctx context.Context, path string) (*index, error) {
	st, begun, err := store.Open(ctx, store.Options{Path: path, Fold: conversation.Version, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	mark, err := st.Mark(ctx)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	x := newIndex(st, mark)
	if begun {
		u, err := s.conn.Journal().Usage(ctx)
		if err != nil {
			return nil, errors.Join(err, st.Close())
		}
		x.whole = u.Last
		if path == s.path && u.Last > 0 {
			s.log.Info("building the index of conversations", "path", path, "events", u.Messages)
		}
	}
	return x, nil
}

// marksTried is how many events may be gone from the journal until it is taken for another one.
const marksTried = 16

// same says whether the journal is the one that an index was made from: it still has an event that the index has seen last.
// Those of deleted sessions are gone, so that more than one may have to be looked for.
func (s *Service) same(ctx context.Context, x *index) error {
	if x.mark.Cursor == 0 {
		return nil
	}
	u, err := s.conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	if u.Last < x.mark.Cursor {
		return fmt.Errorf("%w: that one ends at %d, this one was read up to %d", errOther, u.Last, x.mark.Cursor)
	}
	marks, err := x.store.Marks(ctx, marksTried)
	if err != nil {
		return err
	}
	for _, m := range append([]store.Mark{x.mark}, marks...) {
		ev, err := s.conn.Journal().Get(ctx, m.Cursor)
		switch {
		case errors.Is(err, bus.ErrNoEvent):
		case err != nil:
			return err
		case ev.ID != m.Event:
			return fmt.Errorf("%w: event %d is %s there, and was %s", errOther, m.Cursor, ev.ID, m.Event)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: of the last events that were read it has none", errOther)
}

// takes hands events to the writer.
func (x *index) takes(ctx context.Context) func(envelope.Event) error {
	return func(ev envelope.Event) error {
		select {
		case x.events <- ev:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// use is the open index for the time of one question. Its file stays open until done is called.
func (s *Service) use(ctx context.Context) (x *index, done func(), err error) {
	nudge(s.wake)
	limit := time.NewTimer(openTime)
	defer limit.Stop()
	for {
		s.mu.Lock()
		x, changed, trouble := s.index, s.changed, s.trouble
		if x != nil {
			x.users.Add(1)
		}
		s.mu.Unlock()
		if x != nil {
			return x, x.users.Done, nil
		}
		if trouble != nil {
			return nil, nil, fault.New(fault.Unavailable, "the index of conversations cannot be used: %w", trouble)
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil, nil, fault.New(fault.Unavailable, "the index of conversations is not open yet; try again")
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// openTime is how long a question waits for the file to be opened.
const openTime = 5 * time.Second

func (s *Service) setIndex(x *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index = x; x != nil {
		s.trouble = nil
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Service) setTrouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
	close(s.changed)
	s.changed = make(chan struct{})
}
