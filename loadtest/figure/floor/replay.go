package floor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/figure/window"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// run drives all senders: each sends its next message when it has the answer to the one before. Package window says
// which of them count.
func (f *bus) run() (Result, error) {
	w := window.New(f.job.Sessions, f.job.Warmup, f.job.Duration)
	lives := make([][]*life, f.job.Sessions)
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range lives {
		wg.Go(func() {
			var err error
			if lives[i], err = f.send(i, w); err != nil {
				cancel(err)
			}
		})
	}
	var used [2]time.Duration
	w.Run(ctx, f.job.Sessions, func() { used[0] = cpu() }, func() { used[1] = cpu() })
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if e := f.fail.Load(); e != nil {
		return Result{}, *e
	}
	var answered, stored, settled []time.Duration
	ended := 0
	for _, l := range slices.Concat(lives...) {
		if w.Holds(l.answeredAt) {
			ended++
		}
		if w.Holds(l.began) {
			answered = append(answered, l.answeredAt.Sub(l.began))
			stored = append(stored, max(0, l.answeredAt.Sub(l.storedAt)))
			settled = append(settled, l.settledAt.Sub(l.began))
		}
	}
	return Result{
		Hist:     stat.HistogramOf(answered),
		Answered: stat.SpreadOf(answered), Stored: stat.SpreadOf(stored), Settled: stat.SpreadOf(settled),
		PerSecond: float64(ended) / w.Elapsed().Seconds(), CPU: (used[1] - used[0]) / time.Duration(max(1, ended)),
	}, nil
}

func (f *bus) send(i int, w *window.Window) (lives []*life, err error) {
	var l *lane
	for n := 0; !w.Shut() && f.ctx.Err() == nil; n++ {
		began := time.Now()
		if n%f.job.PerSession == 0 {
			if l, err = f.lane(i, n/f.job.PerSession); err != nil {
				return lives, err
			}
		}
		lf, err := f.turn(l, n)
		if err != nil {
			return lives, err
		}
		w.Ended(i)
		lf.began = began
		lives = append(lives, lf)
	}
	for _, lf := range lives {
		if err := f.wait(lf.settled); err != nil {
			return lives, err
		}
	}
	return lives, nil
}

func (f *bus) lane(i, generation int) (*lane, error) {
	id, err := session.New("main", "http", "default", fmt.Sprintf("s%d-%d", i, generation))
	if err != nil {
		return nil, err
	}
	l := &lane{id: id, filter: subject.OfSession(id)}
	f.lanes.Store(id, l)
	return l, nil
}
