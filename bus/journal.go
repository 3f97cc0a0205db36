package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
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

// Stamp fills what every new event needs and the caller left empty: ID, Source and Time (UTC).
func (j *Journal) Stamp(e *envelope.Event) {
	if e.ID == "" {
		e.ID = nuid.Next()
	}
	if e.Source == "" {
		e.Source = j.c.service + "/" + j.c.instance
	}
	if e.Time.IsZero() {
		e.Time = time.Now().UTC().Round(0)
	}
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
	ack, err := j.publish(ctx, e, body, "")
	if err != nil {
		return 0, err
	}
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
	msgID := string(e.Session) + "|" + envelope.EscapeValue(e.Key)
	for range factTries {
		ack, err := j.publish(ctx, e, body, msgID)
		if err == nil {
			return ack.Sequence, nil
		}
		var c *Conflict
		if !errors.As(err, &c) {
			return 0, err
		}
		if e.Prev = c.Last; !c.Known {
			if e.Prev, err = j.Last(ctx, e.Session); err != nil {
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

func (j *Journal) encode(ctx context.Context, e envelope.Event) (payload, error) {
	data, err := json.Marshal(e.Body)
	if err != nil {
		return payload{}, fmt.Errorf("encode %s: %w", e.Type(), err)
	}
	if len(data) <= ClaimCheckSize {
		return payload{data: data}, nil
	}
	digest, err := j.c.putBlob(ctx, e.Session, data)
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

// ErrNoEvent says that the journal has no event at a cursor: never, not yet on this server, or no longer.
var ErrNoEvent = errors.New("no event at this cursor")

// Get reads the event at a cursor. A miss is repeated at the stream's leader before it counts, as a follower may lag.
func (j *Journal) Get(ctx context.Context, cursor uint64) (envelope.Event, error) {
	if r, ok := j.c.recent.get(cursor); ok {
		if r.subject == "" {
			return r.event, nil
		}
		return j.c.news(ctx, r.subject, r.header, r.data, cursor)
	}
	req := strconv.AppendUint([]byte(`{"seq":`), cursor, 10)
	m, err := j.c.request(ctx, "$JS.API.DIRECT.GET."+subject.Journal, append(req, '}'))
	if err != nil {
		return envelope.Event{}, fault.New(fault.Unavailable, "read event %d: %w", cursor, err)
	}
	if status := m.Header.Get("Status"); status == "" {
		return j.c.news(ctx, m.Header.Get(jetstream.SubjectHeader), m.Header, m.Data, cursor)
	}
	raw, err := j.leaderGet(ctx, leaderRequest{Seq: cursor})
	if err != nil {
		return envelope.Event{}, fmt.Errorf("read event %d: %w", cursor, err)
	}
	h, err := nats.DecodeHeadersMsg(raw.Header)
	if err != nil {
		return envelope.Event{}, fmt.Errorf("read event %d: %w", cursor, err)
	}
	return j.c.decode(ctx, raw.Subject, h, raw.Data, cursor)
}

// Last is the cursor of the session's last event, asked of the stream's leader; 0 when it has none.
func (j *Journal) Last(ctx context.Context, s session.ID) (uint64, error) {
	raw, err := j.leaderGet(ctx, leaderRequest{LastFor: subject.OfSession(s)})
	if errors.Is(err, ErrNoEvent) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last event of %s: %w", s, err)
	}
	return raw.Seq, nil
}

type leaderRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
}

type leaderMessage struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Header  []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

// leaderGet is $JS.API.STREAM.MSG.GET: slower than a direct get, but answered by the leader alone.
func (j *Journal) leaderGet(ctx context.Context, req leaderRequest) (*leaderMessage, error) {
	var resp struct {
		Message *leaderMessage      `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := j.c.api(ctx, "STREAM.MSG.GET."+subject.Journal, req, &resp); err != nil {
		return nil, err
	}
	switch {
	case resp.Error != nil && resp.Error.Code == 404:
		return nil, ErrNoEvent
	case resp.Error != nil:
		return nil, fault.New(fault.Unavailable, "%w", resp.Error)
	case resp.Message == nil:
		return nil, fault.New(fault.Unavailable, "an empty answer from the journal")
	}
	return resp.Message, nil
}

// Usage says how full the journal is.
type Usage struct {
	Messages uint64
	Bytes    uint64
	MaxBytes uint64 // 0: no limit
	First    uint64 // cursors
	Last     uint64
}

// Full is the share of MaxBytes that is used, 0 to 1.
func (u Usage) Full() float64 {
	if u.MaxBytes == 0 {
		return 0
	}
	return float64(u.Bytes) / float64(u.MaxBytes)
}

// Usage asks how full the journal is.
func (j *Journal) Usage(ctx context.Context) (Usage, error) {
	var resp struct {
		Config struct {
			MaxBytes int64 `json:"max_bytes"`
		} `json:"config"`
		State jetstream.StreamState `json:"state"`
		Error *jetstream.APIError   `json:"error"`
	}
	if err := j.c.api(ctx, "STREAM.INFO."+subject.Journal, struct{}{}, &resp); err != nil {
		return Usage{}, fmt.Errorf("usage of the journal: %w", err)
	}
	if resp.Error != nil {
		return Usage{}, fault.New(fault.Unavailable, "usage of the journal: %w", resp.Error)
	}
	u := Usage{Messages: resp.State.Msgs, Bytes: resp.State.Bytes, First: resp.State.FirstSeq, Last: resp.State.LastSeq}
	if resp.Config.MaxBytes > 0 {
		u.MaxBytes = uint64(resp.Config.MaxBytes)
	}
	return u, nil
}

// api asks the JetStream API; verb is what follows $JS.API. in its subject.
func (c *Conn) api(ctx context.Context, verb string, req, resp any) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	m, err := c.request(ctx, "$JS.API."+verb, b)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return fault.New(fault.Timeout, "%s: %w", strings.ToLower(verb), err)
	case err != nil:
		return fault.New(fault.Unavailable, "%s: %w", strings.ToLower(verb), err)
	}
	return json.Unmarshal(m.Data, resp)
}

// request is a request that ends: by ctx, or after requestTimeout when ctx has no deadline.
func (c *Conn) request(ctx context.Context, subj string, data []byte) (*nats.Msg, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	return c.nc.RequestWithContext(ctx, subj, data)
}
