package fakemodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// talk is a request, whichever wire it came over.
type talk struct {
	Model  string
	System string
	Said   []said
	Bytes  int // of the body
}

// said is one message.
type said struct {
	role  string // "user", "assistant" or "tool"
	text  string
	calls bool // an assistant's that asks for tools
}

const (
	user      = "user"
	assistant = "assistant"

	maxEcho = 2000 // runes of the person's text that are repeated

	// summaryMark is how the product's order to summarise begins.
	summaryMark = "You write the record with which an assistant goes on"
	// Summary is what such a request is answered with.
	Summary = "Record: the person sends marked messages, and each is repeated to them. Nothing is open."
)

// summary tells whether the request is to summarise.
func (t talk) summary() bool { return strings.HasPrefix(strings.TrimSpace(t.System), summaryMark) }

// unanswered are the texts of the person since the last finished answer, and how often the model has asked for tools
// since then.
func (t talk) unanswered() (text string, steps int) {
	var texts []string
	for _, m := range slices.Backward(t.Said) {
		switch {
		case m.role == assistant && !m.calls:
			return strings.Join(texts, "\n"), steps
		case m.role == assistant:
			steps++
		case m.role == user && m.text != "":
			texts = append([]string{m.text}, texts...)
		}
	}
	return strings.Join(texts, "\n"), steps
}

// answer is what the model says: a text, or one call.
type answer struct {
	text string
	call *call
}

func (t talk) answer(n int64) answer {
	if t.summary() {
		return answer{text: Summary}
	}
	text, steps := t.unanswered()
	if c := next(text, steps); c != nil {
		c.id = fmt.Sprintf("call_%d", n)
		return answer{call: c}
	}
	return answer{text: "You said: " + clip(text)}
}

// tokens of the request and of the answer, as they are reported.
func (t talk) tokens(a answer) (input, output int) {
	out := len(a.text)
	if a.call != nil {
		out += len(a.call.tool) + len(a.call.arguments)
	}
	return t.Bytes/4 + 1, out/4 + 1
}

func clip(text string) string {
	r := []rune(text)
	if len(r) > maxEcho {
		return string(r[:maxEcho]) + "…"
	}
	return text
}

// content is a string, or a list of parts of which the text ones count.
type content struct {
	text  string
	calls bool // a part asks for a tool (Anthropic)
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		var all []string
		for _, p := range parts {
			if p.Text != "" {
				all = append(all, p.Text)
			}
			c.calls = c.calls || p.Type == "tool_use"
		}
		c.text = strings.Join(all, "\n")
		return nil
	}
	var s *string // null for an assistant that only called tools
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return err
	}
	c.text = *s
	return nil
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
