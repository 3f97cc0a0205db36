package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
)

const (
	repairTime = 15 * time.Second // for the services to take what they were rung for
	repairLook = 250 * time.Millisecond
)

// repair brings back what the bus lacks and rings for what is stuck, then looks whether that has helped.
func (x *examination) repair(ctx context.Context) error {
	if err := x.mend(ctx); err != nil {
		return err
	}
	rung := map[int]error{}
	for i, st := range x.stuck {
		rung[i] = bus.Ring(ctx, x.admin, st.Service, st.Session)
	}
	moved, err := x.moved(ctx)
	if err != nil {
		return err
	}
	for i, st := range x.stuck {
		switch {
		case rung[i] != nil:
			x.report.Add(stuckFinding(st, "session.stuck", health.Problem, "; it could not be rung: "+rung[i].Error(), ""))
		case moved[i]:
			x.report.Add(stuckFinding(st, "session.repaired", health.Fine, "; rung, and it has gone on", ""))
		case !x.services()[st.Service].There():
			x.report.Add(stuckFinding(st, "session.rung", health.Warning, "; rung: it goes on when "+st.Service+" runs", "start it: jetclaw run"))
		default:
			x.report.Add(stuckFinding(st, "session.stuck", health.Problem, fmt.Sprintf("; rung, and it has not gone on within %s", repairTime),
				"see what the daemon says, and jetclaw dead list"))
		}
	}
	return nil
}

// mend brings back streams and consumers.
func (x *examination) mend(ctx context.Context) error {
	if x.away() || len(x.broken.Streams)+len(x.broken.Consumers) == 0 {
		return nil
	}
	changes, err := bus.Mend(ctx, x.admin, x.broken)
	for _, ch := range changes {
		x.unsay(ch.Object)
		x.report.Add(health.Finding{
			ID: "topology.repaired", Severity: health.Fine, Check: "bus", Evidence: changeEvidence{ch.Object, ch.Diff},
			Text: fmt.Sprintf("the %s is as it should be again", ch.Object),
		})
	}
	if err != nil {
		x.report.Unknown("repair", health.Warning, "bus", "restart the daemon", err)
	}
	return x.look(ctx)
}

// unsay takes back what was found about a stream or consumer, as it is no longer so.
func (x *examination) unsay(object string) {
	x.report.Findings = slices.DeleteFunc(x.report.Findings, func(f health.Finding) bool {
		e, ok := f.Evidence.(changeEvidence)
		return ok && e.Object == object
	})
}

// moved waits, where workers are, until sessions have gone on, and says which.
func (x *examination) moved(ctx context.Context) ([]bool, error) {
	moved := make([]bool, len(x.stuck))
	waiting := func() (n int) {
		services := x.services()
		for i, st := range x.stuck {
			if !moved[i] && services[st.Service].There() {
				n++
			}
		}
		return n
	}
	wipe := func() {}
	defer func() { wipe() }()
	tick := time.NewTicker(repairLook)
	defer tick.Stop()
	for until := time.Now().Add(repairTime); waiting() > 0 && time.Now().Before(until); {
		if x.s.errTTY {
			fmt.Fprintf(x.s.rawErr, "%swaiting for %s to go on", clearLine, plural(waiting(), "session", "sessions"))
			wipe = func() { fmt.Fprint(x.s.rawErr, clearLine) }
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := x.look(ctx); err != nil {
			return nil, err
		}
		j := x.judge()
		for i, st := range x.stuck {
			if moved[i] {
				continue
			}
			var err error
			if moved[i], err = x.goneOn(ctx, j, st); err != nil {
				return nil, err
			}
		}
	}
	return moved, nil
}

// goneOn says whether a session that was rung is no longer stuck: something has happened in it; or its service has settled the
// ring, and has seen to it that it will be woken.
func (x *examination) goneOn(ctx context.Context, j health.Judge, st health.Stuck) (bool, error) {
	last, err := x.admin.Journal().Last(ctx, st.Session)
	if err != nil || last > st.Last {
		return err == nil, err
	}
	timers, err := bus.TimersOf(ctx, x.admin, st.Session)
	if err != nil || slices.ContainsFunc(timers, func(t bus.TimerState) bool { return t.Service == st.Service && t.At.IsZero() }) {
		return false, err
	}
	now, _, err := x.lookAtOne(ctx, j, st.Session)
	return err == nil && !slices.ContainsFunc(now, func(n health.Stuck) bool { return n.Service == st.Service }), err
}
