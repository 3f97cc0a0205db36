package actor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// ask is the machine's next step after all that it wants beside this run's claim is stored. What cannot be stored now
// stays owed, and the step is then the one that would follow if it were: good for judging the effect of the claim, and
// for nothing else.
func (l *lane[S]) ask(ctx context.Context) (machine.Step, error) {
	l.owed = nil
	for {
		step, err := l.next()
		a, ok := step.(machine.Append)
		if err != nil || !ok || !a.Beside || l.mine.Cursor == 0 {
			return step, err
		}
		err = l.beside(ctx, a)
		if _, ok := errors.AsType[panicked](err); ok {
			return nil, err
		}
		if err != nil {
			l.log.Warn("not stored yet beside an effect", "session", l.session, "type", a.Body.EventType(), "error", err)
			l.owed = err
			return l.supposed(a)
		}
		if time.Since(l.extended) >= extendEvery {
			l.extend()
		}
	}
}

// beside appends one event and leaves the claim of this run alone. Nothing is repeated here, as an effect may be waiting
// to be heard: the caller asks again, and whatever became of an attempt, the compare-and-set stores the answer once.
func (l *lane[S]) beside(ctx context.Context, step machine.Append) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ev := l.decided(step)
	l.a.p.Journal.Stamp(&ev)
	s, err := l.append(ctx, ev, 0)
	switch {
	case err != nil:
		return err
	case s.done:
		l.tries = 0
		l.tell(step, s.event.Cursor)
		return nil
	}
	if l.tries++; l.tries >= maxConflicts {
		l.tries = 0
		return fault.New(fault.Conflict, "%d conflicts in a row", maxConflicts)
	}
	return nil
}

// maxSupposed bounds what a machine may want beside an effect at a time.
const maxSupposed = 4096

// supposed is what the machine would want if what it wants beside the claim were stored.
func (l *lane[S]) supposed(step machine.Append) (machine.Step, error) {
	state, cursor := l.at.state, l.at.cursor
	for range maxSupposed {
		ev := envelope.Event{Session: l.session, Prev: cursor, Cursor: cursor + 1, Cause: step.Cause, Body: step.Body}
		l.a.p.Journal.Stamp(&ev)
		cursor = ev.Cursor
		if err := l.guard(func() { state = l.a.m.Apply(state, ev) }); err != nil {
			return nil, err
		}
		next, err := l.nextOf(state)
		a, ok := next.(machine.Append)
		if err != nil || !ok || !a.Beside {
			return next, err
		}
		step = a
	}
	return nil, panicked{fmt.Sprintf("it wants more than %d events beside an effect", maxSupposed)}
}
