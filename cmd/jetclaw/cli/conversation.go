package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
)

// conversation is what is going on between a person and the session.
type conversation struct {
	*talk
	editor   *editor         // nil without a terminal that can
	open     map[string]bool // messages without an outcome, by id
	mine     map[string]bool // messages that were typed here
	stopping bool            // a stop was asked for and nothing has ended since
	away     bool            // the daemon
	prompted bool            // without an editor: it stands on the line
	last     uint64          // cursor of the last message that was typed here, or before
	long     *time.Timer     // until the person is told what is going on
	longTold bool
	ask      asked // what approvals ask of the person
	caughtUp bool  // what happened before the conversation is told
}

func (c *conversation) prompt() {
	switch {
	case len(c.open) > 0 && len(c.ask.docket.open) == 0:
	case c.editor != nil:
		c.editor.prompt(true)
	case c.inTTY && !c.prompted:
		fmt.Fprint(c.err, prompt)
		c.prompted = true
	}
}

// over writes what comes by itself on a line of its own.
func (c *conversation) over() {
	if c.editor != nil {
		c.editor.prompt(false)
	} else if c.prompted {
		fmt.Fprintln(c.err)
		c.prompted = false
	}
}

func (c *conversation) leave() error {
	c.stream.cut()
	c.over()
	if n := len(c.open); n > 0 {
		fmt.Fprintf(c.err, "%d without an answer yet; it will be here when you come back\n", n)
	}
	if len(c.ask.docket.open) > 0 {
		fmt.Fprintln(c.err, "A question stays open; it is asked again here, or answer it with `jetclaw approvals`")
	}
	return nil
}

// linked tells that the daemon has gone or is back.
func (c *conversation) linked(s nats.Status) {
	if gone := s != nats.CONNECTED; gone == c.away {
		return
	}
	if c.away = !c.away; c.away {
		c.aside("The daemon is gone. Nothing is lost; waiting for it to come back (Ctrl-C leaves).")
		return
	}
	c.aside("It is back.")
	c.prompt()
}

// stillOpen tells, once a message, what takes so long.
func (c *conversation) stillOpen(ctx context.Context) {
	if len(c.open) == 0 || len(c.ask.docket.open) > 0 || c.longTold || c.away || c.stream.showing() {
		return
	}
	c.longTold = true
	text, _ := c.waitsFor(ctx, c.last)
	c.aside(text)
}

// whileAway shows what was answered since the person last looked, and counts what is still open. It returns the cursor
// up to which all is known.
func (c *conversation) whileAway(ctx context.Context) (last uint64, err error) {
	last, known := c.seen()
	newest, err := c.desk.conn.Journal().Last(ctx, c.session())
	if err != nil {
		return 0, err
	}
	if last > newest { // it was seen in a journal that is gone
		last, known = 0, false
	}
	if !known { // the whole past would be news; but what comes from now on is, even to who leaves before
		c.remember(newest)
	}
	err = c.desk.conn.Replay(ctx, bus.ReplayOptions{Session: c.session(), From: last + 1}, func(e envelope.Event) error {
		last = e.Cursor
		if known || e.Cursor > newest {
			c.happened(e)
			return nil
		}
		c.fold(e)
		return nil
	})
	c.over()
	c.last = last
	c.stillAsked(ctx)
	if n := len(c.open); err == nil && n > 0 {
		fmt.Fprintf(c.err, "%d sent earlier, without an answer yet\n", n)
	}
	return last, err
}

// fold keeps the messages that have no outcome, and the approvals that are open.
func (c *conversation) fold(e envelope.Event) {
	c.ask.docket.fold(e)
	if isAsked(e.Body) {
		c.open[e.ID] = true
	}
	if _, ok := e.Body.(turnv1.SessionDeleted); ok {
		clear(c.open)
	}
	for _, id := range answersOf(e.Body) {
		delete(c.open, id)
		c.stopping = false
	}
}

// happened shows an event, where it is for the person.
func (c *conversation) happened(e envelope.Event) {
	c.fold(e)
	switch b := e.Body.(type) {
	case messagev1.Received:
		if !c.mine[e.ID] {
			c.others(b)
		}
	case turnv1.Stepped:
		if b.Turn == c.stream.turn {
			c.stream.stepped()
		}
	case turnv1.Completed:
		c.over()
		if c.stream.turn != b.Turn {
			c.stream.begin(b.Turn)
		}
		c.stream.finish(b.Text)
		if text := standIn(b); text != "" {
			c.aside(text)
		}
	case turnv1.Failed:
		c.stream.ended(b.Turn)
		c.aside(b.Text)
	case turnv1.Cancelled:
		c.stream.ended(b.Turn)
		c.aside(cancelled(b))
	case turnv1.SessionReset:
		c.aside(cmp.Or(b.Text, "A new beginning."))
	case noticev1.Posted:
		c.aside(b.Text)
	case turnv1.SessionConfigured:
		c.aside(b.Text)
	case turnv1.SessionCompacted:
		if b.By != "" {
			c.aside(b.Text)
		}
	case turnv1.CompactionFailed:
		if b.By != "" {
			c.aside(b.Text)
		}
	case approvalv1.Event:
		c.approval(b)
	}
	if isNews(e.Body) {
		c.remember(e.Cursor)
		c.prompt()
	}
}

// cancelled is what a person is told of it.
func cancelled(b turnv1.Cancelled) string {
	if b.Text != "" {
		return b.Text
	}
	return "Stopped."
}

// others shows what was asked elsewhere, so that its answer makes sense.
func (c *conversation) others(m messagev1.Received) {
	c.stream.end()
	c.over()
	on, off := "", ""
	if c.colour(c.errTTY) {
		on, off = dim, plain
	}
	fmt.Fprintf(c.rawErr, "%s%s: %s%s\n", on, forTerminal(m.From.ID), forTerminal(m.Text), off)
}

func (c *conversation) aside(text string) {
	c.stream.end()
	c.over()
	fmt.Fprintln(c.err, forTerminal(text))
}

// delta shows a piece of an answer.
func (c *conversation) delta(d turns.Delta) {
	c.long.Reset(longWait)
	if c.stream.turn != d.Turn && c.open[strings.TrimSuffix(d.Turn, "/t")] {
		c.over()
		c.stream.begin(d.Turn)
	}
	c.stream.delta(d)
}
