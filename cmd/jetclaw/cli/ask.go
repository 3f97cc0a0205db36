package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake"
)

const (
	askAgain = 250 * time.Millisecond
	askWait  = 10 * time.Second // of one question for a reply
	askGrace = 2 * time.Second  // for its answer to arrive
	away     = 60 * time.Second // how long a jetclaw that has gone is waited for
)

// me is who talks in a terminal.
var me = messagev1.Sender{ID: "local"} //nolint:gochecknoglobals // a constant

// submission is intake.Request as this side writes it: its text is sent byte by byte, so that what is not UTF-8 is
// refused by the gate, on record, and not mended on the way.
type submission struct {
	Session session.ID       `json:"session"`
	From    messagev1.Sender `json:"from"`
	Text    rawText          `json:"text,omitempty"`
	Key     string           `json:"key"`
	Verb    messagev1.Verb   `json:"verb,omitempty"`
}

type rawText string

// MarshalJSON escapes what JSON requires and leaves all other bytes alone.
func (t rawText) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(t) {
		switch c := t[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return []byte(b.String()), nil
}

// desk talks to intake for one session.
type desk struct {
	conn    *bus.Conn
	session session.ID
	note    func(string) // tells the person why it takes longer
}

// say hands in a message. A jetclaw that is away for a moment is asked again, with the same key: once is enough.
func (d desk) say(ctx context.Context, text string) (intake.Receipt, error) {
	return d.submit(ctx, "submit", submission{Session: d.session, From: me, Text: rawText(text), Key: rand.Text()})
}

// command asks for something else than an answer.
func (d desk) command(ctx context.Context, verb messagev1.Verb) (intake.Receipt, error) {
	return d.submit(ctx, "control", submission{Session: d.session, From: me, Verb: verb, Key: rand.Text()})
}

func (d desk) submit(ctx context.Context, verb string, s submission) (receipt intake.Receipt, err error) {
	err = d.patiently(ctx, func() error {
		receipt, err = bus.Ask[intake.Receipt](ctx, d.conn, "intake", verb, s)
		return err
	})
	return receipt, err
}

// What a wait for a reply ends with: an answer, or the question to a person that has to be decided before it; or an answer only.
const (
	untilTold   = ""
	untilAnswer = "answer"
)

// reply waits until a message has its reply.
func (d desk) reply(ctx context.Context, message, until string) (intake.Reply, error) {
	back := d.conn.NATS().StatusChanged(nats.CONNECTED)
	defer d.conn.NATS().RemoveStatusListener(back)
	for {
		var r intake.Reply
		err := d.patiently(ctx, func() (err error) {
			r, err = d.askReply(ctx, message, until, back)
			return err
		})
		if err != nil || r.Status != "pending" && (until != untilAnswer || r.Status != "awaiting_approval") {
			return r, err
		}
	}
}

// errBack ends a question: whoever was asked has gone, and somebody is there again.
var errBack = errors.New("asked before the connection was lost")

// askReply asks once, and says that it is pending still when the question was lost with the connection.
func (d desk) askReply(ctx context.Context, message, until string, back <-chan nats.Status) (intake.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-back:
			cancel(errBack)
		case <-ctx.Done():
		}
	}()
	defer func() {
		cancel(nil)
		<-ended
	}()
	timed, stop := context.WithTimeout(ctx, askWait+askGrace)
	defer stop()
	request := intake.ReplyRequest{Session: string(d.session), MessageID: message, WaitMS: askWait.Milliseconds()}
	if until == untilAnswer {
		request.Until = untilAnswer
	}
	r, err := bus.Ask[intake.Reply](timed, d.conn, "intake", "reply", request)
	if err != nil && errors.Is(context.Cause(ctx), errBack) {
		return intake.Reply{Status: "pending"}, nil
	}
	return r, err
}

// lacks is why waiting is of no use: there is no journal. nil when there is, or nobody can say.
func (d desk) lacks(ctx context.Context, kind fault.Kind) error {
	if kind == fault.Busy || !d.conn.NATS().IsConnected() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if lacks, ok := errors.AsType[*bus.MissingError](d.conn.CheckJournal(ctx)); ok {
		return lacks
	}
	return nil
}

// patiently repeats what failed because nobody was there, for a while.
func (d desk) patiently(ctx context.Context, ask func() error) error {
	told := false
	for until := time.Now().Add(away); ; {
		err := ask()
		kind := fault.KindOf(err)
		if err == nil || ctx.Err() != nil || kind != fault.Unavailable && kind != fault.Timeout && kind != fault.Busy || time.Now().After(until) {
			return err
		}
		if !told {
			if lacks := d.lacks(ctx, kind); lacks != nil {
				return lacks
			}
			d.note("jetclaw does not answer; waiting up to " + strconv.Itoa(int(away.Seconds())) + " s for it")
			told = true
		}
		if err := pause(ctx, askAgain); err != nil {
			return err
		}
	}
}
