package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ClaimRef names a claim: the session and the cursor of the claiming event.
type ClaimRef struct {
	Session session.ID `json:"session"`
	Claim   uint64     `json:"claim"`
}

// Answer is what became of an ask.
type Answer int

const (
	Silent Answer = iota // no answer in time, or trouble on the way: proves nothing
	Busy                 // the worker is at it
	Free                 // the worker lives and does not work on it
	Absent               // nobody listens there
)

const askTimeout = 500 * time.Millisecond

// settling is how long after a reconnect nobody is taken for dead: everybody else has lost the bus too, and tries again
// every lastReconnect, ±30 %.
const settling = 2 * lastReconnect

// AskWorker asks a worker of the connection's service whether it works on a claim.
func (c *Conn) AskWorker(ctx context.Context, instance string, ref ClaimRef) Answer {
	b, err := json.Marshal(ref)
	if err != nil {
		return Silent
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	at := subject.Worker(c.service, instance)
	m, err := once(ctx, c, at, func(ctx context.Context) (*nats.Msg, error) { return c.nc.RequestWithContext(ctx, at, b) })
	switch {
	case errors.Is(err, nats.ErrNoResponders) && c.justBack(settling):
		return Silent // the bus was away, and the other one is perhaps still on its way back
	case errors.Is(err, nats.ErrNoResponders):
		return Absent
	case err != nil:
		return Silent
	case string(m.Data) == "busy":
		return Busy
	case string(m.Data) == "free":
		return Free
	}
	return Silent
}

// Nudge tells a worker that an event (its cursor in ref.Claim) closed a claim of its, so that it need not find out at its
// next append. Lossy.
func (c *Conn) Nudge(instance string, ref ClaimRef) error {
	b, err := json.Marshal(ref)
	if err != nil {
		return err
	}
	return c.nc.Publish(subject.Worker(c.service, instance), b)
}

// AnswerWorkers answers asks with busy and passes nudges on, until ctx ends. It returns once subscribed.
func (c *Conn) AnswerWorkers(ctx context.Context, busy func(ClaimRef) bool, nudge func(ClaimRef)) error {
	return c.subscribe(ctx, []string{subject.Worker(c.service, c.instance)}, func(m *nats.Msg) {
		var ref ClaimRef
		if err := json.Unmarshal(m.Data, &ref); err != nil {
			c.log.Warn("unreadable ask", "error", err)
			return
		}
		if m.Reply == "" {
			nudge(ref)
			return
		}
		answer := "free"
		if busy(ref) {
			answer = "busy"
		}
		if err := m.Respond([]byte(answer)); err != nil {
			c.log.Warn("ask not answered", "error", fmt.Errorf("%s: %w", ref.Session, err))
		}
	})
}

// everyone is the name under which all workers of a service are told something: no instance is called so.
const everyone = "all"

// TellWorkers tells all workers of the connection's service something, this one included. Lossy.
func (c *Conn) TellWorkers(word string) error {
	return c.nc.Publish(subject.Worker(c.service, everyone), []byte(word))
}

// HearWorkers calls fn with what TellWorkers tells, one word after the other, until ctx ends. It returns once subscribed.
func (c *Conn) HearWorkers(ctx context.Context, fn func(word string)) error {
	return c.subscribe(ctx, []string{subject.Worker(c.service, everyone)}, func(m *nats.Msg) { fn(string(m.Data)) })
}
