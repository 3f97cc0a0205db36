package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ErrNoEvent says that the journal has no event at a cursor: never, not yet on this server, or no longer.
var ErrNoEvent = errors.New("no event at this cursor")

// Get reads the event at a cursor. A miss is repeated at the stream's leader before it counts, as a follower may lag. A
// message that is no event, which only corruption or a foreign hand can bring about, is read as one of an unknown body,
// so that what lies around it in its session can still be reached.
func (j *Journal) Get(ctx context.Context, cursor uint64) (envelope.Event, error) {
	if r, ok := j.c.recent.get(cursor); ok {
		if r.subject == "" {
			return r.event, nil
		}
		return j.c.news(ctx, r.subject, r.header, r.data, cursor)
	}
	subj, h, data, err := j.read(ctx, cursor)
	if err != nil {
		return envelope.Event{}, fmt.Errorf("read event %d: %w", cursor, err)
	}
	ev, err := j.c.news(ctx, subj, h, data, cursor)
	if !errors.Is(err, envelope.ErrEnvelope) {
		return ev, err
	}
	at, perr := subject.ParseEvent(subj)
	if perr != nil {
		return envelope.Event{}, err
	}
	prev, berr := j.Before(ctx, at.Session, cursor)
	if berr != nil {
		return envelope.Event{}, berr
	}
	return envelope.Event{Session: at.Session, Cursor: cursor, Prev: prev, Body: envelope.Unknown{Type: at.Kind(), Data: data, Err: err}}, nil
}

func (j *Journal) read(ctx context.Context, cursor uint64) (subj string, h nats.Header, data []byte, err error) {
	req := strconv.AppendUint([]byte(`{"seq":`), cursor, 10)
	m, err := j.c.request(ctx, "$JS.API.DIRECT.GET."+subject.Journal, append(req, '}'))
	if err != nil {
		return "", nil, nil, fault.New(fault.Unavailable, "%w", err)
	}
	if found(m.Header) {
		return own(m.Header, jetstream.SubjectHeader), m.Header, m.Data, nil
	}
	raw, err := j.c.leaderGet(ctx, subject.Journal, leaderRequest{Seq: cursor})
	if err != nil {
		return "", nil, nil, err
	}
	if len(raw.Header) > 0 {
		if h, err = nats.DecodeHeadersMsg(raw.Header); err != nil {
			return "", nil, nil, err
		}
	}
	return raw.Subject, h, raw.Data, nil
}

// Last is the cursor of the session's last event, asked of the stream's leader; 0 when it has none.
func (j *Journal) Last(ctx context.Context, s session.ID) (uint64, error) {
	raw, err := j.c.leaderGet(ctx, subject.Journal, leaderRequest{LastFor: subject.OfSession(s)})
	if errors.Is(err, ErrNoEvent) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last event of %s: %w", s, err)
	}
	return raw.Seq, nil
}

// Usage says how full the journal is.
type Usage struct {
	Messages uint64
	Bytes    uint64
	MaxBytes uint64 // 0: no limit
	First    uint64 // cursors
	Last     uint64
	Created  time.Time // of the stream: another one has another
}

// Full is the share of MaxBytes that is used, 0 to 1.
func (u Usage) Full() float64 {
	if u.MaxBytes == 0 {
		return 0
	}
	return float64(u.Bytes) / float64(u.MaxBytes)
}

// Usage asks how full the journal is.
func (j *Journal) Usage(ctx context.Context) (Usage, error) { return j.c.usage(ctx, subject.Journal) }

// FileUsage asks how full the object store is: attachments, and bodies of events that are too large for the journal.
func (c *Conn) FileUsage(ctx context.Context) (Usage, error) { return c.usage(ctx, blobStream) }

