package conversations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
)

// name of the service on the bus.
const name = "conversations"

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	return bus.Spec{
		Name:    name,
		Serves:  []string{listVerb, getVerb, readVerb, searchVerb, statusVerb, reindexVerb},
		Follows: true,
	}
}

// Config is what the service needs. All of it is required.
type Config struct {
	Conn *bus.Conn // as Spec().Name
	Path string    // of the SQLite file; its folder is made
	Log  *slog.Logger
}

// Service answers questions about conversations. See the package comment.
type Service struct {
	conn  *bus.Conn
	path  string
	log   *slog.Logger
	asked chan struct{} // closed once questions are answered
	wake  chan struct{} // of size 1: somebody has asked
	wish  chan struct{} // of size 1: a new index is wanted
	fresh chan struct{} // of size 1: it is built, at fresh()

	mu      sync.Mutex
	index   *index        // guarded by mu; nil while no file is open
	changed chan struct{} // guarded by mu; closed when index changes
	trouble error         // guarded by mu; why there is none
	rebuild *rebuild      // guarded by mu; nil while none is built
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("conversations needs a connection")
	case c.Log == nil:
		return nil, errors.New("conversations needs a logger")
	case c.Path == "":
		return nil, errors.New("conversations needs a file")
	}
	return &Service{
		conn: c.Conn, path: c.Path, log: c.Log, asked: make(chan struct{}), changed: make(chan struct{}),
		wake: make(chan struct{}, 1), wish: make(chan struct{}, 1), fresh: make(chan struct{}, 1),
	}, nil
}

// Run reads and answers until ctx ends; what was read is written then.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.serve(ctx) })
	g.Go(func() error { return s.keep(ctx) })
	g.Go(func() error { return s.rebuilds(ctx) })
	return g.Wait()
}

// Ready returns once questions are taken, or with ctx's error. It does not wait for the index.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.asked:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("conversations is not ready: %w", context.Cause(ctx))
	}
}

func (s *Service) serve(ctx context.Context) error {
	return s.conn.ServeAll(ctx, s.asked, bus.Endpoints{
		listVerb: s.list, getVerb: s.get, readVerb: s.read, searchVerb: s.search, statusVerb: s.status, reindexVerb: s.reindex,
	})
}

// nudge puts a token into a channel of size 1.
func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// pause waits, or returns early when ctx ends or one of the channels has something.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
	}
}
