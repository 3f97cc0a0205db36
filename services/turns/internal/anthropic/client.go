// Package anthropic calls a model that speaks the Anthropic Messages API with streaming: Anthropic itself, and what
// imitates it.
//
// It promises, beside what package provider promises:
//
//   - An answer is whole or it is an error. A stream without its message_stop is no answer, whatever came before.
//   - Neither errors nor answers hold the key, and the texts of answers no control characters but tab and line feed.
//   - Only Config counts: the client of the API reads nothing from the environment, repeats nothing and traces nothing.
//   - The system prompt and the tools are marked for the provider's cache.
//   - Events, blocks and deltas that are not known are passed over, as the protocol asks for. What a model thinks is not
//     part of its answer.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const defaultBase = "https://api.anthropic.com"

// Config says which model answers. Model is required; the Provider is "anthropic" and the BaseURL Anthropic's own unless
// it says otherwise.
type Config = provider.Config

// Client calls one model. It is safe for concurrent use.
type Client struct {
	*provider.Link
	options []option.RequestOption
}

// New checks cfg; it calls nobody.
func New(cfg Config) (*Client, error) {
	if cfg.Provider == "" {
		cfg.Provider = "anthropic"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultBase
	}
	link, err := provider.New(cfg)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		// The path begins with v1 itself; bases of other APIs end with it, so people write it.
		option.WithBaseURL(strings.TrimSuffix(link.Endpoint(), "/v1")),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	if cfg.APIKey != "" {
		// This header, not the client's own option (which sends a bearer token): it is what imitations read, too.
		options = append(options, option.WithHeader("X-Api-Key", cfg.APIKey))
	}
	return &Client{Link: link, options: options}, nil
}

// Generate makes one model call. onDelta gets the text piece by piece, in this goroutine.
func (c *Client) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	reqCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	call := c.Call(r.Once, dress)
	// A service of its own: unlike the client around it, it reads nothing from the environment.
	messages := api.NewMessageService(c.options...)
	stream := messages.NewStreaming(reqCtx, c.request(r), option.WithHTTPClient(call))
	if err := stream.Err(); err != nil {
		return model.Answer{}, c.Unanswered(ctx, err)
	}
	a := assembly{link: c.Link, shown: c.Secret().Filter()}
	err := c.read(stream, &a, onDelta)
	if err == nil {
		call.Drain(cancel)
	}
	_ = stream.Close()
	switch {
	case errors.Is(err, io.EOF):
		return model.Answer{}, c.Unfinished(call.Body, "Anthropic", a.started)
	case err != nil:
		return model.Answer{}, c.Broken(ctx, err)
	}
	a.say(a.shown.Rest(), onDelta)
	return a.answer()
}

// read collects events until the message is whole. What a server sends after that is not looked at. io.EOF is a stream
// that ended before.
func (c *Client) read(stream *ssestream.Stream[api.MessageStreamEventUnion], a *assembly, onDelta func(string)) error {
	for stream.Next() {
		if err := a.add(stream.Current(), onDelta); err != nil || a.stopped {
			return err
		}
	}
	var syntax *json.SyntaxError
	switch err := stream.Err(); {
	case err == nil:
		return io.EOF
	case errors.As(err, &syntax):
		return c.Unreadable(err)
	default:
		return err
	}
}

// dress writes an event as the API client reads it. All have one name: it would pass over those without, and take an
// error for its own affair. What they are stands in their data, too.
func dress(data []byte) []byte {
	out := make([]byte, 0, len(data)+24)
	out = append(out, "event: message\ndata: "...)
	return append(append(out, data...), '\n', '\n')
}
