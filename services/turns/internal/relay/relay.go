// Package relay is the model of client agents: programs outside that think for themselves and only want their tool calls made.
// It decides nothing. A message that is a call (package notation) becomes exactly that call, and the result of a call becomes
// the answer, to the letter; any other message is told what is expected. The same request has the same answer.
package relay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/notation"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	// Provider belongs to the relay: no configured one may be called so.
	Provider = "relay"
	// Name is the reference of its one model.
	Name = Provider + "/client"
)

// Expected is the answer to whatever is no call.
const Expected = "No model answers here: this agent belongs to a program outside of jetclaw, and every message to it is one tool call, written " +
	"as " + notation.Usage

const (
	noOutput = "(no output)" // an answer has a text
	most     = 20            // tools that a summary names
)

// Model is the relay. It has no state.
type Model struct{}

// Name is the reference that events name it by.
func (Model) Name() string { return Name }

// Endpoint says where it runs.
func (Model) Endpoint() string { return "built in" }

// Generate answers the last message of r, which is shown without fences. Nothing of it is streamed: a result is on its way to
// who waits for it already. It costs nothing, and that is known.
func (Model) Generate(_ context.Context, r model.Request, _ func(string)) (model.Answer, error) {
	a := model.Answer{Usage: turnv1.Usage{Priced: true}}
	var last model.Message
	if n := len(r.Messages); n > 0 {
		last = r.Messages[n-1]
	}
	if r.Purpose == model.Summary {
		a.Text = summary(last.Text)
		return a, nil
	}
	if last.Role == turn.Tool {
		if a.Text = last.Text; strings.TrimSpace(a.Text) == "" {
			a.Text = noOutput
		}
		return a, nil
	}
	if name, arguments, ok := notation.Call(last.Text); ok && name != "" && last.Role == turn.User {
		a.Calls = []model.RawCall{{Tool: name, Arguments: arguments}}
		return a, nil
	}
	a.Text = Expected
	return a, nil
}

// summary says how often which tool was called, by a transcript of what was (package prompt): a line that begins with "Tool "
// is a call, whatever was said.
func summary(transcript string) string {
	count, all := map[string]int{}, 0
	for line := range strings.Lines(transcript) {
		if rest, ok := strings.CutPrefix(line, "Tool "); ok {
			name, _, _ := strings.Cut(rest, " ")
			count[name]++
			all++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	more := len(names) - most
	names = names[:min(len(names), most)]
	for i, name := range names {
		names[i] = fmt.Sprintf("%s ×%d", name, count[name])
	}
	if more > 0 {
		names = append(names, "…")
	}
	return fmt.Sprintf("Earlier calls: %d. %s", all, strings.Join(names, ", "))
}
