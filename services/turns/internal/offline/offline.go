// Package offline is a model that needs nothing: a small deterministic responder, so that the whole path (journal, turns,
// streaming, tools) can be tried on a machine without a provider, a key or a network. It thinks nothing.
//
//	!tool NAME {json}   asks for that tool call; the result is shown in the answer
//
// Asked for a summary, it names how much there is to summarise and how that begins.
package offline

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/notation"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	maxEcho  = 2000 // of a text that is said back, in bytes
	maxFirst = 160  // of the first line that a summary repeats
)

// Model is the offline model. It has no state.
type Model struct{}

// Name is "offline/echo".
func (Model) Name() string { return "offline/echo" }

// Endpoint says where it runs.
func (Model) Endpoint() string { return "built in" }

// Generate answers the last message of r, word by word.
func (Model) Generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	if len(r.Messages) == 0 {
		return model.Answer{}, &model.Error{Class: model.Invalid, Cause: turnv1.ModelRefused, Text: "There is nothing to answer.", Detail: "empty prompt"}
	}
	a := model.Answer{Usage: turnv1.Usage{Input: words(r.Messages)}}
	last := r.Messages[len(r.Messages)-1]
	switch name, args, ok := notation.Call(last.Text); {
	case r.Purpose == model.Summary:
		a.Text = summary(r.Messages)
	case last.Role == turn.Tool:
		a.Text = results(r.Messages)
	case ok:
		if name != "" {
			a.Text = "I ask for the tool " + name + "."
			a.Calls = []model.RawCall{{Tool: name, Arguments: args}}
		} else {
			a.Text = "To ask for a tool call, write: " + notation.Usage
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
func echo(messages []model.Message, text string) string {
	text = short(text, maxEcho)
	for _, m := range messages {
		if m.Role == turn.Assistant {
			return fmt.Sprintf("You said: %q (offline model)", text)
		}
	}
	return fmt.Sprintf("You said: %q\n\nI am jetclaw's offline model: no language model is set up, so I only repeat what you write. "+
		"Set OPENAI_API_KEY, or start a local OpenAI-compatible server, to talk to a real one. "+
		"To try a tool call, write: "+notation.Usage, text)
}

// results says what the calls of the last round came to.
func results(messages []model.Message) string {
	first := len(messages)
	for first > 0 && messages[first-1].Role == turn.Tool {
		first--
	}
	var b strings.Builder
	for i, m := range messages[first:] {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "The tool %s said: %s", m.Name, short(m.Text, maxEcho))
	}
	return b.String()
}

// summary is of messages whose last holds what is to be summarised.
func summary(messages []model.Message) string {
	first := "nothing"
	found := false
	for line := range strings.Lines(messages[len(messages)-1].Text) {
		line = strings.TrimSpace(line)
		if said, ok := strings.CutPrefix(line, "Person: "); ok { // of a transcript; what stands before it says what it is
			first = said
			break
		}
		if line != "" && !found {
			first, found = line, true
		}
	}
	first = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, first)
	return fmt.Sprintf("Summary by the offline model: %d messages, beginning with: %s", len(messages), short(first, maxFirst))
}

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := most
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func words(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		n += len(strings.Fields(m.Text))
	}
	return n
}