// streamInfo is what a stream's leader says of it.
type streamInfo struct {
	Config struct {
		MaxBytes int64             `json:"max_bytes"`
		Metadata map[string]string `json:"metadata"`
	} `json:"config"`
	State   jetstream.StreamState `json:"state"`
	Created time.Time             `json:"created"`
	Error   *jetstream.APIError   `json:"error"`
	Cluster struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string        `json:"name"`    // of the server
			Current bool          `json:"current"` // it has all that the leader has
			Offline bool          `json:"offline"`
			Active  time.Duration `json:"active"` // since the leader has heard from it
		} `json:"replicas"`
	} `json:"cluster"` // empty for a stream with one copy
}

// soon is how lately a leader must have heard from a copy for that one to follow no other: a copy that hears nothing waits for 4 s at
// least before it asks to be elected.
const soon = 3 * time.Second

// leads says whether nobody else can lead the stream: a majority of the copies, the leader's among them, was heard from lately.
func (i streamInfo) leads() bool {
	with := 1
	for _, r := range i.Cluster.Replicas {
		if !r.Offline && r.Active < soon {
			with++
		}
	}
	return 2*with > len(i.Cluster.Replicas)+1
}

// Current says whether what the journal's leader says now can be believed to be all. One that is cut off from the other servers does
// not know for seconds that it leads no more, and has none of what is acknowledged meanwhile. Who is about to say that
// something does not exist asks first, and looks once more; fault.Unavailable: ask again later.
func (j *Journal) Current(ctx context.Context) error {
	info, err := j.c.streamInfo(ctx, subject.Journal)
	if err != nil {
		return err
	}
	if !info.leads() {
		return fault.New(fault.Unavailable, "the NATS server that leads the journal is cut off from the others: what it has may not be all")
	}
	return nil
}

func (c *Conn) streamInfo(ctx context.Context, stream string) (streamInfo, error) {
	var resp streamInfo
	if err := c.api(ctx, "STREAM.INFO."+stream, struct{}{}, &resp); err != nil {
		return resp, fmt.Errorf("stream %s: %w", stream, err)
	}
	if resp.Error != nil {
		c.noteLeader(stream, resp.Error)
		return resp, fault.New(fault.Unavailable, "stream %s: %w", stream, resp.Error)
	}
	return resp, nil
}

func (c *Conn) usage(ctx context.Context, stream string) (Usage, error) {
	info, err := c.streamInfo(ctx, stream)
	return info.usage(), err
}

func (i streamInfo) usage() Usage {
	u := Usage{Messages: i.State.Msgs, Bytes: i.State.Bytes, First: i.State.FirstSeq, Last: i.State.LastSeq, Created: i.Created}
	if i.Config.MaxBytes > 0 {
		u.MaxBytes = uint64(i.Config.MaxBytes)
	}
	return u
}

// api asks the JetStream API for something that may be asked for twice; verb is what follows $JS.API. in its subject.
func (c *Conn) api(ctx context.Context, verb string, req, resp any) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	m, err := c.request(ctx, apiRoot+verb, b)
	return apiAnswer(verb, m, err, resp)
}

// command is api for what may be done once: its answer says whether it did anything.
func (c *Conn) command(ctx context.Context, verb string, req, resp any) error {
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	m, err := once(ctx, c, apiRoot+verb, func(ctx context.Context) (*nats.Msg, error) {
		return c.nc.RequestWithContext(ctx, apiRoot+verb, b)
	})
	return apiAnswer(verb, m, err, resp)
}

const apiRoot = "$JS.API."

func apiAnswer(verb string, m *nats.Msg, err error, resp any) error {
	if err != nil {
		return fault.New(unanswered(err), "%s: %w", strings.ToLower(verb), err)
	}
	return json.Unmarshal(m.Data, resp)
}

// request asks for something that may be asked for twice, see again.
func (c *Conn) request(ctx context.Context, subj string, data []byte) (*nats.Msg, error) {
	m, _, err := again(ctx, c, subj, func(ctx context.Context) (*nats.Msg, error) { return c.nc.RequestWithContext(ctx, subj, data) })
	return m, err
}
