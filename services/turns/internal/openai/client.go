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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

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
	req, err := c.post(reqCtx, r)
	if err != nil {
		return model.Answer{}, c.Unanswered(ctx, err)
	}
	call := c.Call(r.Once, nil)
	resp, err := call.Do(req)
	if err != nil {
		return model.Answer{}, c.Unanswered(ctx, err)
	}
	defer resp.Body.Close()
	a := assembly{link: c.Link, shown: c.Secret().Filter()}
	whole, err := read(call.Body, &a, onDelta, cancel)
	if whole {
		call.Drain(cancel)
	}
	switch {
	case a.finish != "" && !a.late: // what went wrong after that changes nothing
	case !errors.Is(err, io.EOF):
		return model.Answer{}, c.Broken(ctx, err)
	case !whole:
		return model.Answer{}, c.Unfinished(call.Body, "OpenAI", a.choices > 0)
	}
	a.say(a.shown.Rest(), onDelta)
	return a.answer()
}

// read collects chunks until the stream ends; io.EOF is its end. whole says that it ended in good order.
func read(events *provider.Events, a *assembly, onDelta func(string), cancel context.CancelFunc) (whole bool, err error) {
	var end *time.Timer
	for {
		data, err := events.Next()
		if err != nil {
			return false, err
		}
		if string(data) == "[DONE]" {
			return true, io.EOF
		}
		if err := a.add(data, onDelta); err != nil {
			return false, err
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

// post is the request of one model call (POST /chat/completions).
func (c *Client) post(ctx context.Context, r model.Request) (*http.Request, error) {
	body, err := json.Marshal(c.request(r))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Endpoint()+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}
