package floor

import (
	"fmt"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/stat"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// samples of one sender.
type samples struct {
	answered, stored, settled []time.Duration
	ended                     int // turns that ended within the window
	err                       error
}

// run drives all senders: each sends its next message when it has the answer to the one before. What begins before the
// warm-up is over does not count.
func (f *bus) run() (Result, error) {
	open := time.Now().Add(f.job.Warmup)
	shut := open.Add(f.job.Duration)
	all := make([]samples, f.job.Sessions)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = f.send(i, open, shut) })
	}
	var used [2]time.Duration
	for i, at := range []time.Time{open, shut} {
		t := time.NewTimer(time.Until(at))
		select {
		case <-t.C:
		case <-f.ctx.Done():
		}
		t.Stop()
		used[i] = cpu()
	}
	wg.Wait()
	var sum samples
	for _, s := range all {
		if s.err != nil {
			return Result{}, s.err
		}
		sum.answered = append(sum.answered, s.answered...)
		sum.stored = append(sum.stored, s.stored...)
		sum.settled = append(sum.settled, s.settled...)
		sum.ended += s.ended
	}
	if e := f.fail.Load(); e != nil {
		return Result{}, *e
	}
	return Result{
		Answered: stat.SpreadOf(sum.answered), Stored: stat.SpreadOf(sum.stored), Settled: stat.SpreadOf(sum.settled),
		PerSecond: float64(sum.ended) / f.job.Duration.Seconds(),
		CPU:       (used[1] - used[0]) / time.Duration(max(1, sum.ended)),
	}, nil
}

func (f *bus) send(i int, open, shut time.Time) (s samples) {
	var l *lane
	var lives []*life
	for n := 0; ; n++ {
		began := time.Now()
		if !began.Before(shut) {
			break
		}
		if n%f.job.PerSession == 0 {
			if l, s.err = f.lane(i, n/f.job.PerSession); s.err != nil {
				return s
			}
		}
		lf, err := f.turn(l, n)
		if err != nil {
			s.err = err
			return s
		}
		if lf.answeredAt.After(open) && lf.answeredAt.Before(shut) {
			s.ended++
		}
		if began.After(open) {
			s.answered = append(s.answered, lf.answeredAt.Sub(began))
			s.stored = append(s.stored, max(0, lf.answeredAt.Sub(lf.storedAt)))
			lf.began = began
			lives = append(lives, lf)
		}
	}
	for _, lf := range lives {
		if s.err = f.wait(lf.settled); s.err != nil {
			return s
		}
		s.settled = append(s.settled, lf.settledAt.Sub(lf.began))
	}
	return s
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
