package fakemodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// request is what is read of POST /v1/chat/completions.
// Source: OpenAI API reference, "Create chat completion".
type request struct {
	Model         string    `json:"model"`
	Stream        bool      `json:"stream"`
	Messages      []message `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role      string            `json:"role"`
	Content   content           `json:"content"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

// content is a string, or a list of parts of which the text ones count.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		var all []string
		for _, p := range parts {
			all = append(all, p.Text)
		}
		*c = content(strings.Join(all, "\n"))
		return nil
	}
	var s *string // null for an assistant that only called tools
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return err
	}
	*c = content(*s)
	return nil
}

// unanswered are the texts of the person since the last finished answer.
func (r request) unanswered() string {
	var texts []string
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "assistant" && len(m.ToolCalls) == 0 {
			break
		}
		if m.Role == "user" {
			texts = append([]string{string(m.Content)}, texts...)
		}
	}
	return strings.Join(texts, "\n")
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (r request) usage(answer string) usage {
	u := usage{Completion: len(answer)/4 + 1}
	for _, m := range r.Messages {
		u.Prompt += len(m.Content)/4 + 1
	}
	u.Total = u.Prompt + u.Completion
	return u
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
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

type apiError struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	} `json:"error"`
}

// pieces cuts a text into n parts or fewer, never inside a rune.
func pieces(text string, n int) []string {
	runes := []rune(text)
	size := max(1, (len(runes)+n-1)/n)
	var out []string
	for len(runes) > 0 {
		k := min(size, len(runes))
		out = append(out, string(runes[:k]))
		runes = runes[k:]
	}
	return out
}
