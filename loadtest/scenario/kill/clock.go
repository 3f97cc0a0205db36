package kill

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fault/clock"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// clockOptions are those of a run in which clocks are stepped.
type clockOptions struct {
	steps   int
	every   time.Duration
	targets string
	clocks  []clock.Clock // of the daemon, and of the other process
}

// clockStep is one step.
type clockStep struct {
	At      time.Time     `json:"at"`
	Process int           `json:"process"` // 0: the daemon, with its NATS server; 1: the other
	Ahead   time.Duration `json:"ahead_ns"`
}

// ClockCommand steps the clocks of the daemon and of a second process of its services, and judges. Nobody is killed: whoever is taken
// over was alive.
func ClockCommand(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("clock")
	f := bench.AddFlags(fs)
	o := options{kills: 1, clock: &clockOptions{}}
	fs.IntVar(&o.clock.steps, "steps", 20, "how often a clock is stepped")
	fs.DurationVar(&o.clock.every, "every", 2*time.Second, "longest time between them")
	fs.StringVar(&o.clock.targets, "targets", "turns,tools,builtin,approvals,outbox", "services of the second process")
	finish := o.flags(fs)
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	return tryKill(ctx, f, o, p, func(ctx context.Context, b *bench.Bench) (err error) {
		if *f.Binary != "" {
			return nil
		}
		p.Note("building jetclaw with clocks that can be stepped …")
		b.Binary, err = clock.Build(ctx, b.Dir, "./cmd/jetclaw")
		return err
	})
}

func (o *clockOptions) begin(dir string) error {
	for i := range 2 {
		c, err := clock.New(filepath.Join(dir, fmt.Sprintf("clock-%d", i)))
		if err != nil {
			return err
		}
		o.clocks = append(o.clocks, c)
	}
	return nil
}

// stepping runs the second process and steps the clocks; in the end both are wrong, each in its own way.
func (k *run) stepping(ctx context.Context) (err error) {
	h := k.home
	h.Env = []string{k.o.clock.clocks[1].Environ()}
	if _, err := h.Endpoint(ctx); err != nil { // the second process looks for it
		return err
	}
	if k.second, err = daemon.Start(k.Binary, h, "--target", k.o.clock.targets); err != nil {
		return err
	}
	for range k.o.clock.steps {
		if !k.busy(ctx) || !pace.Wait(ctx, time.Duration(k.rnd.Float64()*float64(k.o.clock.every))) {
			return context.Cause(ctx)
		}
		if err := k.step(k.rnd.IntN(2), time.Duration(k.rnd.IntN(3)-1)*time.Hour); err != nil {
			return err
		}
		select {
		case <-k.second.Done():
			return fmt.Errorf("the second process has ended:\n%s", daemon.Tail(k.home.LogFile(), 2000))
		default:
		}
	}
	if err := k.step(0, -time.Hour); err != nil {
		return err
	}
	return k.step(1, time.Hour)
}

func (k *run) step(process int, ahead time.Duration) error {
	k.steps = append(k.steps, clockStep{At: time.Now(), Process: process, Ahead: ahead})
	return k.o.clock.clocks[process].Set(ahead)
}

// clockReport is what the steps have done.
type clockReport struct {
	Steps []clockStep `json:"steps"`
	// Unacked doorbells are left of sessions that are at rest: the server counts by the wall clock, and gives what it delivered
	// while that was an hour ahead again an hour later.
	Unacked int           `json:"unacked"`
	Slow    time.Duration `json:"slowest_ns"` // from a 202 to the reply
}

// slowest bounds how late an answer may be: some seconds of it are the queue, and deliveries that come again.
const slowest = 30 * time.Second

// clocked judges what the steps have done: nobody was killed, so nobody may have been taken over, and no outcome is unknown.
func (k *run) clocked(r *report) {
	r.Clock = &clockReport{Steps: k.steps, Slow: k.crowd.Slowest()}
	for _, b := range r.Bells {
		r.Clock.Unacked += b.Unacked
	}
	c := r.Verdict.Counts
	say := func(n int, id, what string) {
		r.Goals = append(r.Goals, result.Counted("clock."+id, what, n))
		if n > 0 {
			r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{Kind: judge.Doubled, Text: fmt.Sprintf("%s: %d", what, n)})
		}
	}
	for _, kind := range judge.Kinds() {
		r.Goals = append(r.Goals, result.Counted("clock."+string(kind), string(kind), r.Verdict.Of(kind)))
	}
	say(c.Takeovers, "takeovers", "turns taken over from a worker that lives")
	say(c.Outcomes["unknown"], "unknown_calls", "tool calls called unknown while they ran")
	say(c.Again, "again", "tool calls claimed again")
	say(c.Events["delivery.unknown"], "unknown_pushes", "pushes called unknown while they ran")
	late := r.Clock.Slow > slowest
	r.Goals = append(r.Goals, r.Replay.Goal(len(r.journal)),
		result.Goal("slowest answer", "≤ "+slowest.String(), fmt.Sprintf("%.1f s", r.Clock.Slow.Seconds()), !late).
			As("clock.slowest").In("s", r.Clock.Slow.Seconds()))
	if late {
		r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{Kind: judge.Stuck, Text: fmt.Sprintf("an answer took %s", r.Clock.Slow)})
	}
}

func (c *clockReport) say(p console.Printer, r report) {
	n := r.Verdict.Counts
	p.Say("%d steps of the clocks of two processes by an hour under load; seed %d", len(c.Steps), r.Seed)
	p.Say("%d messages accepted in %d sessions, %d keys posted again; %d tool calls, outcomes %v", n.Accepted, n.Sessions, r.Reposted, n.Calls, n.Outcomes)
	p.Say("turns: %d completed, %d failed %v, %d cancelled; at rest %.1f s after the last step",
		n.Events["turn.completed"], n.Events["turn.failed"], n.Failures, n.Events["turn.cancelled"], r.Rest.Seconds())
	p.Say("doorbells of sessions at rest that come again within the hour: %d", c.Unacked)
	bench.PrintGoals(p, r.Goals)
}
