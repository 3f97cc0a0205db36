package kill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

const (
	diskSize   = 1 << 30         // of the disk that is filled
	fullFor    = 3 * time.Second // longest that it is full, beyond the time until somebody notices
	backWithin = 20 * time.Second
	notice     = 20 * time.Second
)

// fullTime is one time that the disk was full.
type fullTime struct {
	Full     time.Time     `json:"full"`
	Refused  int           `json:"refused"` // operations that found no room
	Freed    time.Time     `json:"freed"`
	Back     time.Duration `json:"back_ns"` // from then until a message was accepted and answered again
	Accepted int64         `json:"accepted"`
}

// filling has others take all of the disk, and give it free, again and again. Nobody restarts the daemon.
func (k *run) filling(ctx context.Context, d *bench.Running) error {
	if err := k.disk.Room(diskSize); err != nil {
		return err
	}
	for i := range k.o.power.full {
		if !k.busy(ctx) || !pace.Wait(ctx, time.Duration(k.rnd.Float64()*float64(k.o.maxUp))) {
			return context.Cause(ctx)
		}
		f, err := k.fillUp(ctx)
		if err != nil {
			return err
		}
		k.full = append(k.full, f)
		select {
		case <-d.Done():
			return errors.New("the daemon has ended when its disk was full")
		default:
		}
		k.P.Note("full %d times, %d messages accepted, %d answered; back after %.1f s", i+1, k.crowd.Accepted.Load(), k.crowd.Answered.Load(), f.Back.Seconds())
	}
	return nil
}

// fillUp is one of them. The disk is full for some time after something has found no room.
func (k *run) fillUp(ctx context.Context) (f fullTime, err error) {
	before, err := k.disk.Count()
	if err != nil {
		return f, err
	}
	f.Full = time.Now()
	if err := k.disk.Others(diskSize); err != nil {
		return f, err
	}
	for patience := f.Full.Add(notice); f.Refused == 0; {
		if !pace.Wait(ctx, flightPoll) || time.Now().After(patience) {
			return f, errors.New("nothing was written to the full disk: the run proves nothing")
		}
		c, err := k.disk.Count()
		if err != nil {
			return f, err
		}
		f.Refused = c.Full - before.Full
	}
	pace.Wait(ctx, time.Duration(k.rnd.Float64()*float64(fullFor)))
	f.Accepted = k.crowd.Accepted.Load()
	answered := k.crowd.Answered.Load()
	f.Freed = time.Now()
	if err := k.disk.Others(0); err != nil {
		return f, err
	}
	for k.crowd.Accepted.Load() == f.Accepted || k.crowd.Answered.Load() == answered {
		if !pace.Wait(ctx, flightPoll) || time.Since(f.Freed) > 2*backWithin {
			break
		}
	}
	f.Back = time.Since(f.Freed)
	return f, nil
}

// fullReport is what full disks have done.
type fullReport struct {
	Times []fullTime  `json:"times"`
	Back  stat.Spread `json:"back"`
}

func (k *run) filled(r *report) {
	r.Full = &fullReport{Times: k.full}
	var back []time.Duration
	for _, f := range k.full {
		back = append(back, f.Back)
	}
	r.Full.Back = stat.SpreadOf(back)
	for _, kind := range judge.Kinds() {
		r.Goals = append(r.Goals, result.Counted("full."+string(kind), string(kind), r.Verdict.Of(kind)))
	}
	in := r.Full.Back.Max <= backWithin
	r.Goals = append(r.Goals, r.Replay.Goal(len(r.journal)),
		result.Goal("freed to answering again (p50; max)", "≤ "+backWithin.String(),
			fmt.Sprintf("%.1f s; %.1f s", r.Full.Back.P50.Seconds(), r.Full.Back.Max.Seconds()), in).
			As("full.back").In("s", stat.Each(back, time.Duration.Seconds)...))
	if !in {
		r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{
			Kind: judge.Stuck, Text: fmt.Sprintf("%s after the disk was freed nothing was answered", r.Full.Back.Max),
		})
	}
}

func (f *fullReport) say(p console.Printer, r report) {
	n, refused := r.Verdict.Counts, 0
	for _, t := range f.Times {
		refused += t.Refused
	}
	p.Say("the disk was full %d times under load, and freed; %d writes found no room; seed %d", len(f.Times), refused, r.Seed)
	p.Say("%d messages accepted in %d sessions; turns: %d completed, %d failed %v; %d take-overs; %d pushes unknown",
		n.Accepted, n.Sessions, n.Events["turn.completed"], n.Events["turn.failed"], n.Failures, n.Takeovers, n.Events["delivery.unknown"])
	bench.PrintGoals(p, r.Goals)
}
