package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

type outcome struct {
	body  envelope.Body
	err   error
	trace string // that it carries
}

type verdict int

const (
	wanted    verdict = iota // go on
	withdrawn                // the machine asks for something else
	fenced                   // another has the claim
)

// perform runs the effect of the claim that this run appended, folds news meanwhile, and appends the outcome. It returns
// true when the lane's work has to end: the claim is lost, or the effect came to nothing.
func (l *lane[S]) perform(ctx context.Context, step machine.Perform) (end bool) {
	if step.Claim != l.mine.Cursor || l.a.m.Perform == nil {
		l.trouble(ctx, fmt.Errorf("the machine asks to perform claim %d, which is not mine", step.Claim))
		return true
	}
	defer func() {
		l.mine = envelope.Event{}
		l.claim.Store(0)
	}()
	if v, err := l.stillMine(ctx, step); v != wanted || err != nil {
		return l.leave(ctx, v, err)
	}
	// By how long the claim is, and not by the time that it is now: the clock may have been set since.
	limit := step.Deadline.Sub(l.mine.Time) - time.Since(l.claimed)
	effect, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	effect, stop := context.WithTimeout(effect, limit)
	defer stop()
	w := &watch{done: l.begin(effect, limit), wake: l.wake}
	progress := time.NewTicker(extendEvery)
	defer progress.Stop()
	overdue := time.NewTimer(limit)
	defer overdue.Stop()
	w.progress, w.overdue = progress.C, overdue.C
	var (
		result envelope.Event // the outcome, once there is one
		tries  int
	)
	for {
		happened := w.next()
		l.turn()
		switch happened {
		case ended:
			if w.outcome.err != nil {
				l.fell(ctx, step, w.outcome.err)
				return true
			}
			result = envelope.Event{Session: l.session, Cause: l.mine.ID, Body: w.outcome.body, Trace: w.outcome.trace, Rules: l.rules()}
			l.a.p.Journal.Stamp(&result)
		case again:
		case news:
			v, err := l.news(ctx, step)
			switch {
			case err != nil:
				cancel(err)
			case v == fenced:
				cancel(ErrFenced)
			case v == withdrawn:
				cancel(ErrWithdrawn)
			default:
				continue
			}
			return l.leave(ctx, v, err)
		case working:
			l.extend()
			if l.owed != nil {
				l.knock() // once more
			}
			continue
		case overran:
			if result.Body == nil && len(w.done) > 0 { // it came back in the same instant
				overdue.Reset(0)
				continue
			}
			// The effect has not come back from its own deadline, or its outcome found no room: the claim is anybody's now.
			l.log.Warn("an effect overran its claim", "session", l.session, "claim", step.Claim, "ended", result.Body != nil)
			return true
		}
		v, once, err := l.conclude(ctx, step, result)
		if !once {
			return l.leave(ctx, v, err)
		}
		// What was done is done: it is told as long as the claim lasts, or it would be done a second time.
		l.log.Warn("the outcome of an effect is not stored yet", "session", l.session, "claim", step.Claim, "error", err)
		w.retry, w.hurry = time.After(l.retryDelay(tries)), ctx.Done()
		tries++
	}
}

// begin starts the effect; its outcome comes on the channel.
func (l *lane[S]) begin(ctx context.Context, limit time.Duration) <-chan outcome {
	work := Work[S]{Session: l.session, State: l.at.state, Claim: l.mine, Deadline: time.Now().Add(limit)}
	done := make(chan outcome, 1)
	l.a.running.Go(func() {
		l.a.p.Seams.turn(Goroutine{Kind: "effect", Session: l.session, Part: l.part, Cursor: work.Claim.Cursor})
		var o outcome
		ctx, end := l.a.p.Hooks.Effect(ctx, work.Claim)
		err := l.guard(func() { o.body, o.err = l.a.m.Perform(ctx, work) })
		switch p, ok := errors.AsType[panicked](err); {
		case ok: // the machine is sound: this is an effect that failed, and is tried again like one
			o = outcome{err: fmt.Errorf("the effect panicked: %v", p.value)}
		case o.err == nil && o.body == nil:
			o.err = errors.New("an effect without an outcome")
		}
		o.trace = end(o.body, o.err)
		done <- o
	})
	return done
}

