package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/intake"
)

// errLeft ends a wait for an answer: the person has left.
var errLeft = errors.New("left without waiting for the answer; it will be in the journal")

// answer is how a wait for a reply has ended.
type answer struct {
	reply intake.Reply
	err   error
}

// waiting is a wait for a reply, in the background.
type waiting struct {
	answered chan answer
	cancel   context.CancelFunc
}

func (t *talk) wait(ctx context.Context, message, until string) waiting {
	ctx, cancel := context.WithCancel(ctx)
	w := waiting{answered: make(chan answer, 1), cancel: cancel}
	go func() {
		r, err := t.desk.reply(ctx, message, until)
		w.answered <- answer{r, err}
	}()
	return w
}

// stop ends the wait; what it had come to is forgotten.
func (w waiting) stop() {
	w.cancel()
	<-w.answered
}

// errand is one message, and what has to happen until it has its reply.
type errand struct {
	*talk
	receipt  intake.Receipt
	pending  waiting
	over     bool // pending has ended
	stopping bool
	inline   inline
}

// once asks and prints the reply.
func (t *talk) once(ctx context.Context, message string) error {
	receipt, err := t.say(ctx, message)
	if err != nil {
		return err
	}
	t.stream.begin(turnOf(receipt.MessageID))
	e := &errand{talk: t, receipt: receipt, pending: t.wait(ctx, receipt.MessageID, untilTold)}
	defer func() {
		e.pending.cancel()
		if !e.over {
			<-e.pending.answered
		}
	}()
	return e.run(ctx)
}

func (e *errand) run(ctx context.Context) error {
	link := e.desk.conn.NATS().StatusChanged(nats.RECONNECTING)
	defer e.desk.conn.NATS().RemoveStatusListener(link)
	long := time.NewTimer(longWait)
	defer long.Stop()
	for longTold := false; ; {
		select {
		case d := <-e.deltas:
			e.stream.delta(d)
			long.Reset(longWait)
		case a := <-e.pending.answered:
			e.over = true
			if done, err := e.answered(ctx, a); done || err != nil {
				return err
			}
			long.Reset(longWait)
		case line, ok := <-e.inline.typed():
			if done, err := e.typed(ctx, line, ok); done || err != nil {
				return err
			}
			long.Reset(longWait)
		case <-e.inline.ripe:
			e.ripened()
		case text := <-e.notes:
			if link != nil { // else that was told
				e.note(text)
			}
		case <-long.C:
			if !longTold && !e.stream.showing() && !e.inline.asks {
				text, parked := e.waitsFor(ctx, e.receipt.Cursor)
				e.note(text)
				if parked && (!e.inTTY || !e.errTTY) { // nobody is here to wait for it
					return &toldError{exitApproval}
				}
				longTold = true
			}
		case <-link:
			e.note("jetclaw is gone; nothing is lost, waiting for it to come back")
			link = nil
		case <-e.interrupts:
			if err := e.interrupted(ctx); err != nil {
				return err
			}
		}
	}
}

// interrupted stops the answer; the second time it leaves. A question that is open stays so.
func (e *errand) interrupted(ctx context.Context) error {
	e.stream.end()
	switch {
	case e.inline.asks:
		fmt.Fprintln(e.err)
		return e.park(e.inline.view)
	case e.stopping:
		return errLeft
	}
	e.stopping = true
	fmt.Fprintln(e.err, "stopping (Ctrl-C again leaves)")
	if err := e.command(ctx, messagev1.Stop); errors.Is(err, errUnsure) {
		return err
	} else if err != nil {
		fmt.Fprintf(e.err, "stop: %s\n", err)
	}
	return nil
}

// answered takes what a wait has come to.
func (e *errand) answered(ctx context.Context, a answer) (done bool, err error) {
	if a.err != nil {
		e.stream.cut()
		return true, a.err
	}
	if a.reply.Status == "awaiting_approval" {
		return e.ask(ctx, a.reply)
	}
	if e.inline.asks { // somebody else has decided, or nobody in time
		fmt.Fprintln(e.err)
	}
	return true, e.show(ctx, e.receipt.MessageID, a.reply)
}

// again waits anew.
func (e *errand) again(ctx context.Context, until string) {
	if !e.over {
		e.pending.stop()
	}
	e.pending.cancel()
	e.pending, e.over = e.wait(ctx, e.receipt.MessageID, until), false
}

// show prints a reply where it belongs: an answer on stdout, all else on stderr.
func (t *talk) show(ctx context.Context, message string, r intake.Reply) error {
	t.sawOnly(ctx, message, r.Cursor)
	if r.Status == "completed" {
		t.stream.finish(r.Text)
		if r.Decision != "" && t.alone {
			return t.afterDecision(ctx, r.Cursor)
		}
		t.tellStandIn(ctx, r.Cursor)
		return nil
	}
	t.stream.cut()
	fmt.Fprintln(t.err, forTerminal(r.Text))
	return &toldError{exitFailed}
}

// afterDecision stays for what a decision leads to, as nobody else would do it.
func (t *talk) afterDecision(ctx context.Context, cursor uint64) error {
	e, err := t.desk.conn.Journal().Get(ctx, cursor)
	b, ok := e.Body.(approvalv1.Decided)
	if err != nil || !ok {
		return err
	}
	ctx, begin := untilInterrupt(ctx, t.interrupts)
	defer begin()
	return t.aftermath(ctx, t.desk.conn, approvals.View{Session: t.session(), Turn: b.Turn, Call: b.Call}, cursor)
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
