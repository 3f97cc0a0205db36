// Package openai calls a model that speaks the OpenAI chat completions protocol with streaming: OpenAI itself, and what
// imitates it (Ollama, llama.cpp, LM Studio, vLLM, OpenRouter…).
//
// It promises, beside what package provider promises:
//
//   - An answer is whole or it is an error. A stream that ends before the model has said that it is finished is no
//     answer, whatever came before.
//   - Neither errors nor answers hold the key, and the texts of answers no control characters but tab and line feed.
//   - Numbers of tokens that cannot be right do not spoil an answer.
package openai

import (
	"context"
	"errors"
	"io"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// linger is how long the end of the stream is waited for once the model has said that it is finished: some servers never
// send it.
const linger = 2 * time.Second

// Config says which model answers. BaseURL and Model are required; the Provider is "openai" unless it says otherwise.
type Config = provider.Config

// Client calls one model. It is safe for concurrent use.
type Client struct {
	*provider.Link
	key string
}

// New checks cfg; it calls nobody.
func New(cfg Config) (*Client, error) {
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	link, err := provider.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{Link: link, key: cfg.APIKey}, nil
}

// Generate makes one model call. onDelta gets the text piece by piece, in this goroutine.
func (c *Client) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	reqCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var end done
	call := c.Call(end.dress)
	cfg := api.DefaultConfig(c.key)
	cfg.BaseURL, cfg.HTTPClient = c.Endpoint(), call
	stream, err := api.NewClientWithConfig(cfg).CreateChatCompletionStream(reqCtx, c.request(r))
	if err != nil {
		return model.Answer{}, c.Unanswered(ctx, err)
	}
	a := assembly{link: c.Link, shown: c.Secret().Filter()}
	err = read(stream, &a, onDelta, cancel)
	if end {
		call.Drain(cancel)
	}
	_ = stream.Close()
	switch {
	case a.finish != "" && !a.late: // what went wrong after that changes nothing
	case !errors.Is(err, io.EOF):
		return model.Answer{}, c.Broken(ctx, err)
	case !bool(end):
		return model.Answer{}, c.Unfinished(call.Body, "OpenAI", a.choices > 0)
	}
	a.say(a.shown.Rest(), onDelta)
	return a.answer()
}

// read collects chunks until the stream ends; io.EOF is its end, in order or not.
func read(stream *api.ChatCompletionStream, a *assembly, onDelta func(string), cancel context.CancelFunc) error {
	var end *time.Timer
	for {
		raw, err := stream.RecvRaw()
		if err != nil {
			return err
		}
		if err := a.add(raw, onDelta); err != nil {
			return err
		}
		switch {
		case a.finish == "":
		case end == nil:
			end = time.AfterFunc(linger, cancel)
			defer end.Stop()
		case a.late:
			end.Reset(linger)
		}
	}
}

// done says that the stream came to its end in good order.
type done bool

// dress writes an event as the API client reads it. The space keeps it from taking an error for its own affair: it would
// wait for the rest of it, and lose what it cannot read.
func (d *done) dress(data []byte) []byte {
	if string(data) == "[DONE]" {
		*d = true
		return []byte("data: [DONE]\n")
	}
	out := make([]byte, 0, len(data)+10)
	out = append(out, "data: "...)
	if data[0] == '{' {
		out, data = append(out, "{ "...), data[1:]
	}
	return append(append(out, data...), '\n', '\n')
}
