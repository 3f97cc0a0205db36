package backup

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// answerTime bounds one question to the server. It may first have to finish what was sent before, on a slow disk.
const answerTime = time.Minute

// api asks JetStream. An error that the server answers is a *jetstream.APIError.
func api(ctx context.Context, admin *bus.Conn, verb string, request, response any) error {
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	reply, err := ask(ctx, admin, "$JS.API."+verb, data)
	if err != nil {
		return err
	}
	return answer(reply.Data, response)
}

func ask(ctx context.Context, admin *bus.Conn, subj string, data []byte) (*nats.Msg, error) {
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m, err := admin.NATS().RequestWithContext(asking, subj, data)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(fault.Timeout, "no answer from the bus in %s: %w", answerTime, err)
	}
	return nil, fault.New(fault.Unavailable, "%w", err)
}

// answer reads what the server has answered.
func answer(data []byte, response any) error {
	var refused struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &refused); err != nil {
		return fault.New(fault.Unavailable, "the server's answer cannot be read: %w", err)
	}
	if refused.Error != nil {
		return fault.New(fault.Unavailable, "%w", refused.Error)
	}
	if err := json.Unmarshal(data, response); err != nil {
		return fault.New(fault.Unavailable, "the server's answer cannot be read: %w", err)
	}
	return nil
}

// state is of a stream what matters here.
type state struct {
	Messages uint64 `json:"messages"`
	First    uint64 `json:"first_seq"`
	Last     uint64 `json:"last_seq"`
}

func stateOf(ctx context.Context, admin *bus.Conn, name string) (state, error) {
	var r struct {
		State state `json:"state"`
	}
	err := api(ctx, admin, "STREAM.INFO."+name, nil, &r)
	return r.State, err
}
