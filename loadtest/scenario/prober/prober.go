// Package prober looks for ever whether a running jetclaw keeps its promises, as one of its users: over HTTP, in sessions of its own.
//
// One attempt is a message under a key of its own, posted until it is accepted; its reply; and the session's events from the cursor that
// the prober has reached to the message's answer. What it finds has one of these kinds:
//
//	send      the message was not accepted in time, or was refused
//	reply     there is no final reply in time, or it cannot be asked for
//	failed    the reply is one that tells of a failure
//	content   the reply is another one than the model's to this message
//	events    the events cannot be read, or do not have the message and its answer in time
//	order     an event does not stand behind the one that it names as the one before, or comes before what causes it
//	doubled   a message or an answer is there twice
//	text      the journal has another text than the one that was sent
//
// An attempt that goes wrong is over; the next one begins with a new message, and what still comes of the old one counts as late,
// which is no failure. Memory is bounded: each session keeps a cursor and the last few messages. The model has to repeat what it
// is told, as the offline model does.
package prober

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// Kind is a sort of failure.
type Kind string

// All sorts of failure.
const (
	Send    Kind = "send"
	Reply   Kind = "reply"
	Failed  Kind = "failed"
	Content Kind = "content"
	Events  Kind = "events"
	Order   Kind = "order"
	Doubled Kind = "doubled"
	Text    Kind = "text"
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Send, Reply, Failed, Content, Events, Order, Doubled, Text} }

// Failure is what one attempt found wrong.
type Failure struct {
	Kind Kind
	Err  error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

// Unwrap is why.
func (f *Failure) Unwrap() error { return f.Err }

func wrong(k Kind, format string, args ...any) *Failure {
	return &Failure{k, fmt.Errorf(format, args...)}
}

// Config of a prober.
type Config struct {
	Client   *client.Client
	Run      string        // in every key and name of a session; of [0-9a-z]
	Sessions int           // that write at the same time
	Every    time.Duration // from one attempt of a session to the next, at the least
	Patience time.Duration // for each of the three parts of an attempt
	Told     func(session string, attempt int, err error)
}

const retry = 200 * time.Millisecond

// Prober runs, and knows what it has found.
type Prober struct {
	c     Config
	stats stats
}

// New makes a prober.
func New(c Config) *Prober {
	return &Prober{c: c, stats: stats{began: time.Now(), failures: map[Kind]uint64{}}}
}

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range p.c.Sessions {
		all.Go(func() { p.session(ctx, i) })
	}
	all.Wait()
}

func (p *Prober) session(ctx context.Context, i int) {
	s := &session{c: p.c, number: i, name: fmt.Sprintf("prober-%s-%d", p.c.Run, i)}
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		err := s.attempt(ctx, n)
		if ctx.Err() != nil {
			return // it was cut off, and says nothing
		}
		p.stats.add(time.Since(began), s.late, err)
		s.late = 0
		if p.c.Told != nil && err != nil {
			p.c.Told(s.name, n, err)
		}
		pause(ctx, p.c.Every-time.Since(began))
	}
}

// session is one conversation, which nobody else takes part in.
type session struct {
	c      Config
	number int
	name   string
	cursor uint64 // all up to it was read; 0: nothing yet
	// chained: the event at the cursor is the last one of the session that was read, so that the next one has to name it.
	chained bool
	sent    []sent // the last ones, the newest at the end
	late    uint64 // messages and answers of attempts that were over, since it was asked last
}

// sent is a message and what was seen of it.
type sent struct {
	id, text           string
	received, answered bool
}

// remembered is how many messages a session knows still: what comes of older ones would not be recognised.
const remembered = 64

func (s *session) attempt(ctx context.Context, n int) error {
	m := marker.New(s.c.Run, s.number, n)
	text := m + " do you hear me?"
	a, err := s.send(ctx, client.Message{Session: s.name, Key: m, Text: text})
	if err != nil {
		return err
	}
	if s.cursor == 0 && a.Cursor > 0 {
		s.cursor = a.Cursor - 1
	}
	_, id, _ := strings.Cut(a.ID, "~")
	s.sent = append(s.sent, sent{id: id, text: text})
	s.sent = s.sent[max(0, len(s.sent)-remembered):]
	if err := s.reply(ctx, a, m); err != nil {
		return err // the events are looked at by the next attempt: they may have no answer
	}
	return s.read(ctx, id)
}

// send posts until the message is accepted: the key makes it one message.
func (s *session) send(ctx context.Context, msg client.Message) (client.Accepted, error) {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	for {
		a, err := s.c.Client.Send(ctx, msg)
		var status *client.StatusError
		switch {
		case err == nil:
			return a, nil
		case errors.As(err, &status) && status.Status < 500 && status.Status != 429:
			return a, wrong(Send, "%s was refused: %w", msg.Key, err)
		}
		if !pause(ctx, retry) {
			return a, wrong(Send, "%s was not accepted within %s: %w", msg.Key, s.c.Patience, err)
		}
	}
}

func (s *session) reply(ctx context.Context, a client.Accepted, m string) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	var last error
	for {
		r, err := s.c.Client.Wait(ctx, a.ID, s.c.Patience)
		switch {
		case err == nil && r.Status == "completed" && marker.First(r.Text) == m:
			return nil
		case err == nil && r.Status == "completed":
			return wrong(Content, "the reply to %s is %.200q", m, r.Text)
		case err == nil && r.Status != "pending":
			return wrong(Failed, "the reply to %s: %s %.200q", m, r.Status, r.Text)
		case err == nil:
			last = fmt.Errorf("it is %s still", r.Status)
		case ctx.Err() == nil:
			last = err
		}
		if !pause(ctx, retry) {
			return wrong(Reply, "no reply to %s, accepted as %s, within %s: %w", m, a.ID, s.c.Patience, errors.Join(last, context.Cause(ctx)))
		}
	}
}

func (s *session) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.c.Patience)
}

// pause is false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(0, d))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
