package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake"
)

// errLeft ends a wait for an answer: the person has left.
var errLeft = errors.New("left without waiting for the answer; it will be in the journal")

// once asks and prints the reply.
func (t *talk) once(ctx context.Context, message string) error {
	receipt, err := t.say(ctx, message)
	if err != nil {
		return err
	}
	type answer struct {
		reply intake.Reply
		err   error
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		r, err := t.desk.reply(wait, receipt.MessageID)
		answered <- answer{r, err}
	}()
	link := t.desk.conn.NATS().StatusChanged(nats.RECONNECTING)
	defer t.desk.conn.NATS().RemoveStatusListener(link)
	long := time.NewTimer(longWait)
	defer long.Stop()
	t.stream.begin(turnOf(receipt.MessageID))
	for stopping, longTold := false, false; ; {
		select {
		case d := <-t.deltas:
			t.stream.delta(d)
			long.Reset(longWait)
		case a := <-answered:
			if a.err != nil {
				t.stream.cut()
				return a.err
			}
			return t.show(ctx, receipt.MessageID, a.reply)
		case text := <-t.notes:
			if link != nil { // else that was told
				t.note(text)
			}
		case <-long.C:
			if !longTold && !t.stream.showing() {
				t.note(t.waitsFor(ctx, receipt.Cursor))
			}
			longTold = true
		case <-link:
			t.note("jetclaw is gone; nothing is lost, waiting for it to come back")
			link = nil
		case <-t.interrupts:
			t.stream.end()
			if stopping {
				cancel()
				<-answered
				return errLeft
			}
			stopping = true
			fmt.Fprintln(t.err, "stopping (Ctrl-C again leaves)")
			if err := t.command(ctx, messagev1.Stop); errors.Is(err, errUnsure) {
				cancel()
				<-answered
				return err
			} else if err != nil {
				fmt.Fprintf(t.err, "stop: %s\n", err)
			}
		}
	}
}

// show prints a reply where it belongs: an answer on stdout, all else on stderr.
func (t *talk) show(ctx context.Context, message string, r intake.Reply) error {
	t.sawOnly(ctx, message, r.Cursor)
	if r.Status == "completed" {
		t.stream.finish(r.Text)
		t.tellStandIn(ctx, r.Cursor)
		return nil
	}
	t.stream.cut()
	if r.Status == "awaiting_approval" {
		fmt.Fprintf(t.err, "waits for an approval: %s\n", forTerminal(r.Text))
		return &toldError{exitApproval}
	}
	fmt.Fprintln(t.err, forTerminal(r.Text))
	return &toldError{exitFailed}
}

// tellStandIn says which model has answered, when it was not the one that was asked first.
func (t *talk) tellStandIn(ctx context.Context, cursor uint64) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	e, err := t.desk.conn.Journal().Get(ctx, cursor)
	if b, ok := e.Body.(turnv1.Completed); err == nil && ok && len(b.Tried) > 0 {
		t.note(standIn(b))
	}
}

// standIn says which model has answered in place of which; "" when it was the first that was asked.
func standIn(b turnv1.Completed) string {
	if len(b.Tried) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has answered, as %s could not (%s)", b.Model, b.Tried[0].Model, oneLine(b.Tried[0].Detail))
}

// sawOnly remembers that the person has seen the answer to a message, unless something lies before it that they have not:
// that has to be news still when they come back. It is a convenience, and bounded.
func (t *talk) sawOnly(ctx context.Context, message string, cursor uint64) {
	mark, ok := t.seen()
	if !ok || cursor <= mark {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	missed := false
	err := t.desk.conn.Replay(ctx, bus.ReplayOptions{Session: t.session(), From: mark + 1, To: cursor}, func(e envelope.Event) error {
		answers := answersOf(e.Body)
		missed = missed || isNews(e.Body) && !slices.Contains(answers, message)
		return nil
	})
	if err == nil && !missed {
		t.remember(cursor)
	}
}
