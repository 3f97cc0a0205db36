package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// converse talks until the person leaves. What is shown comes from the journal, so that answers to messages of another
// terminal, or of yesterday, are shown as well.
func (t *talk) converse(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conversation{talk: t, open: map[string]bool{}}
	last, err := c.whileAway(ctx)
	if err != nil {
		return err
	}
	events := make(chan envelope.Event)
	var lost error
	followed := make(chan struct{}) // closed once lost says why nothing comes any more
	go func() {
		defer close(followed)
		lost = follow(ctx, t.desk.conn, bus.ReplayOptions{Session: t.session(), From: last + 1}, func(e envelope.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		cancel()
		<-followed
	}()
	lines, link := t.lines(), t.desk.conn.NATS().StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	c.prompt()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return c.leave()
			}
			if done, err := c.typed(ctx, line); done || err != nil {
				return err
			}
		case d := <-t.deltas:
			c.delta(d.Turn)
			t.stream.delta(d)
		case e := <-events:
			c.happened(e)
		case status := <-link:
			c.linked(status)
		case <-followed:
			return lost
		case <-t.interrupts:
			if len(c.open) == 0 || c.stopping || !t.desk.conn.NATS().IsConnected() {
				return c.leave()
			}
			if err := c.stop(ctx); err != nil {
				return err
			}
		}
	}
}

// linked tells that the daemon has gone or is back.
func (c *conversation) linked(s nats.Status) {
	if s == nats.CONNECTED {
		c.aside("It is back.")
		c.prompt()
		return
	}
	c.aside("The daemon is gone. Nothing is lost; waiting for it to come back (Ctrl-C leaves).")
}

// lines reads what is typed. The goroutine ends with the input; a read from a terminal cannot be called back, so that the
// last one ends with the process.
func (t *talk) lines() <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		in := bufio.NewScanner(t.in)
		in.Buffer(nil, maxStdin)
		for in.Scan() {
			out <- in.Text()
		}
	}()
	return out
}

// conversation is what is going on between a person and the session.
type conversation struct {
	*talk
	open     map[string]bool // messages without an outcome, by id
	stopping bool            // a stop was asked for and nothing has ended since
	prompted bool
}

func (c *conversation) prompt() {
	if c.inTTY && len(c.open) == 0 && !c.prompted {
		fmt.Fprint(c.err, "> ")
		c.prompted = true
	}
}

// over writes what comes by itself on a line of its own.
func (c *conversation) over() {
	if c.prompted {
		fmt.Fprintln(c.err)
		c.prompted = false
	}
}

func (c *conversation) leave() error {
	c.stream.end()
	c.over()
	if n := len(c.open); n > 0 {
		fmt.Fprintf(c.err, "%d without an answer yet; it will be here when you come back\n", n)
	}
	return nil
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
	if n := len(c.open); err == nil && n > 0 {
		fmt.Fprintf(c.err, "%d sent earlier, without an answer yet\n", n)
	}
	return last, err
}

// fold keeps the messages that have no outcome.
func (c *conversation) fold(e envelope.Event) {
	var answers []string
	switch b := e.Body.(type) {
	case messagev1.Received:
		c.open[e.ID] = true
	case turnv1.Completed:
		answers = b.Answers
	case turnv1.Failed:
		answers = b.Answers
	case turnv1.Cancelled:
		answers = b.Answers
	}
	for _, id := range answers {
		delete(c.open, id)
		c.stopping = false
	}
}

// happened shows an event, where it is for the person.
func (c *conversation) happened(e envelope.Event) {
	c.fold(e)
	switch b := e.Body.(type) {
	case turnv1.Completed:
		c.over()
		if c.stream.turn != b.Turn {
			c.stream.begin(b.Turn)
		}
		c.stream.finish(b.Text)
	case turnv1.Failed:
		c.aside(b.Text)
	case turnv1.Cancelled:
		c.aside("Stopped.")
	case turnv1.SessionReset:
		c.aside("A new beginning.")
	case noticev1.Posted:
		c.aside(b.Text)
	default:
		return
	}
	c.remember(e.Cursor)
	c.prompt()
}

func (c *conversation) aside(text string) {
	c.stream.end()
	c.over()
	fmt.Fprintln(c.err, forTerminal(text))
}

// delta makes ready for the answer of a turn that begins to speak.
func (c *conversation) delta(turn string) {
	if c.stream.turn != turn && c.open[strings.TrimSuffix(turn, "/t")] {
		c.over()
		c.stream.begin(turn)
	}
}

// typed does what a line says. done ends the conversation.
func (c *conversation) typed(ctx context.Context, line string) (done bool, err error) {
	c.prompted = false
	switch strings.TrimSpace(line) {
	case "":
		c.prompt()
		return false, nil
	case "/quit", "/exit":
		return true, c.leave()
	case "/help":
		fmt.Fprintln(c.err, "/new begins afresh, /stop stops an answer, /quit leaves; all else is for the agent")
		c.prompt()
		return false, nil
	case "/stop":
		return false, c.stop(ctx)
	case "/new":
		return false, c.asked(c.command(ctx, messagev1.New))
	}
	receipt, err := c.say(ctx, line)
	if err == nil {
		c.open[receipt.MessageID] = true
		return false, nil
	}
	return ctx.Err() != nil, c.asked(err)
}

func (c *conversation) stop(ctx context.Context) error {
	c.stopping = true
	return c.asked(c.command(ctx, messagev1.Stop))
}

// asked tells how a request ended. What it returns ends the conversation.
func (c *conversation) asked(err error) error {
	if errors.Is(err, errUnsure) {
		return err
	}
	if err != nil {
		fmt.Fprintln(c.err, err)
	}
	c.prompt()
	return nil
}
