package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// chatRequest is what is read of POST /v1/chat/completions.
// Source: OpenAI API reference, "Create chat completion".
type chatRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role      string            `json:"role"`
		Content   content           `json:"content"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r chatRequest) talk(bytes int) talk {
	t := talk{Model: r.Model, Bytes: bytes}
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			t.System += m.Content.text
			continue
		}
		t.Said = append(t.Said, said{m.Role, m.Content.text, len(m.ToolCalls) > 0})
	}
	return t
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func usageOf(t talk, a answer) *usage {
	in, out := t.tokens(a)
	return &usage{in, out, in + out}
}

type delta struct {
	Role    string     `json:"role,omitempty"`
	Content string     `json:"content,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func callOf(asked *call) []toolCall {
	if asked == nil {
		return nil
	}
	c := toolCall{ID: asked.id, Type: "function"}
	c.Function.Name, c.Function.Arguments = asked.tool, asked.arguments
	return []toolCall{c}
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *delta  `json:"delta,omitempty"`
	Message      *delta  `json:"message,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type chatError struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	} `json:"error"`
}

// chat is the OpenAI wire.
type chat struct{ req chatRequest }

func (c *chat) read(body []byte) (talk, error) {
	if err := json.Unmarshal(body, &c.req); err != nil {
		return talk{}, err
	}
	return c.req.talk(len(body)), nil
}

func (*chat) refuse(w http.ResponseWriter, status int, text string) {
	var e chatError
	e.Error.Message, e.Error.Type, e.Error.Code = text, "fake_model_error", fmt.Sprint(status)
	writeJSON(w, status, e)
}

func (c *chat) answer(ctx context.Context, w http.ResponseWriter, t talk, a answer, o options) {
	done := completion{ID: fmt.Sprintf("chatcmpl-%d", o.n), Created: time.Now().Unix(), Model: t.Model}
	finish := "stop"
	if a.call != nil {
		finish = "tool_calls"
	}
	if !c.req.Stream {
		done.Object, done.Usage = "chat.completion", usageOf(t, a)
		done.Choices = []choice{{Message: &delta{Role: assistant, Content: a.text, Calls: callOf(a.call)}, FinishReason: &finish}}
		plain(ctx, w, done, o)
		return
	}
	done.Object = "chat.completion.chunk"
	st := newStream(ctx, w, o)
	send := func(c choice) {
		done.Choices = []choice{c}
		st.data("", done)
	}
	st.pieces(a.text, func(i int, p string) {
		d := delta{Content: p}
		if i == 0 {
			d.Role = assistant
		}
		send(choice{Delta: &d})
	})
	if a.call != nil {
		send(choice{Delta: &delta{Role: assistant, Calls: callOf(a.call)}})
		st.rest()
	}
	send(choice{Delta: &delta{}, FinishReason: &finish})
	if c.req.StreamOptions.IncludeUsage {
		done.Choices, done.Usage = []choice{}, usageOf(t, a) // the usage chunk has no choice
		st.data("", done)
	}
	st.end("data: [DONE]\n\n")
}

// plain writes an answer that is not streamed.
func plain(ctx context.Context, w http.ResponseWriter, v any, o options) {
	if !pause(ctx, o.delay) {
		return
	}
	b := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if o.cut {
		_, _ = w.Write(b[:len(b)/2])
		panic(http.ErrAbortHandler) // closes the connection without an end
	}
	o.whole()
	_, _ = w.Write(b)
}

// stream writes server-sent events; after the first error it writes nothing.
type stream struct {
	options
	ctx   context.Context //nolint:containedctx // lives as long as the request
	w     http.ResponseWriter
	flush *http.ResponseController
	err   error
}

func newStream(ctx context.Context, w http.ResponseWriter, o options) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{options: o, ctx: ctx, w: w, flush: http.NewResponseController(w)}
}

func (s *stream) text(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
}

// data writes one event; its name is "" where the wire has none.
func (s *stream) data(name string, v any) {
	if name != "" {
		s.text("event: " + name + "\n")
	}
	s.text("data: " + string(encode(v)) + "\n\n")
}

// pieces sends a text in parts, over the stream's delay, or half of it when it is to be cut.
func (s *stream) pieces(text string, send func(i int, piece string)) {
	parts := pieces(text, nPieces)
	for i, p := range parts {
		if s.cut && i >= len(parts)/2 {
			_ = s.flush.Flush()
			panic(http.ErrAbortHandler)
		}
		send(i, p)
		s.wait(s.delay / time.Duration(len(parts)))
	}
}

// rest lets the delay pass of an answer that has no parts.
func (s *stream) rest() {
	if s.cut {
		_ = s.flush.Flush()
		panic(http.ErrAbortHandler)
	}
	s.wait(s.delay)
}

func (s *stream) wait(d time.Duration) {
	if s.err != nil {
		return
	}
	if s.err = s.flush.Flush(); s.err == nil && !pause(s.ctx, d) {
		s.err = context.Cause(s.ctx)
	}
}

// end writes the last event.
func (s *stream) end(text string) {
	if s.err != nil {
		return
	}
	s.whole()
	s.text(text)
	_ = s.flush.Flush()
}
