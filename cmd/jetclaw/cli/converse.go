package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// converse talks until the person leaves. What is shown comes from the journal, so that answers to messages of another
// terminal, or of yesterday, are shown as well.
func (t *talk) converse(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conversation{talk: t, open: map[string]bool{}, mine: map[string]bool{}, long: time.NewTimer(longWait)}
	defer c.long.Stop()
	lines, giveBack, err := c.lines()
	if err != nil {
		return err
	}
	defer func() {
		c.stream.end()
		c.over()
		err = errors.Join(err, giveBack())
	}()
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
	link := t.desk.conn.NATS().StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	defer t.desk.conn.NATS().RemoveStatusListener(link)
	c.caughtUp = true
	c.raise()
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
			c.delta(d)
		case e := <-events:
			c.happened(e)
		case status := <-link:
			c.linked(status)
		case text := <-t.notes:
			c.aside("note: " + text)
			c.prompt()
		case <-c.long.C:
			c.stillOpen(ctx)
		case <-c.ask.ripe:
			c.ripened()
		case <-followed:
			return lost
		case sig := <-t.interrupts:
			if sig != os.Interrupt || len(c.open) == 0 || c.stopping || !t.desk.conn.NATS().IsConnected() {
				return errors.Join(c.leave(), endedBy(sig))
			}
			if err := c.stop(ctx); err != nil {
				return err
			}
		}
	}
}

// endedBy is the end by a signal, as a shell would tell it. Ctrl-C is the ordinary way to leave.
func endedBy(sig os.Signal) error {
	if s, ok := sig.(syscall.Signal); ok && s != syscall.SIGINT {
		return &toldError{128 + int(s)}
	}
	return nil
}

// lines reads what is typed: with an editor where there is a terminal to show it on.
func (c *conversation) lines() (_ <-chan string, giveBack func() error, err error) {
	in, ok := c.in.(*os.File)
	kind, _ := c.lookup("TERM")
	if !ok || !c.inTTY || !c.errTTY || kind == "dumb" {
		return plainLines(c.in), func() error { return nil }, nil
	}
	interrupt := func() {
		select {
		case c.interrupts <- os.Interrupt:
		default:
		}
	}
	if c.editor, err = newEditor(in, c.rawErr, interrupt); err != nil {
		return nil, nil, err
	}
	signal.Notify(c.interrupts, syscall.SIGTERM, syscall.SIGHUP) // a terminal is never left in raw mode
	s := *c.shell
	s.rawErr, s.err = c.editor, told{s.secrets.Writer(c.editor)}
	if s.outTTY {
		s.out = c.editor
		c.stream.screen = s.newScreen(c.editor)
	}
	before := c.shell
	c.shell = &s
	return c.editor.lines, func() error {
		c.shell = before
		return c.editor.Close()
	}, nil
}

// sequences are what terminals are driven by, and what keys send that are no characters.
var sequences = regexp.MustCompile(`\x1b(\[[0-?]*[\x20-\x2f]*[\x40-\x7e]|O.)?`)

// plainLines reads lines without an editor. The goroutine ends with the input.
func plainLines(r io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxStdin)
		for in.Scan() {
			out <- forTerminal(sequences.ReplaceAllString(in.Text(), ""))
		}
	}()
	return out
}
