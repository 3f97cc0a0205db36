package playback

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Options of Check and Fold.
type Options struct {
	To       uint64            // last cursor; 0: the end at the time of the call
	Progress func(done int64)  // called from time to time with the number of events done; nil: not
	Machines []recheck.Machine // required
	Workers  int               // goroutines that fold; 0: one for each processor
}

// Check holds the whole journal against today's machines. It stops at the first difference; holes, events of a newer jetclaw
// and messages that are no events are collected.
func Check(ctx context.Context, c *bus.Conn, o Options) (Report, error) {
	r := &run{conn: c, options: o, check: true}
	return r.all(ctx)
}

// Fold folds the whole journal and judges nothing.
func Fold(ctx context.Context, c *bus.Conn, o Options) (Report, error) {
	r := &run{conn: c, options: o}
	return r.all(ctx)
}

// run is one pass over the journal.
type run struct {
	conn    *bus.Conn
	options Options
	check   bool

	done  atomic.Int64
	first atomic.Uint64 // cursor of the first difference so far; 0: none

	mu     sync.Mutex
	report Report // guarded by mu
}

// errFound ends reading once nothing below the first difference is left to read.
var errFound = errors.New("a difference was found")

const handful = 256 // messages that a worker is handed at a time

func (r *run) all(ctx context.Context) (Report, error) {
	n := r.options.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	work := make([]chan []bus.Raw, n)
	for i := range work {
		work[i] = make(chan []bus.Raw, 4)
		g.Go(func() error { return r.work(ctx, work[i]) })
	}
	g.Go(func() error { return r.read(ctx, work) })
	if err := g.Wait(); err != nil {
		return Report{}, err
	}
	return r.report, nil
}

// read deals the journal out: all events of a session go to one worker, in their order.
func (r *run) read(ctx context.Context, work []chan []bus.Raw) error {
	hands := make([][]bus.Raw, len(work))
	deal := func(i int) error {
		select {
		case work[i] <- hands[i]:
			hands[i] = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := r.conn.Scan(ctx, bus.ReplayOptions{To: r.options.To}, func(m bus.Raw) error {
		if at := r.first.Load(); at != 0 && m.Cursor > at {
			return errFound
		}
		i := subject.Partition(m.Subject) % len(work)
		if hands[i] = append(hands[i], m); len(hands[i]) < handful {
			return nil
		}
		if r.options.Progress != nil {
			r.options.Progress(r.done.Load())
		}
		return deal(i)
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	for i := range work {
		if err := deal(i); err != nil {
			return err
		}
		close(work[i])
	}
	return nil
}

// work folds what one worker is dealt.
func (r *run) work(ctx context.Context, hands <-chan []bus.Raw) error {
	w := &worker{run: r, sessions: map[session.ID]*Session{}}
	for hand := range hands {
		for _, m := range hand {
			if err := w.take(ctx, m); err != nil {
				return err
			}
		}
		r.done.Add(int64(len(hand)))
	}
	w.end()
	return nil
}

type worker struct {
	*run
	sessions map[session.ID]*Session
	count    Count
	others   []Finding
}

func (w *worker) take(ctx context.Context, m bus.Raw) error {
	if at := w.first.Load(); at != 0 && m.Cursor > at {
		return nil
	}
	ev, err := w.conn.Decode(ctx, m)
	if errors.Is(err, envelope.ErrEnvelope) {
		w.others = append(w.others, Finding{Kind: NoEvent, Cursor: m.Cursor, Text: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	s := w.sessions[ev.Session]
	if s == nil {
		s = NewSession(w.options.Machines, ev.Session)
		w.sessions[ev.Session] = s
	}
	if !w.check {
		w.count.Events++
		s.Apply(ev)
		return nil
	}
	if found, bad := s.check(ev, &w.count); bad {
		w.found(found)
	}
	return nil
}

// found keeps the difference with the lowest cursor.
func (w *worker) found(f Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.report.First == nil || f.Cursor < w.report.First.Cursor {
		w.report.First = &f
		w.first.Store(f.Cursor)
	}
}

func (w *worker) end() {
	now, active := time.Now(), 0
	for _, s := range w.sessions {
		if !w.check && len(s.Due(now)) > 0 {
			active++
		}
		if s.gap != nil {
			w.others = append(w.others, *s.gap)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Count.add(w.count)
	w.report.Sessions += len(w.sessions)
	w.report.Active += active
	w.report.Others = append(w.report.Others, w.others...)
	slices.SortFunc(w.report.Others, func(a, b Finding) int { return cmp.Compare(a.Cursor, b.Cursor) })
}
