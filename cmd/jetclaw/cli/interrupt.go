package cli

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake"
)

var (
	// errEarly ends a command that had not begun.
	errEarly = errors.New("interrupted before jetclaw was reached; nothing was sent")
	// errUnsure ends a request that has no answer yet.
	errUnsure = errors.New("left without knowing whether jetclaw has taken it; `jetclaw events` shows what it has")
)

// untilInterrupt is ctx, ended by an interrupt until begin is called: from then on interrupts are left to others.
func untilInterrupt(ctx context.Context, interrupts <-chan os.Signal) (_ context.Context, begin func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-interrupts:
			cancel(errEarly)
		case <-begun:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(begun)
		<-ended
	})
}

// unlessInterrupted asks. Who has enough of waiting need not wait until a jetclaw that does not answer is given up.
func (t *talk) unlessInterrupted(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	answered := make(chan struct{}) // closed once err is the answer
	go func() {
		defer close(answered)
		err = ask(ctx)
	}()
	for {
		select {
		case <-answered:
			return err
		case text := <-t.notes:
			t.note(text)
		case <-t.interrupts:
			cancel()
			<-answered
			return errUnsure
		}
	}
}

func (t *talk) say(ctx context.Context, text string) (receipt intake.Receipt, err error) {
	err = t.unlessInterrupted(ctx, func(ctx context.Context) (err error) {
		receipt, err = t.desk.say(ctx, text)
		return err
	})
	return receipt, err
}

func (t *talk) command(ctx context.Context, verb messagev1.Verb) error {
	return t.unlessInterrupted(ctx, func(ctx context.Context) error {
		_, err := t.desk.command(ctx, verb)
		return err
	})
}
