package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// messagesRequest is what is read of POST /v1/messages.
// Source: Anthropic API reference, "Messages" and "Streaming messages".
type messagesRequest struct {
	Model    string  `json:"model"`
	Stream   bool    `json:"stream"`
	System   content `json:"system"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
}

func (r messagesRequest) talk(bytes int) talk {
	t := talk{Model: r.Model, System: r.System.text, Bytes: bytes}
	for _, m := range r.Messages { // one with results only has no text
		t.Said = append(t.Said, said{m.Role, m.Content.text, m.Content.calls})
	}
	return t
}

type claudeUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

type claudeBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

type claudeMessage struct {
	ID         string        `json:"id"`
	Type       string        `json:"type"`
	Role       string        `json:"role"`
	Model      string        `json:"model"`
	Content    []claudeBlock `json:"content"`
	StopReason *string       `json:"stop_reason"`
	Usage      claudeUsage   `json:"usage"`
}

// claude is Anthropic's wire.
type claude struct{ req messagesRequest }

func (c *claude) read(body []byte) (talk, error) {
	if err := json.Unmarshal(body, &c.req); err != nil {
		return talk{}, err
	}
	return c.req.talk(len(body)), nil
}

func (*claude) refuse(w http.ResponseWriter, status int, text string) {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": text}})
}

func (c *claude) answer(ctx context.Context, w http.ResponseWriter, t talk, a answer, o options) {
	in, out := t.tokens(a)
	m := claudeMessage{
		ID: fmt.Sprintf("msg_%d", o.n), Type: "message", Role: assistant, Model: t.Model, Content: []claudeBlock{},
		Usage: claudeUsage{Input: in, Output: out},
	}
	reason := "end_turn"
	block := claudeBlock{Type: "text", Text: &a.text}
	if a.call != nil {
		reason = "tool_use"
		block = claudeBlock{Type: "tool_use", ID: a.call.id, Name: a.call.tool, Input: json.RawMessage(a.call.arguments)}
	}
	if !c.req.Stream {
		m.Content, m.StopReason = []claudeBlock{block}, &reason
		plain(ctx, w, m, o)
		return
	}
	type event map[string]any
	st := newStream(ctx, w, o)
	m.Usage.Output = 1 // the whole comes with message_delta
	st.data("message_start", event{"type": "message_start", "message": m})
	if a.call != nil {
		block.Input = json.RawMessage(`{}`)
		st.data("content_block_start", event{"type": "content_block_start", "index": 0, "content_block": block})
		for _, p := range pieces(a.call.arguments, 2) {
			st.data("content_block_delta", event{
				"type": "content_block_delta", "index": 0,
				"delta": map[string]string{"type": "input_json_delta", "partial_json": p},
			})
		}
		st.rest()
	} else {
		empty := ""
		st.data("content_block_start", event{"type": "content_block_start", "index": 0, "content_block": claudeBlock{Type: "text", Text: &empty}})
		st.data("ping", event{"type": "ping"})
		st.pieces(a.text, func(_ int, p string) {
			st.data("content_block_delta", event{
				"type": "content_block_delta", "index": 0,
				"delta": map[string]string{"type": "text_delta", "text": p},
			})
		})
	}
	st.data("content_block_stop", event{"type": "content_block_stop", "index": 0})
	st.data("message_delta", event{
		"type":  "message_delta",
		"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": out},
	})
	st.end("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}
