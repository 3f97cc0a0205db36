package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// message is a message as it is stored.
type message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// storedAll reads the messages of some sequences from the leader, as a copy may lag. The questions are sent together and
// answered in their order; who is not there is the zero message.
func storedAll(ctx context.Context, admin *bus.Conn, stream string, from, to uint64) ([]message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fault.New(fault.Timeout, "no answer from the bus in %s", answerTime))
	defer cancel()
	nc := admin.NATS()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "%w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for seq := from; seq <= to; seq++ {
		question := fmt.Appendf(nil, `{"seq":%d}`, seq)
		if err := nc.PublishRequest(gettingName+stream, fmt.Sprint(inbox, ".", seq), question); err != nil {
			return nil, fault.New(fault.Unavailable, "%w", err)
		}
	}
	got := make([]message, to-from+1)
	for range got {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fault.New(fault.Unavailable, "%w", err)
		}
		one, err := messageOf(m.Data)
		if err != nil {
			return nil, err
		}
		if one.Seq != 0 && (one.Seq < from || one.Seq > to) {
			return nil, fault.New(fault.Unavailable, "the server has answered with message %d, not one of %d to %d", one.Seq, from, to)
		}
		if one.Seq != 0 {
			got[one.Seq-from] = one
		}
	}
	return got, nil
}

// storedLast reads the last message of a subject; the zero message, when there is none.
func storedLast(ctx context.Context, admin *bus.Conn, stream, subj string) (message, error) {
	question, err := json.Marshal(struct {
		Last string `json:"last_by_subj"`
	}{subj})
	if err != nil {
		return message{}, err
	}
	m, err := ask(ctx, admin, gettingName+stream, question)
	if err != nil {
		return message{}, err
	}
	return messageOf(m.Data)
}

const gettingName = "$JS.API.STREAM.MSG.GET."

func messageOf(data []byte) (message, error) {
	var r struct {
		Message message `json:"message"`
	}
	err := answer(data, &r)
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && refused.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return message{}, nil
	}
	return r.Message, err
}

// subjectsOf are the subjects that a stream has messages of.
func subjectsOf(ctx context.Context, admin *bus.Conn, stream string) ([]string, error) {
	var all []string
	for {
		request := struct {
			Filter string `json:"subjects_filter"`
			Offset int    `json:"offset"`
		}{">", len(all)}
		var r struct {
			Total int `json:"total"`
			State struct {
				Subjects map[string]uint64 `json:"subjects"`
			} `json:"state"`
		}
		if err := api(ctx, admin, "STREAM.INFO."+stream, request, &r); err != nil {
			return nil, err
		}
		all = slices.AppendSeq(all, maps.Keys(r.State.Subjects))
		if len(r.State.Subjects) == 0 || len(all) >= r.Total {
			return all, nil
		}
	}
}
