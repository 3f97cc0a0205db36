package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
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

// Conflict says that the session has news: the compare-and-set lost.
type Conflict struct {
	Last  uint64 // the session's last cursor; meaningful when Known
	Known bool   // error 10164 (a replicated stream, writes in flight) comes without the number
}

func (c *Conflict) Error() string {
	if !c.Known {
		return "the session has news"
	}
	return fmt.Sprintf("the session has news up to cursor %d", c.Last)
}

// Server error codes of a lost compare-and-set, and of a stream that has no room.
const (
	codeWrongLast         jetstream.ErrorCode = 10071
	codeWrongLastConstant jetstream.ErrorCode = 10164
	codeStoreFailed       jetstream.ErrorCode = 10077 // "maximum bytes exceeded" of DiscardNew
	codeNoResources       jetstream.ErrorCode = 10023
	codeStorageExceeded   jetstream.ErrorCode = 10047
)

var lastSequence = regexp.MustCompile(`wrong last sequence: (\d+)`)

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
	ack, err := j.publish(ctx, e, body, "")
	if err != nil {
		j.c.hooks.Appended(e, began, err)
		return 0, err
	}
	e.Cursor = ack.Sequence
	j.stored(e, began)
	return ack.Sequence, nil
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
		ack, err := j.publish(ctx, e, body, msgID)
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

// Settle waits before another try when the conflict came without a number: a write to the session is then under way and not yet
// agreed on, and no new prev helps before it is. That may be one's own whose answer was lost, in a session where nothing else goes on,
// and lasts as long as the copies need to agree. The wait is by chance, the longer the more often: who collides at once with the same
// others does so again. With a number it returns at once.
func (c *Conflict) Settle(ctx context.Context, try int) error {
	if c.Known {
		return nil
	}
	longest := min(time.Millisecond<<min(try, 10), longestSettle)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rand.N(longest)):
		return nil
	}
}

const longestSettle = 400 * time.Millisecond

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

func (j *Journal) publish(ctx context.Context, e envelope.Event, body payload, msgID string) (*jetstream.PubAck, error) {
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
	ack, err := j.c.js.PublishMsg(ctx, msg)
	if err != nil {
		return nil, publishError(e, err)
	}
	if !ack.Duplicate && body.blob == "" { // a duplicate is stored with another prev
		j.c.recent.put(ack.Sequence, recent{subject: msg.Subject, header: h, data: body.data})
	}
	return ack, nil
}

// ErrClosed says that the connection was closed for good: what failed with it cannot succeed later.
var ErrClosed = nats.ErrConnectionClosed

func publishError(e envelope.Event, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeWrongLast, codeWrongLastConstant:
			m := lastSequence.FindStringSubmatch(api.Description)
			if m == nil {
				return &Conflict{}
			}
			n, err := strconv.ParseUint(m[1], 10, 64)
			return &Conflict{Last: n, Known: err == nil}
		case codeStoreFailed, codeNoResources, codeStorageExceeded:
			return fault.New(fault.Full, "the journal has no room (%s): free disk space or raise bus.max_bytes", api.Description)
		}
		return fault.New(fault.Unavailable, "append %s to %s: %w", e.Type(), e.Session, err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("append %s: %w", e.Type(), err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fault.New(fault.Timeout, "append %s to %s: no answer from the journal: %w", e.Type(), e.Session, err)
	}
	return fault.New(fault.Unavailable, "append %s to %s: %w", e.Type(), e.Session, err)
}
