package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Dead is a doorbell that was given up: nobody gets it any more. The event itself is in the journal as before.
type Dead struct {
	Seq        uint64 // in the stream DEAD
	Time       time.Time
	Stream     string
	Consumer   string
	Service    string // whose doorbell it was
	Cursor     uint64 // its sequence in Stream: of an event, the cursor; of a timer, nothing that can still be read
	Deliveries uint64
	Reason     string
	Session    session.ID // "" when that cannot be found out any more
	Kind       string     // of the event; "" for a timer, and when it cannot be read
}

// ErrNoDead says that there is no dead letter of that number.
var ErrNoDead = errors.New("no such dead letter")

// Dead calls fn for every doorbell that was given up, oldest first, until fn fails. Admin only.
func (c *Conn) Dead(ctx context.Context, fn func(Dead) error) error {
	u, err := c.usage(ctx, subject.Dead)
	if err != nil {
		return err
	}
	for next := max(u.First, 1); next <= u.Last; {
		msgs, err := c.page(ctx, subject.Dead, "", next, replayBatch)
		if err != nil {
			return fmt.Errorf("read the dead letters from %d: %w", next, err)
		}
		if len(msgs) == 0 {
			return nil
		}
		for _, m := range msgs {
			next = m.Sequence + 1
			d, err := c.dead(ctx, m)
			if err != nil {
				return err
			}
			if err := fn(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeadCount is how many doorbells were given up and not dealt with since.
func (c *Conn) DeadCount(ctx context.Context) (uint64, error) {
	u, err := c.usage(ctx, subject.Dead)
	return u.Messages, err
}

// DropDead removes a dead letter. Admin only.
func DropDead(ctx context.Context, admin *Conn, seq uint64) error {
	there, err := admin.deleteMessage(ctx, subject.Dead, seq, false)
	switch {
	case err != nil:
		return fmt.Errorf("drop dead letter %d: %w", seq, err)
	case !there:
		return fault.New(fault.NotFound, "%d: %w", seq, ErrNoDead)
	}
	return nil
}

// Stored reads the message at a cursor as it lies there, be it an event or not. Errors: ErrNoEvent.
func (j *Journal) Stored(ctx context.Context, cursor uint64) (Raw, error) {
	subj, h, data, err := j.read(ctx, cursor)
	if err != nil {
		return Raw{}, fmt.Errorf("read message %d: %w", cursor, err)
	}
	return Raw{Subject: subj, Header: h, Data: data, Cursor: cursor}, nil
}

// advisory is what the server tells of a doorbell that was given up; of the two kinds, one has no reason.
type advisory struct {
	Time       time.Time `json:"timestamp"`
	Stream     string    `json:"stream"`
	Consumer   string    `json:"consumer"`
	Cursor     uint64    `json:"stream_seq"`
	Deliveries uint64    `json:"deliveries"`
	Reason     string    `json:"reason"`
}

func (c *Conn) dead(ctx context.Context, m *jetstream.RawStreamMsg) (Dead, error) {
	d := Dead{Seq: m.Sequence, Time: m.Time}
	var a advisory
	if err := json.Unmarshal(m.Data, &a); err != nil {
		d.Reason = "an advisory that cannot be read: " + err.Error()
		return d, nil //nolint:nilerr // it can still be listed and dropped
	}
	d.Stream, d.Consumer, d.Cursor, d.Deliveries, d.Reason = a.Stream, a.Consumer, a.Cursor, a.Deliveries, a.Reason
	if !a.Time.IsZero() {
		d.Time = a.Time
	}
	if d.Reason == "" && strings.Contains(m.Subject, ".MAX_DELIVERIES.") {
		d.Reason = fmt.Sprintf("delivered %d times and never settled", a.Deliveries)
	}
	if a.Stream != subject.Journal {
		d.Service = strings.TrimPrefix(a.Consumer, TimerConsumer(""))
		d.Session, d.Reason = timerReason(d.Reason)
		return d, nil
	}
	d.Service = subject.ExecutorService(a.Consumer)
	ev, err := c.Journal().Get(ctx, a.Cursor)
	switch {
	case errors.Is(err, ErrNoEvent), errors.Is(err, envelope.ErrEnvelope): // purged with its session, or of none
	case err != nil:
		return d, err
	default:
		d.Session, d.Kind = ev.Session, ev.Kind()
	}
	return d, nil
}

// A timer is gone from its stream once it was given up, and the advisory does not name it: its reason has to.
const timerOf = "timer of "

func reasonOfTimer(s session.ID, reason string) string { return timerOf + string(s) + ": " + reason }

func timerReason(reason string) (session.ID, string) {
	id, rest, ok := strings.Cut(strings.TrimPrefix(reason, timerOf), ": ")
	s, err := session.Parse(id)
	if !ok || err != nil || !strings.HasPrefix(reason, timerOf) {
		return "", reason
	}
	return s, rest
}
