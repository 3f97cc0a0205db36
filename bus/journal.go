package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Journal appends to and reads from the stream of all events, as one service.
type Journal struct{ c *Conn }

// Journal is the journal as seen by the connection's service.
func (c *Conn) Journal() *Journal { return &Journal{c} }

// Server error codes of a lost compare-and-set, and of a stream that has no room.
const (
	codeWrongLast         jetstream.ErrorCode = 10071
	codeWrongLastConstant jetstream.ErrorCode = 10164
	codeInProcess         jetstream.ErrorCode = 10158 // a message of the same Nats-Msg-Id is not agreed on yet
	codeStoreFailed       jetstream.ErrorCode = 10077 // "maximum bytes exceeded" of DiscardNew
	codeNoResources       jetstream.ErrorCode = 10023
	codeStorageExceeded   jetstream.ErrorCode = 10047
)

// Stamp fills what every new event needs and the caller left empty: ID, Source and Time (UTC). Where traces are made it gives the
// event a traceparent of its own.
func (j *Journal) Stamp(e *envelope.Event) {
	if e.ID == "" {
		e.ID = nuid.Next()
	}
	if e.Source == "" {
		e.Source = j.c.service + "/" + j.c.instance
	}
	if e.Time.IsZero() {
		e.Time = j.c.Now().UTC().Round(0)
	}
	j.trace(e)
}

// Append stores e if e.Prev is still the last cursor of its session, and returns its cursor. Errors: *Conflict; a
// fault.Full when the journal has no room; fault.Timeout or fault.Unavailable, after which it is unknown whether e was
// stored (a retry must reuse e.ID and look for it after a conflict).
func (j *Journal) Append(ctx context.Context, e envelope.Event) (uint64, error) {
	j.Stamp(&e)
	body, err := j.encode(ctx, e)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if e.Cursor, err = j.place(ctx, e, body); err != nil {
		j.c.hooks.Appended(e, began, err)
		return 0, err
	}
	j.stored(e, began)
	return e.Cursor, nil
}

// place publishes e where it belongs. When that had to be repeated, a conflict may be with e itself, whose answer was lost.
func (j *Journal) place(ctx context.Context, e envelope.Event, body payload) (uint64, error) {
	repeated := false
	for try := 0; ; try++ {
		ack, twice, err := j.publish(ctx, e, body, "")
		if err == nil {
			return ack.Sequence, nil
		}
		c, lost := errors.AsType[*Conflict](err)
		if repeated = repeated || twice; !repeated || !lost {
			return 0, err
		}
		if c.Known {
			return j.find(ctx, e, c)
		}
		if err := c.Settle(ctx, try); err != nil {
			return 0, err
		}
	}
}

// find looks for e among what its session has behind e.Prev: its cursor, or c when it is not there.
func (j *Journal) find(ctx context.Context, e envelope.Event, c *Conflict) (uint64, error) {
	for at := c.Last; at > e.Prev; {
		ev, err := j.Get(ctx, at)
		if err != nil {
			return 0, fault.New(fault.Unavailable, "append %s to %s: whether it is stored: %w", e.Type(), e.Session, err)
		}
		if ev.ID == e.ID {
			return at, nil
		}
		at = ev.Prev
	}
	return 0, c
}

const factTries = 32

// AppendFact stores a fact from outside behind whatever the session has by then: it guesses prev and takes the right one
// from the error. The source key keeps a retry within the server's window from storing it twice; a caller whose key
// may come again later has to look for it in its own fold and use Append.
func (j *Journal) AppendFact(ctx context.Context, e envelope.Event, guess uint64) (uint64, error) {
	j.Stamp(&e)
	if e.Key == "" {
		e.Key = e.ID
	}
	e.Prev = guess
	body, err := j.encode(ctx, e)
	if err != nil {
		return 0, err
	}
	refers := body.blob != "" || len(filesOf(e.Body)) > 0
	msgID := string(e.Session) + "|" + envelope.EscapeValue(e.Key)
	began := time.Now()
	for try := range factTries {
		ack, _, err := j.publish(ctx, e, body, msgID)
		if err == nil {
			if e.Cursor = ack.Sequence; !ack.Duplicate {
				j.stored(e, began)
			}
			return ack.Sequence, nil
		}
		var c *Conflict
		if !errors.As(err, &c) {
			j.c.hooks.Appended(e, began, err)
			return 0, err
		}
		if err := c.Settle(ctx, try); err != nil {
			return 0, err
		}
		if e.Prev = c.Last; !c.Known {
			if e.Prev, err = j.Last(ctx, e.Session); err != nil {
				return 0, err
			}
		}
		if refers { // the session may have been deleted below the new prev, with what was put
			if body, err = j.encode(ctx, e); err != nil {
				return 0, err
			}
		}
	}
	return 0, fault.New(fault.Busy, "append to %s: it changed %d times meanwhile; try again", e.Session, factTries)
}

