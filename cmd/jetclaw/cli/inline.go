package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/intake"
)

// inline is the question that a person at a terminal is asked while a reply is waited for.
type inline struct {
	asks  bool
	view  approvals.View   // while asks
	ripe  <-chan time.Time // until it fires answers do not count; nil: they do
	early bool             // something was typed before
	lines chan string      // what is typed, closed at its end; nil before the first question
}

// typed delivers what is typed while a question is open.
func (i *inline) typed() <-chan string {
	if !i.asks {
		return nil
	}
	return i.lines
}

// read begins to read what is typed. A read of a terminal cannot be called back, so that the last one ends with the process.
func (i *inline) read(in io.Reader) {
	if i.lines != nil {
		return
	}
	lines := make(chan string)
	i.lines = lines
	go func() {
		defer close(lines)
		for r := bufio.NewScanner(in); r.Scan(); {
			lines <- r.Text()
		}
	}()
}

// ask puts the first of the questions that a reply waits for, where there is a person to ask.
func (e *errand) ask(ctx context.Context, r intake.Reply) (done bool, err error) {
	e.stream.stepped()
	var views []approvals.View
	for _, q := range r.Approvals {
		views = append(views, e.view(ctx, approvals.View{
			Approval: q.ID, Session: e.session(), Status: approvals.Open, Expires: q.Expires, Text: q.Text,
		}))
	}
	if len(views) == 0 {
		return true, fault.New(fault.Internal, "it waits for an approval, and nobody says for which")
	}
	v := views[0]
	switch {
	case !e.inTTY || !e.errTTY:
		return true, e.park(views...)
	case v.Status != approvals.Open: // it has ended just now
		if err := pause(ctx, askAgain); err != nil {
			return true, err
		}
		e.again(ctx, untilTold)
		return false, nil
	case v.Shown == "":
		return true, e.park(v)
	}
	i := &e.inline
	i.read(e.in)
	i.asks, i.view, i.ripe, i.early = true, v, time.After(readTime), false
	fmt.Fprint(e.err, question(v, time.Now()))
	e.again(ctx, untilAnswer)
	return false, nil
}

// ripened lets answers count.
func (e *errand) ripened() {
	i := &e.inline
	i.ripe = nil
	if !i.asks {
		return
	}
	if i.early {
		fmt.Fprintln(e.err, unread)
	}
	e.promptInline()
}

func (e *errand) promptInline() { fmt.Fprintf(e.err, "%s? ", choices(e.inline.view)) }

// view is all about one question. When that cannot be had it is what is known, which is enough to answer it elsewhere.
func (e *errand) view(ctx context.Context, known approvals.View) approvals.View {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	v, err := bus.Ask[approvals.View](ctx, e.desk.conn, "approvals", "get",
		approvals.GetRequest{Approval: known.Approval, Session: string(known.Session)})
	if err != nil {
		return known
	}
	return v
}

// typed takes an answer.
func (e *errand) typed(ctx context.Context, line string, ok bool) (done bool, err error) {
	i := &e.inline
	if !ok { // the end of input
		fmt.Fprintln(e.err)
		return true, e.park(i.view)
	}
	if i.ripe != nil {
		i.early = true
		return false, nil
	}
	d, ok := answerOf(line)
	switch {
	case !ok:
	case d == callv1.AllowAlways && !i.view.Always:
		fmt.Fprintln(e.err, noAlways)
	default:
		return e.decided(ctx, d)
	}
	e.promptInline()
	return false, nil
}

// decided hands in the answer, and goes on waiting for the reply: whatever became of the answer shows there.
func (e *errand) decided(ctx context.Context, d callv1.Decision) (done bool, err error) {
	v := e.inline.view
	a, err := e.decide(ctx, v, d)
	switch {
	case errors.Is(err, errUnsure):
		return true, err
	case fault.KindOf(err) == fault.Denied:
		fmt.Fprintln(e.err, err)
		return true, e.park(v)
	case err != nil:
		fmt.Fprintln(e.err, err)
	default:
		fmt.Fprintln(e.err, forTerminal(a.Text))
	}
	e.inline.asks = false
	e.again(ctx, untilTold)
	return false, nil
}

// decide hands in a decision about an approval of the session.
func (t *talk) decide(ctx context.Context, v approvals.View, d callv1.Decision) (a approvals.DecideAnswer, err error) {
	err = t.unlessInterrupted(ctx, func(ctx context.Context) error {
		return t.desk.patiently(ctx, func() (err error) {
			a, err = bus.Ask[approvals.DecideAnswer](ctx, t.desk.conn, "approvals", "decide",
				approvals.DecideRequest{Approval: v.Approval, Session: string(t.session()), Decision: d})
			return err
		})
	})
	return a, err
}

// park leaves the questions to be answered elsewhere, and says how.
func (e *errand) park(views ...approvals.View) error {
	now := time.Now()
	e.stream.cut()
	for _, v := range views {
		switch {
		case e.inline.asks: // it stands above
		case v.Shown != "":
			fmt.Fprint(e.err, question(v, now))
		case v.Text != "":
			fmt.Fprintf(e.err, "%s\n", forTerminal(v.Text))
		default:
			fmt.Fprintf(e.err, "Approval %s is asked for; `jetclaw approvals show %s` shows what for.\n", flat(v.Approval), flat(v.Approval))
		}
		fmt.Fprintf(e.err, "It waits until %s. Answer it with\n%s", v.Expires.Local().Format(time.DateTime), elsewhere(v))
	}
	return &toldError{exitApproval}
}
