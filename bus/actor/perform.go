package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

type outcome struct {
	body envelope.Body
	err  error
}

// perform runs the effect of the claim that this run appended, folds news meanwhile, and appends the outcome. It returns
// true when the lane's work has to end: the claim is lost, or the effect came to nothing.
func (l *lane[S]) perform(ctx context.Context, step machine.Perform) (end bool) {
	if step.Claim != l.mine.Cursor || l.a.m.Perform == nil {
		l.trouble(ctx, fmt.Errorf("the machine asks to perform claim %d, which is not mine", step.Claim))
		return true
	}
	work := Work[S]{Session: l.session, State: l.at.state, Claim: l.mine, Deadline: step.Deadline}
	effect, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	effect, stop := context.WithDeadline(effect, step.Deadline)
	defer stop()

	done := make(chan outcome, 1)
	l.a.running.Go(func() {
		var o outcome
		if err := l.guard(func() { o.body, o.err = l.a.m.Perform(effect, work) }); err != nil {
			o = outcome{err: err}
		}
		done <- o
	})
	defer func() {
		l.mine = envelope.Event{}
		l.claim.Store(0)
	}()

	progress := time.NewTicker(bus.AckWait / 3)
	defer progress.Stop()
	overdue := time.NewTimer(time.Until(step.Deadline))
	defer overdue.Stop()
	for {
		select {
		case o := <-done:
			return l.conclude(ctx, step, o)
		case <-l.wake:
			switch verdict, err := l.news(ctx, step); {
			case err != nil:
				cancel(err)
				l.trouble(ctx, err)
				return true
			case verdict == fenced:
				cancel(ErrFenced)
				return true // neither ack nor nak
			case verdict == withdrawn:
				cancel(ErrWithdrawn)
				return false
			}
		case <-progress.C:
			for _, b := range l.held {
				l.a.settled(l.session, b.InProgress())
			}
		case <-overdue.C:
			select {
			case o := <-done: // it came back in the same instant
				return l.conclude(ctx, step, o)
			default:
			}
			// The effect has not come back from its own deadline: the claim is anybody's now.
			l.a.log.Warn("an effect overran its claim", "session", l.session, "claim", step.Claim)
			return true
		}
	}
}

type verdict int

const (
	wanted    verdict = iota // go on
	withdrawn                // the machine asks for something else
	fenced                   // another has the claim
)

// news folds what came while an effect runs, and asks the machine whether it still wants it.
func (l *lane[S]) news(ctx context.Context, step machine.Perform) (verdict, error) {
	mail, _ := l.a.take(l, false)
	l.accept(mail)
	if l.takeNudge() {
		if err := l.reload(ctx); err != nil {
			return wanted, nil //nolint:nilerr // a nudge is a hint; the next append finds out
		}
	}
	if _, err := l.refresh(ctx); err != nil {
		if !retryable(err) {
			return wanted, err
		}
		l.a.log.Warn("news not read while an effect runs", "session", l.session, "error", err)
		return wanted, nil
	}
	return l.judge(step)
}

func (l *lane[S]) judge(step machine.Perform) (verdict, error) {
	next, err := l.next()
	if err != nil {
		return wanted, err
	}
	switch next := next.(type) {
	case machine.Perform:
		if next.Claim == step.Claim {
			return wanted, nil
		}
	case machine.Held:
		return fenced, nil
	case nil, machine.Append, machine.Wait:
	}
	return withdrawn, nil
}

func (l *lane[S]) takeNudge() bool {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	n := l.nudged
	l.nudged = false
	return n
}

// conclude appends the outcome of an effect while the machine still wants it on the newest fold.
func (l *lane[S]) conclude(ctx context.Context, step machine.Perform, o outcome) (end bool) {
	if o.err == nil && o.body == nil {
		o.err = errors.New("an effect without an outcome")
	}
	if o.err != nil {
		l.trouble(ctx, fmt.Errorf("effect of claim %d: %w", step.Claim, o.err))
		return true
	}
	ev := envelope.Event{Session: l.session, Cause: l.mine.ID, Body: o.body, Trace: l.mine.Trace}
	l.a.p.Journal.Stamp(&ev)
	for {
		v, err := l.judge(step)
		switch {
		case err != nil:
			l.trouble(ctx, err)
			return true
		case v == fenced:
			return true
		case v == withdrawn:
			return false
		}
		ev.Prev = l.at.cursor
		s, err := l.append(ctx, ev)
		if err != nil {
			l.trouble(ctx, err)
			return true
		}
		if s.done {
			l.tries = 0
			return false
		}
		if l.lost() {
			return true
		}
	}
}
