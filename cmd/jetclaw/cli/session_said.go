package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	fold "github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// transcript is what was said, as events tell it: the fold of the read model, for when there is none.
type transcript struct {
	state    fold.State
	messages []fold.Message // oldest first
}

// add takes the next event.
func (t *transcript) add(ev envelope.Event) {
	var c fold.Change
	t.state, c = t.state.Apply(ev)
	if c.Deleted {
		t.messages = nil
	}
	if c.Message != nil {
		t.messages = append(t.messages, *c.Message)
	}
	if c.Edited != "" {
		i := slices.IndexFunc(t.messages, func(m fold.Message) bool { return m.ID == c.Edited })
		if i >= 0 {
			t.messages[i].Text, t.messages[i].Edited = c.Text, true
		}
	}
}

// transcriptOf is what was said in the events of one session.
func transcriptOf(events []envelope.Event) transcript {
	var t transcript
	for _, ev := range events {
		t.add(ev)
	}
	return t
}

// fileLine is what came beside a text, on a line of its own.
func fileLine(f messagev1.File) string {
	what := strings.TrimSpace(string(f.Kind) + " " + flat(f.Name))
	switch {
	case f.Missing != "":
		what += ", not kept: " + flat(f.Missing)
	case f.Size > 0:
		what += ", " + countedBig(int(f.Size), "byte")
	}
	return fmt.Sprintf("[%s]", flat(what))
}