// leave ends the work on a claim. It returns true when the bells in hand have been dealt with, or are somebody else's.
func (l *lane[S]) leave(ctx context.Context, v verdict, err error) (end bool) {
	if err != nil {
		l.trouble(ctx, err)
		return true
	}
	return v == fenced // then neither ack nor nak
}

// stillMine looks at the journal again when much time has passed since the claim was made: a process that was stopped, or
// whose append took long, may have been taken over, and an effect cannot be called back. Two clocks are asked: that on the wall may
// be set back meanwhile, and the other stands still while a machine sleeps.
func (l *lane[S]) stillMine(ctx context.Context, step machine.Perform) (verdict, error) {
	for since := l.mine.Time; l.a.p.Seams.since(since) > bus.AckWait/2 || time.Since(l.claimed) > bus.AckWait/2; {
		since, l.claimed = l.a.p.Seams.now(), time.Now()
		if v, err := l.judgeAgain(ctx, step); v != wanted || err != nil {
			return v, err
		}
	}
	return wanted, nil
}

func (l *lane[S]) judgeAgain(ctx context.Context, step machine.Perform) (verdict, error) {
	turn := l.enter(ctx)
	defer func() { l.exit(turn) }()
	if err := l.reload(ctx); err != nil {
		return wanted, err
	}
	return l.judge(ctx, step)
}

// fell deals with an effect that came to nothing: the claim stays open. How often it is tried again is the machine's to
// say, which counts the attempts in its fold; the bells are never given up for it.
func (l *lane[S]) fell(ctx context.Context, step machine.Perform, err error) {
	if ctx.Err() != nil {
		l.nakAll(0)
		return
	}
	l.log.Warn("an effect came to nothing", "session", l.session, "claim", step.Claim, "error", err)
	l.nakAll(l.retryDelay(l.deliveries()))
}

// news folds what came while an effect runs, and asks the machine whether it still wants it.
func (l *lane[S]) news(ctx context.Context, step machine.Perform) (verdict, error) {
	turn := l.enter(ctx)
	defer func() { l.exit(turn) }()
	mail, _ := l.a.take(l, false)
	l.accept(mail)
	if l.takeNudge() {
		if err := l.reload(ctx); err != nil {
			return wanted, nil // a nudge is a hint; the next append finds out
		}
	}
	if _, err := l.refresh(ctx); err != nil {
		if !retryable(err) {
			return wanted, err
		}
		l.log.Warn("news not read while an effect runs", "session", l.session, "error", err)
		l.owed = err
		return wanted, nil
	}
	return l.judge(ctx, step)
}

// judge asks the machine whether it still wants the effect, and appends what it wants beside it.
func (l *lane[S]) judge(ctx context.Context, step machine.Perform) (verdict, error) {
	next, err := l.ask(ctx)
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

// lastWord is how long an outcome may still be stored after the time to drain is over.
const lastWord = time.Second

// conclude appends the outcome of an effect while the machine still wants it on the newest fold. again says that this
// has to be tried once more, with the same event: nobody knows, or there was no room.
func (l *lane[S]) conclude(ctx context.Context, step machine.Perform, ev envelope.Event) (v verdict, again bool, err error) {
	last, beside := ctx.Err() != nil, ctx // the last word is the outcome's
	if last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
	}
	turn := l.enter(ctx)
	defer func() { l.exit(turn) }()
	for {
		if v, err := l.judge(beside, step); v != wanted || err != nil {
			return v, false, err
		}
		ev.Prev, ev.Time = l.at.cursor, l.asked
		s, err := l.append(ctx, ev, 0)
		if err != nil {
			again = retryable(err) || fault.KindOf(err) == fault.Full
			return wanted, again && !last && !errors.Is(err, bus.ErrClosed), err
		}
		if s.done {
			l.tries = 0
			return wanted, false, nil
		}
		if l.tries++; l.tries >= maxConflicts {
			l.tries = 0
			return wanted, !last, fmt.Errorf("%d conflicts in a row", maxConflicts)
		}
	}
}
