package openai

import (
	"encoding/json"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
)

// chunk is one event of the stream, as far as it matters here. It is read leniently where servers differ.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   loose   `json:"content"`
			Refusal   loose   `json:"refusal"`
			ToolCalls []piece `json:"tool_calls"`
		} `json:"delta"`
		Finish loose `json:"finish_reason"`
	} `json:"choices"`
	Usage usage           `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// piece is a part of a tool call.
type piece struct {
	Index    *int  `json:"index"`
	ID       loose `json:"id"`
	Function struct {
		Name      loose `json:"name"`
		Arguments loose `json:"arguments"`
	} `json:"function"`
}

// loose is a text, or something else in its place: null is none, a list of parts is the texts in it, and any other JSON
// is taken as it stands (arguments as an object, ids as numbers).
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var text string
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	switch {
	case json.Unmarshal(raw, &text) == nil: // null leaves it empty
		*l = loose(text)
	case json.Unmarshal(raw, &parts) == nil:
		var b strings.Builder
		for _, p := range parts {
			if p.Type == "text" {
				b.WriteString(p.Text)
			}
		}
		*l = loose(b.String())
	default:
		*l = loose(raw)
	}
	return nil
}

// usage is what the call has used. Reading it never fails.
type usage struct {
	turnv1.Usage
	known bool
}

func (u *usage) UnmarshalJSON(raw []byte) error {
	var in struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
		Details    json.RawMessage `json:"prompt_tokens_details"`
	}
	var details struct {
		Cached json.RawMessage `json:"cached_tokens"`
	}
	if json.Unmarshal(raw, &in) != nil || in.Prompt == nil && in.Completion == nil {
		return nil //nolint:nilerr // a bad count must not fail a good answer
	}
	u.Input, u.Output, u.known = provider.Tokens(in.Prompt), provider.Tokens(in.Completion), true
	if json.Unmarshal(in.Details, &details) == nil {
		u.CacheRead = min(provider.Tokens(details.Cached), u.Input)
	}
	return nil
}
