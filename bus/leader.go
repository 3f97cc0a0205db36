package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// A direct get is answered by any copy of a stream, and one that is not the leader's may lag behind what was acknowledged: by a
// moment as a rule, by more after a fault. What it has is good; that it has nothing more proves nothing. So wherever an answer of
// "nothing" decides something, the leader is asked before it counts. With one copy that is one question more, at the end of a
// reading.

type leaderRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"` // the first one from Seq on
}

type leaderMessage struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

func (m leaderMessage) raw() (*jetstream.RawStreamMsg, error) {
	raw := &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Seq, Data: m.Data, Time: m.Time}
	if len(m.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", m.Seq, err)
		}
		raw.Header = h
	}
	return raw, nil
}

// leaderGet is $JS.API.STREAM.MSG.GET: slower than a direct get, but answered by the leader alone. Errors: ErrNoEvent.
func (c *Conn) leaderGet(ctx context.Context, stream string, req leaderRequest) (*leaderMessage, error) {
	var resp struct {
		Message *leaderMessage      `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := c.api(ctx, "STREAM.MSG.GET."+stream, req, &resp); err != nil {
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

// page reads messages of a stream from a sequence on, at most n, as many as come at once; filter "" is all. None says that the
// leader has none, either.
func (c *Conn) page(ctx context.Context, stream, filter string, from uint64, n int) ([]*jetstream.RawStreamMsg, error) {
	opts := []jetstreamext.GetBatchOpt{jetstreamext.GetBatchSeq(from)}
	if filter != "" {
		opts = append(opts, jetstreamext.GetBatchSubject(filter))
	}
	msgs, err := c.batch(ctx, stream, n, opts...)
	if err != nil || len(msgs) > 0 {
		return msgs, err
	}
	if filter == "" {
		filter = ">"
	}
	next, err := c.leaderGet(ctx, stream, leaderRequest{Seq: from, NextFor: filter})
	if errors.Is(err, ErrNoEvent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := next.raw()
	return []*jetstream.RawStreamMsg{raw}, err
}

// lastTries are how often a copy that lags is asked again, with growing pauses: half a second in all.
const lastTries = 10

// lastsFor reads the last message of each subject that matches a filter, from a copy that has as much as the leader has.
func (c *Conn) lastsFor(ctx context.Context, stream, filter string) ([]*jetstream.RawStreamMsg, error) {
	last := uint64(0)
	newest, err := c.leaderGet(ctx, stream, leaderRequest{LastFor: filter})
	switch {
	case errors.Is(err, ErrNoEvent):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for try := range lastTries {
		var msgs []*jetstream.RawStreamMsg
		if msgs, last, err = c.lasts(ctx, stream, filter); err != nil || last >= newest.Seq {
			return msgs, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Duration(try+1) * lastPause):
		}
	}
	return nil, fault.New(fault.Unavailable, "the copy of %s that answers is at %d, its leader at %d", stream, last, newest.Seq)
}

const lastPause = 10 * time.Millisecond

func (c *Conn) lasts(ctx context.Context, stream, filter string) (msgs []*jetstream.RawStreamMsg, last uint64, err error) {
	got, err := jetstreamext.GetLastMsgsFor(ctx, c.js, stream, []string{filter})
	if err != nil {
		return nil, 0, fault.New(fault.Unavailable, "%w", err)
	}
	for m, err := range got {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			break
		}
		if err != nil {
			return nil, 0, fault.New(fault.Unavailable, "%w", err)
		}
		if err := placed(m); err != nil {
			return nil, 0, fault.New(fault.Internal, "%w", err)
		}
		msgs, last = append(msgs, m), max(last, m.Sequence)
	}
	return msgs, last, nil
}
