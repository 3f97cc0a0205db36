package conversations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

// rebuild is a new index in the making. It ends when the new file has taken the place of the old one.
type rebuild struct {
	since time.Time
	index *index // nil while it is being begun; guarded by Service.mu
}

func (s *Service) freshPath() string { return s.path + ".new" }

// reindex begins a rebuild.
func (s *Service) reindex(_ context.Context, data []byte) (any, error) {
	if _, err := bus.Question[ReindexRequest](data); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rebuild == nil {
		s.rebuild = &rebuild{since: time.Now().UTC()}
		nudge(s.wish)
	}
	return Reindexed{}, nil
}

// rebuilds builds a new index each time that one is wanted, until ctx ends.
func (s *Service) rebuilds(ctx context.Context) error {
	for {
		select {
		case <-s.wish:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		n, err := s.build(ctx)
		switch {
		case ctx.Err() != nil:
			return store.Remove(s.freshPath())
		case err != nil:
			s.log.Warn("a new index of conversations could not be built; the old one stays", "error", err)
			s.endRebuild()
		default:
			s.log.Info("a new index of conversations is built", "events", n, "took", time.Since(began).Round(time.Millisecond))
			nudge(s.wake)
			nudge(s.fresh)
		}
	}
}

// build makes a new file of the whole journal, as it is at the beginning; what comes meanwhile is read by whoever opens it. It
// returns how many events there were.
func (s *Service) build(ctx context.Context) (events int, err error) {
	path := s.freshPath()
	if err := store.Remove(path); err != nil { // of a process that died
		return 0, fmt.Errorf("remove what was left of an earlier one: %w", err)
	}
	x, err := s.open(ctx, path)
	if err != nil {
		return 0, errors.Join(err, store.Remove(path))
	}
	s.setRebuild(x)
	events, err = s.fill(ctx, x)
	s.setRebuild(nil)
	if err = errors.Join(err, x.store.Close()); err != nil {
		return 0, errors.Join(err, store.Remove(path))
	}
	return events, nil
}

// fill reads the journal into an index.
func (s *Service) fill(ctx context.Context, x *index) (events int, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return x.write(gctx) })
	g.Go(func() error {
		take := x.takes(gctx)
		var last uint64
		err := s.conn.Replay(gctx, bus.ReplayOptions{To: x.whole}, func(ev envelope.Event) error {
			events, last = events+1, ev.Cursor
			return take(ev)
		})
		if err != nil {
			return err
		}
		if x.reach(gctx, last); x.done.Load() < last {
			return context.Cause(gctx)
		}
		return errWhole
	})
	if err := g.Wait(); !errors.Is(err, errWhole) {
		return 0, err
	}
	return events, nil
}

// errWhole says that all of the journal was read.
var errWhole = errors.New("the end of the journal")

// swap puts the new file into the place of the old one; neither is open.
func (s *Service) swap() {
	if err := store.Replace(s.freshPath(), s.path); err != nil {
		s.log.Warn("the new index of conversations could not be put into its place", "path", s.path, "error", err)
	}
	s.endRebuild()
}

func (s *Service) setRebuild(x *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rebuild != nil {
		s.rebuild.index = x
	}
}

func (s *Service) endRebuild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebuild = nil
}
