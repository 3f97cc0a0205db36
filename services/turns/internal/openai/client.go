// Package openai calls a model that speaks the OpenAI chat completions protocol with streaming: OpenAI itself, and what
// imitates it (Ollama, llama.cpp, LM Studio, vLLM, OpenRouter…).
//
// It promises:
//
//   - An answer is whole or it is an error. A stream that ends before the model has said that it is finished is no
//     answer, whatever came before.
//   - A call is repeated at most twice, only before any of the answer was read, and only for what may pass: connection
//     refused, 408, 429, 5xx. Retry-After is obeyed as far as the context's deadline allows.
//   - Redirects are not followed. Neither errors nor answers hold the key, and answers hold no control characters but tab
//     and line feed.
//   - Errors are *model.Error, or the context's own when it has ended.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	defaultMaxAnswer = 8 << 20
	retryDelay       = 500 * time.Millisecond
	// linger is how long the end of the stream is waited for once the model has said that it is finished: some servers
	// never send it.
	linger = 2 * time.Second
	// drain is how long the end of the body is waited for, so that the connection can be used again.
	drain    = 50 * time.Millisecond
	idle     = 512 // connections kept; one a running turn
	idleTime = 90 * time.Second
)

// Config says which model answers. BaseURL and Model are required.
type Config struct {
	Provider string // first half of the model's name; default "openai"
	BaseURL  string // "https://api.openai.com/v1"; no user, query or fragment
	APIKey   string // "" sends none
	Model    string
	// Proxy is http.ProxyFromEnvironment or the like; nil goes to the server directly.
	Proxy func(*http.Request) (*url.URL, error)
	// MaxAnswer is the most bytes of one answer on the wire; 0 is 8 MiB.
	MaxAnswer int64
}

// Client calls one model. It is safe for concurrent use.
type Client struct {
	cfg   Config
	http  *http.Client
	delay time.Duration // before the first retry
}

// New checks cfg; it calls nobody.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the base URL of a model must be like https://api.openai.com/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the base URL of a model at %s must have no user, query or fragment; give the key as api_key", u.Host)
	case cfg.Model == "":
		return nil, fmt.Errorf("no model is named for %s", cfg.BaseURL)
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	if cfg.MaxAnswer == 0 {
		cfg.MaxAnswer = defaultMaxAnswer
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &Client{cfg: cfg, delay: retryDelay, http: &http.Client{
		Transport: &http.Transport{
			Proxy: cfg.Proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns: idle, MaxIdleConnsPerHost: idle, IdleConnTimeout: idleTime,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Name is "provider/model".
func (c *Client) Name() string { return c.cfg.Provider + "/" + c.cfg.Model }

// Endpoint is the base URL.
func (c *Client) Endpoint() string { return c.cfg.BaseURL }

// Generate makes one model call. onDelta gets the text piece by piece, in this goroutine.
func (c *Client) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	reqCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &wire{client: c}
	cfg := api.DefaultConfig(c.cfg.APIKey)
	cfg.BaseURL, cfg.HTTPClient = c.cfg.BaseURL, w
	stream, err := api.NewClientWithConfig(cfg).CreateChatCompletionStream(reqCtx, c.request(r))
	if err != nil {
		return model.Answer{}, c.failed(ctx, fmt.Errorf("%w: %w", errRequest, err))
	}
	a := assembly{secret: c.scrub(), shown: filter{secret: c.scrub()}}
	err = c.read(stream, &a, onDelta, cancel)
	if w.body.done {
		defer time.AfterFunc(drain, cancel).Stop()
		_, _ = io.CopyN(io.Discard, w.body.body, 4<<10) // only for the connection's sake
	}
	_ = stream.Close()
	if !errors.Is(err, io.EOF) && a.finish == "" {
		return model.Answer{}, c.failed(ctx, err)
	}
	a.say(a.shown.rest(), onDelta)
	return a.answer(w.body)
}

// read collects chunks until the stream ends; io.EOF is its end, in order or not.
func (c *Client) read(stream *api.ChatCompletionStream, a *assembly, onDelta func(string), cancel context.CancelFunc) error {
	var end *time.Timer
	for {
		raw, err := stream.RecvRaw()
		if err != nil {
			return err
		}
		if err := a.add(raw, onDelta); err != nil {
			return err
		}
		if a.finish != "" && end == nil {
			end = time.AfterFunc(linger, cancel)
			defer end.Stop()
		}
	}
}

func (c *Client) request(r model.Request) api.ChatCompletionRequest {
	req := api.ChatCompletionRequest{
		Model: c.cfg.Model, StreamOptions: &api.StreamOptions{IncludeUsage: true},
		Messages: make([]api.ChatCompletionMessage, 0, len(r.Messages)),
	}
	for _, m := range r.Messages {
		if m.Text == "" && len(m.Calls) == 0 {
			continue // a message without content is refused
		}
		out := api.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.Call}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, api.ToolCall{
				ID: call.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: call.Tool, Arguments: call.Arguments},
			})
		}
		req.Messages = append(req.Messages, out)
	}
	for _, t := range r.Tools {
		f := &api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if t.Parameters == nil {
			f.Parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		req.Tools = append(req.Tools, api.Tool{Type: api.ToolTypeFunction, Function: f})
	}
	return req
}
