package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxQuestion = 4 << 10
	maxForm     = 64 << 10
	maxAsking   = 8 // questions of a server that wait for their turn
)

// elicit puts a question of the server to the person, one at a time. Only forms: pages to open are not offered.
func (s *Session) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	decline := &mcp.ElicitResult{Action: "decline"}
	p := req.Params
	if p == nil || p.URL != "" || p.Mode == "url" {
		return decline, nil
	}
	schema, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(schema) > maxForm || len(p.Message) > maxQuestion {
		return decline, nil // a form that cannot be shown
	}
	ctx, release := s.life.tie(ctx)
	defer release(nil)
	defer func() {
		s.rewind() // calls have their whole time again
		s.asking.Add(-1)
	}()
	if s.asking.Add(1) > maxAsking {
		return decline, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	action, content, err := s.o.Elicit(ctx, p.Message, schema)
	if err != nil {
		return nil, errors.New("the question could not be put") // why is none of the server's business
	}
	res := &mcp.ElicitResult{Action: action}
	switch action {
	case "accept":
		if len(content) == 0 {
			return res, nil
		}
		if err := json.Unmarshal(content, &res.Content); err != nil {
			return nil, errors.New("the answer is no JSON object")
		}
	case "decline", "cancel":
	default:
		res.Action = "cancel"
	}
	return res, nil
}
