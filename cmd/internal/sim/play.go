package sim

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Result is what a history came to.
type Result struct {
	Sum    uint64 // of all that happened, in order
	Steps  int
	Events int           // of the journal
	Took   time.Duration // in the world's own time
	Err    error         // what is wrong; nil: nothing
}

// quietTime is how long, after the last fault, it may take until nothing is left to do. What takes longest are several turns in
// a row that ask people who do not answer, or deliveries that are tried to the end.
const quietTime = 40 * time.Minute

// play plays a history. It has to be called in a bubble of testing/synctest.
func play(p Plan, out io.Writer, tam tamper) Result {
	w := newWorld(p, newTrace(out), tam)
	for _, p := range w.processes {
		w.start(p)
	}
	for _, a := range p.Acts {
		w.outside.later(a.At, "act", func() { w.outside.act(a) })
	}
	for n, f := range p.Faults {
		w.loom.after(f.At, nil, "fault", uint64(n), func() { w.strike(f) })
	}
	w.loom.after(p.Turmoil, nil, "calm", 0, w.calm)
	w.loom.run(p.Steps, p.Turmoil+quietTime, w.settled)
	r := Result{Sum: w.trace.sum, Steps: w.loom.steps, Events: len(w.server.events), Took: w.loom.now()}
	r.Err = w.verdict()
	w.end()
	return r
}

// settled says that there is nothing left to do.
func (w *world) settled() bool {
	return len(w.faults) > 0 || w.loom.now() >= w.plan.Turmoil && w.outside.coming == 0 && w.server.quiet()
}

// verdict is what is wrong after the end.
func (w *world) verdict() error {
	errs := w.faults
	switch {
	case len(errs) > 0:
	case w.loom.steps >= w.plan.Steps:
		errs = append(errs, fmt.Errorf("something goes on for ever: %d steps in %v:\n%s", w.loom.steps, w.loom.now(), w.left()))
	case !w.settled():
		errs = append(errs, fmt.Errorf("stuck: %v after the last fault this is left:\n%s", w.loom.now()-w.plan.Turmoil, w.left()))
	default:
		errs = append(errs, w.check()...)
	}
	return errors.Join(errs...)
}

// left is what is not done, for people.
func (w *world) left() string {
	var lines []string
	for service, c := range w.server.rings {
		for _, b := range c.bells {
			kind := "timer"
			if !b.timer {
				kind = b.event.Type()
			}
			lines = append(lines, fmt.Sprintf("  a bell of %s: %s #%d of %s, delivered %d times", service, kind, b.event.Cursor, b.event.Session, b.deliveries))
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// end kills all processes; their goroutines end by themselves.
func (w *world) end() {
	w.closing = true
	w.loom.mu.Lock()
	w.loom.over = true
	w.loom.mu.Unlock()
	for _, p := range w.processes {
		w.kill(p)
	}
}
