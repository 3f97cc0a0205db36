package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/approvals"
)

// asked are the questions of a conversation. They are put one after the other: an answer of one letter must not be able to
// mean another than the one that was read last.
type asked struct {
	docket   docket
	raised   string           // id of the one that was put last
	ripe     <-chan time.Time // until it fires answers do not count; nil: they do
	answered string           // id of the one that was answered here, until its event comes
}

// takes says whether y, a and n are answers now, and no messages.
func (a *asked) takes() bool {
	return a.answered != "" || len(a.docket.open) > 0 && a.docket.open[0].Approval == a.raised
}

// stillAsked finds out what is open from before.
func (c *conversation) stillAsked(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	l, err := bus.Ask[approvals.List](ctx, c.desk.conn, "approvals", "list", approvals.ListRequest{Session: string(c.session())})
	if err == nil { // else it is what the news have told
		c.ask.docket.replace(c.session(), l.Approvals)
	}
}

// raise puts the oldest question, unless it was put already.
func (c *conversation) raise() {
	a := &c.ask
	if len(a.docket.open) == 0 || a.docket.open[0].Approval == a.raised {
		return
	}
	v := a.docket.open[0]
	a.raised, a.ripe = v.Approval, time.After(readTime)
	text := strings.TrimSuffix(question(v, time.Now()), "\n")
	if n := len(a.docket.open) - 1; n > 0 {
		text += fmt.Sprintf("\nAfter it, %s.", counted(n, "more question"))
	}
	c.aside(text)
}

// ripened lets answers count.
func (c *conversation) ripened() {
	a := &c.ask
	a.ripe = nil
	if a.answered == "" && len(a.docket.open) > 0 && a.docket.open[0].Approval == a.raised {
		c.choose(a.docket.open[0])
	}
}

// choose says how to answer.
func (c *conversation) choose(v approvals.View) {
	c.aside(choices(v) + "? (anything else is a message)")
	c.prompt()
}

// approval shows what becomes of an approval.
func (c *conversation) approval(body approvalv1.Event) {
	switch b := body.(type) {
	case approvalv1.Requested:
		if open := c.ask.docket.open; c.caughtUp && len(open) > 1 && open[0].Approval == c.ask.raised {
			c.aside(fmt.Sprintf("Another question comes after this one: may %s run?", b.Tool))
		}
	case approvalv1.Decided:
		c.aside(b.Text)
	case approvalv1.Expired:
		c.aside(b.Text)
	case approvalv1.Voided:
		c.aside(b.Text)
	case approvalv1.Cancelled: // what has ended the turn is told
	}
	if id := settledBy(body); id != "" && id == c.ask.answered {
		c.ask.answered = ""
	}
	c.long.Reset(longWait)
	if c.caughtUp {
		c.raise()
		c.prompt()
	}
}

// answer decides about the question that was put.
func (c *conversation) answer(ctx context.Context, d callv1.Decision) error {
	a := &c.ask
	if a.answered != "" {
		fmt.Fprintln(c.err, "that is answered; nothing was sent")
		c.prompt()
		return nil
	}
	v := a.docket.open[0]
	switch {
	case a.ripe != nil:
		fmt.Fprintln(c.err, unread)
		return nil
	case d == callv1.AllowAlways && !v.Always:
		fmt.Fprintln(c.err, noAlways)
		c.choose(v)
		return nil
	}
	got, err := c.decide(ctx, v, d)
	switch {
	case err == nil && !got.Already:
		a.answered = v.Approval // the journal tells it, and what it leads to
		return nil
	case err == nil:
		c.aside(got.Text)
		return nil
	case fault.KindOf(err) == fault.NotFound: // nothing will come that ends it
		a.docket.settle(v.Approval)
		c.raise()
	}
	return c.asked(err)
}