// payload is an encoded body, or a reference to it.
type payload struct {
	data []byte
	blob string // its digest in the object store; then data is empty
}

// maxNesting is how deep a body may be nested. encoding/json writes deeper ones than it reads (10,000), and an event that
// cannot be read would be as if it had never happened, again and again.
const maxNesting = 1000

func (j *Journal) encode(ctx context.Context, e envelope.Event) (payload, error) {
	data, err := json.Marshal(e.Body)
	if err != nil {
		return payload{}, fmt.Errorf("encode %s: %w", e.Type(), err)
	}
	if envelope.Nesting(data) > maxNesting {
		return payload{}, fault.New(fault.Invalid, "the body of %s is nested too deep to be read again", e.Type())
	}
	if err := j.c.holdFiles(ctx, e.Session, e.Body, e.Prev); err != nil {
		return payload{}, fmt.Errorf("files of %s: %w", e.Type(), err)
	}
	if len(data) <= ClaimCheckSize {
		return payload{data: data}, nil
	}
	digest, err := j.c.putBlob(ctx, e.Session, data, e.Prev)
	if err != nil {
		return payload{}, fmt.Errorf("store body of %s: %w", e.Type(), err)
	}
	return payload{blob: digest}, nil
}

// publish stores e if its prev is still right. twice says that this had to be repeated, and an error may be the repetition's.
func (j *Journal) publish(ctx context.Context, e envelope.Event, body payload, msgID string) (_ *jetstream.PubAck, twice bool, _ error) {
	h := nats.Header(envelope.HeaderOf(e))
	if body.blob != "" {
		h[envelope.HeaderBlob] = []string{body.blob}
	}
	h[jetstream.ExpectedLastSubjSeqHeader] = h[envelope.HeaderPrev]
	h[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{subject.OfSession(e.Session)}
	if msgID != "" {
		h[jetstream.MsgIDHeader] = []string{msgID}
	}
	msg := &nats.Msg{Subject: e.Subject(), Header: h, Data: body.data}
	if !j.c.depends.Load() {
		j.c.depends.Store(true)
	}
	ack, twice, err := j.c.publishAgain(ctx, msg)
	if err != nil {
		return nil, twice, publishError(e, err)
	}
	if !ack.Duplicate && body.blob == "" { // a duplicate is stored with another prev
		j.c.recent.put(ack.Sequence, recent{subject: msg.Subject, header: h, data: body.data})
	}
	return ack, twice, nil
}

// ErrClosed says that the connection was closed for good: what failed with it cannot succeed later.
var ErrClosed = nats.ErrConnectionClosed

func publishError(e envelope.Event, err error) error {
	if c, lost := conflictOf(err); lost {
		return c
	}
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeStoreFailed, codeNoResources, codeStorageExceeded:
			return fault.New(fault.Full, "the journal has no room (%s): free disk space or raise bus.max_bytes", api.Description)
		}
		return fault.New(fault.Unavailable, "append %s to %s: %w", e.Type(), e.Session, err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("append %s: %w", e.Type(), err)
	case unanswered(err) == fault.Timeout:
		return fault.New(fault.Timeout, "append %s to %s: no answer from the journal: %w", e.Type(), e.Session, err)
	}
	return fault.New(fault.Unavailable, "append %s to %s: %w", e.Type(), e.Session, err)
}
