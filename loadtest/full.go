package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/stat"
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
func (k *killRun) filling(ctx context.Context, d *running) error {
	if err := k.disk.Room(diskSize); err != nil {
		return err
	}
	for i := range k.o.power.full {
		if !k.busy(ctx) || !wait(ctx, time.Duration(k.rnd.Float64()*float64(k.o.maxUp))) {
			return context.Cause(ctx)
		}
		f, err := k.fill(ctx)
		if err != nil {
			return err
		}
		k.full = append(k.full, f)
		select {
		case <-d.Done():
			return errors.New("the daemon has ended when its disk was full")
		default:
		}
		k.p.note("full %d times, %d messages accepted, %d answered; back after %.1f s", i+1, k.crowd.accepted.Load(), k.crowd.answered.Load(), f.Back.Seconds())
	}
	return nil
}

// fill is one of them. The disk is full for some time after something has found no room.
func (k *killRun) fill(ctx context.Context) (f fullTime, err error) {
	before, err := k.disk.Count()
	if err != nil {
		return f, err
	}
	f.Full = time.Now()
	if err := k.disk.Others(diskSize); err != nil {
		return f, err
	}
	for patience := f.Full.Add(notice); f.Refused == 0; {
		if !wait(ctx, flightPoll) || time.Now().After(patience) {
			return f, errors.New("nothing was written to the full disk: the run proves nothing")
		}
		c, err := k.disk.Count()
		if err != nil {
			return f, err
		}
		f.Refused = c.Full - before.Full
	}
	wait(ctx, time.Duration(k.rnd.Float64()*float64(fullFor)))
	f.Accepted = k.crowd.accepted.Load()
	answered := k.crowd.answered.Load()
	f.Freed = time.Now()
	if err := k.disk.Others(0); err != nil {
		return f, err
	}
	for k.crowd.accepted.Load() == f.Accepted || k.crowd.answered.Load() == answered {
		if !wait(ctx, flightPoll) || time.Since(f.Freed) > 2*backWithin {
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

func (k *killRun) filled(r *killReport) {
	r.Full = &fullReport{Times: k.full}
	var back []time.Duration
	for _, f := range k.full {
		back = append(back, f.Back)
	}
	r.Full.Back = stat.SpreadOf(back)
	for _, kind := range judge.Kinds() {
		n := r.Verdict.Of(kind)
		r.Goals = append(r.Goals, goal{string(kind), "0", fmt.Sprint(n), n == 0})
	}
	in := r.Full.Back.Max <= backWithin
	r.Goals = append(r.Goals, r.Replay.goal(len(r.journal)),
		goal{
			"freed to answering again (p50; max)", "≤ " + backWithin.String(),
			fmt.Sprintf("%.1f s; %.1f s", r.Full.Back.P50.Seconds(), r.Full.Back.Max.Seconds()), in,
		})
	if !in {
		r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{
			Kind: judge.Stuck, Text: fmt.Sprintf("%s after the disk was freed nothing was answered", r.Full.Back.Max),
		})
	}
}

func (f *fullReport) say(p printer, r killReport) {
	n, refused := r.Verdict.Counts, 0
	for _, t := range f.Times {
		refused += t.Refused
	}
	p.say("the disk was full %d times under load, and freed; %d writes found no room; seed %d", len(f.Times), refused, r.Seed)
	p.say("%d messages accepted in %d sessions; turns: %d completed, %d failed %v; %d take-overs; %d pushes unknown",
		n.Accepted, n.Sessions, n.Events["turn.completed"], n.Events["turn.failed"], n.Failures, n.Takeovers, n.Events["delivery.unknown"])
	printGoals(p, r.Goals)
}
