package offline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/offline"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func TestGenerate(t *testing.T) {
	user := func(text string) model.Message { return model.Message{Role: turn.User, Text: text} }
	for _, c := range []struct {
		name     string
		messages []model.Message
		starts   string
		call     string
	}{
		{"the first answer introduces it", []model.Message{user("hello")}, "You said: \"hello\"\n\nI am jetclaw's offline model", ""},
		{"later ones are short", []model.Message{user("a"), {Role: turn.Assistant, Text: "b"}, user("hi")}, `You said: "hi" (offline model)`, ""},
		{"a tool call", []model.Message{user(` !tool fs__read  {"path": "a b"}`)}, "I ask for the tool fs__read.", `fs__read {"path": "a b"}`},
		{"a tool call without a name", []model.Message{user("!tool")}, "To ask for a tool call", ""},
		{"results", []model.Message{
			user("x"), {Role: turn.Assistant}, {Role: turn.Tool, Name: "a", Text: "one"}, {Role: turn.Tool, Name: "b", Text: "two"},
		}, "The tool a said: one\nThe tool b said: two", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var streamed strings.Builder
			a, err := offline.Model{}.Generate(t.Context(), model.Request{Messages: c.messages}, func(d string) { streamed.WriteString(d) })
			if err != nil {
				t.Fatal(err)
			}
			call := ""
			for _, x := range a.Calls {
				call += x.Tool + " " + x.Arguments
			}
			if !strings.HasPrefix(a.Text, c.starts) || call != c.call || streamed.String() != a.Text {
				t.Errorf("got %q, calls %q, streamed %q", a.Text, call, streamed.String())
			}
		})
	}
}

func TestGenerateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := offline.Model{}.Generate(ctx, model.Request{Messages: []model.Message{{Role: turn.User, Text: "hi"}}}, func(string) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSummary(t *testing.T) {
	long := strings.Repeat("ä\"\x01", 500)
	for text, want := range map[string]string{
		"\n  !tool now\nSecond line": `Summary by the offline model: 2 messages, beginning with: !tool now`,
		" \n":                        `Summary by the offline model: 2 messages, beginning with: nothing`,
		long:                         `Summary by the offline model: 2 messages, beginning with: ä"ä"`,
	} {
		r := model.Request{Purpose: model.Summary, Messages: []model.Message{{Role: turn.System, Text: "summarise"}, {Role: turn.User, Text: text}}}
		a, err := offline.Model{}.Generate(t.Context(), r, func(string) {})
		if err != nil || !strings.HasPrefix(a.Text, want) || len(a.Text) >= 300 || len(a.Calls) > 0 || a.Usage.Output == 0 {
			t.Errorf("%d bytes: got %q, %v", len(a.Text), a.Text, err)
		}
	}
}
