package turn

import (
	"fmt"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// Message is one message of a prompt.
type Message struct {
	Role  Role   `json:"role"`
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // Assistant; each is followed by its result
	Call  string `json:"call,omitempty"`  // Tool: the id of the call that Text is the result of
	Name  string `json:"name,omitempty"`  // Tool: the tool that was called
}

// Prompt is what the next model call shows: the system text (when there is one), finished turns as far as l.History
// allows (the oldest are left out first, each as a whole), and all of the running turn.
func Prompt(s State, system string, l Limits) []Message {
	var out []Message
	if system != "" {
		out = append(out, Message{Role: System, Text: system})
	}
	budget := l.History
	if s.Turn != nil {
		budget -= size(s.Turn.Entries)
	}
	first := len(s.Past)
	for first > 0 && budget >= s.Past[first-1].Bytes {
		first--
		budget -= s.Past[first].Bytes
	}
	for _, x := range s.Past[first:] {
		out = write(out, x.Entries)
	}
	if s.Turn != nil {
		out = write(out, s.Turn.Entries)
	}
	return out
}

func write(out []Message, entries []Entry) []Message {
	for _, e := range entries {
		out = append(out, Message{Role: e.Role, Text: e.Text, Calls: e.Calls})
		for _, c := range e.Calls {
			text := c.Result
			switch {
			case !c.Done:
				text = "no result yet"
			case text == "":
				text = "(no output)" // providers refuse an empty result
			}
			out = append(out, Message{Role: Tool, Text: text, Call: c.ID, Name: c.Tool})
		}
	}
	return out
}

// shown is a result as the model is shown it.
func shown(b callv1.Completed) string {
	switch b.Outcome {
	case callv1.OK:
		return b.Content
	case callv1.Error:
		return "error: " + b.Content
	case callv1.Unknown:
		return "outcome unknown, the call may have been carried out: " + b.Content
	}
	return fmt.Sprintf("%s: %s", b.Outcome, b.Content)
}

func cut(text string) string {
	if len(text) <= maxResult {
		return text
	}
	n := maxResult
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[cut: %d more bytes]", text[:n], len(text)-n)
}
