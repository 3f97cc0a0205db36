// Package offline is a model that needs nothing: a small deterministic responder, so that the whole path (journal, turns,
// streaming, tools) can be tried on a machine without a provider, a key or a network. It thinks nothing.
//
//	!tool NAME {json}   asks for that tool call; the result is shown in the answer
package offline

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// maxEcho is the most of a text that is said back, in bytes.
const maxEcho = 2000

// Model is the offline model. It has no state.
type Model struct{}

// Name is "offline/echo".
func (Model) Name() string { return "offline/echo" }

// Endpoint says where it runs.
func (Model) Endpoint() string { return "built in" }

// Generate answers the last message of r, word by word.
func (Model) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	if len(r.Messages) == 0 {
		return model.Answer{}, &model.Error{Cause: turnv1.ModelRefused, Text: "There is nothing to answer.", Detail: "empty prompt"}
	}
	a := model.Answer{Usage: turnv1.Usage{Input: words(r.Messages)}}
	last := r.Messages[len(r.Messages)-1]
	switch rest, ok := strings.CutPrefix(strings.TrimSpace(last.Text), "!tool"); {
	case last.Role == turn.Tool:
		a.Text = results(r.Messages)
	case ok:
		name, args, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if name != "" {
			a.Text = "I ask for the tool " + name + "."
			a.Calls = []model.RawCall{{Tool: name, Arguments: strings.TrimSpace(args)}}
		} else {
			a.Text = `To ask for a tool call, write: !tool NAME {"argument": "value"}`
		}
	default:
		a.Text = echo(r.Messages, last.Text)
	}
	for word := range strings.SplitAfterSeq(a.Text, " ") {
		if err := ctx.Err(); err != nil {
			return model.Answer{}, fmt.Errorf("offline model: %w", err)
		}
		onDelta(word)
	}
	a.Usage.Output = len(strings.Fields(a.Text))
	return a, nil
}

// echo introduces itself in the first answer of a conversation and is short after that.
func echo(messages []turn.Message, text string) string {
	text = short(text)
	for _, m := range messages {
		if m.Role == turn.Assistant {
			return fmt.Sprintf("You said: %q (offline model)", text)
		}
	}
	return fmt.Sprintf("You said: %q\n\nI am jetclaw's offline model: no language model is set up, so I only repeat what you write. "+
		"Set OPENAI_API_KEY, or start a local OpenAI-compatible server, to talk to a real one. "+
		`To try a tool call, write: !tool NAME {"argument": "value"}`, text)
}

// results says what the calls of the last round came to.
func results(messages []turn.Message) string {
	first := len(messages)
	for first > 0 && messages[first-1].Role == turn.Tool {
		first--
	}
	var b strings.Builder
	for i, m := range messages[first:] {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "The tool %s said: %s", m.Name, short(m.Text))
	}
	return b.String()
}

func short(text string) string {
	if len(text) <= maxEcho {
		return text
	}
	n := maxEcho
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func words(messages []turn.Message) int {
	n := 0
	for _, m := range messages {
		n += len(strings.Fields(m.Text))
	}
	return n
}
