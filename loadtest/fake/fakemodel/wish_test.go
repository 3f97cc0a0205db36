package fakemodel_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

// talkOn makes model calls until one is answered with a text, and lists what was called before.
func talkOn(t *testing.T, c *openai.Client, text string) (calls []string, answer string) {
	t.Helper()
	r := ask(text)
	for range 30 {
		a, err := c.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "echo", Messages: r.Messages})
		if err != nil {
			t.Fatal(err)
		}
		m := a.Choices[0].Message
		if len(m.ToolCalls) == 0 {
			return calls, m.Content
		}
		f := m.ToolCalls[0]
		calls = append(calls, f.Function.Name+" "+f.Function.Arguments)
		r.Messages = append(r.Messages, m, openai.ChatCompletionMessage{Role: "tool", ToolCallID: f.ID, Content: "done"})
	}
	t.Fatal("the model never answers")
	return nil, ""
}

func TestWishesAreCalledInOrder(t *testing.T) {
	_, c := start(t, fakemodel.Options{})
	for text, want := range map[string][]string{
		"hello":                 nil,
		"!tool now":             {"now {}"},
		"!tool now what is it?": {"now {}"},
		`mk-a-1 !tool w {"a":{"b":"}"}} and more`:  {`w {"a":{"b":"}"}}`},
		`!tool a {"x":1}  !tool b {} !tool c`:      {`a {"x":1}`, "b {}", "c {}"},
		`!tool a {"say":"!tool b {}"}`:             {`a {"say":"!tool b {}"}`},
		`!tool a {"x":`:                            {"a {}"},
		"!tool now {} !rounds 3":                   {"now {}", fakemodel.UnknownTool + ` {"why":"to have round 3"}`},
		"!rounds 3":                                {fakemodel.UnknownTool + ` {"why":"to have round 2"}`, fakemodel.UnknownTool + ` {"why":"to have round 3"}`},
		strings.Repeat("!tool again {} ", 25):      nil, // 20 are made, which is checked below
		"!tool " + strings.Repeat("x", 65) + " {}": {strings.Repeat("x", 64) + " {}"},
	} {
		calls, answer := talkOn(t, c, text)
		if strings.Contains(text, "again") {
			if len(calls) != 20 {
				t.Errorf("%d calls, want 20", len(calls))
			}
			continue
		}
		if strings.Join(calls, "\n") != strings.Join(want, "\n") || answer != "You said: "+text {
			t.Errorf("%q: calls %q, answer %q", text, calls, answer)
		}
	}
}

func TestAnthropicCallsTheTool(t *testing.T) {
	s, _ := start(t, fakemodel.Options{})
	_, _, body := post(t, s.Root()+"/v1/messages", `{"model":"c","messages":[{"role":"user","content":"!tool write_file {\"path\":\"a\"}"}]}`)
	if !strings.Contains(body, `"name":"write_file","input":{"path":"a"}`) {
		t.Error(body)
	}
}

func TestTimeOfAllCallsIsAddedUp(t *testing.T) {
	var asked atomic.Int64
	s, c := start(t, fakemodel.Options{OnCall: func() { asked.Add(1) }})
	const m = "mk-a-1"
	text := m + ` !tool w {"content":"` + m + `"} !tool now`
	if calls, _ := talkOn(t, c, text); len(calls) != 2 || asked.Load() != 2 {
		t.Fatalf("calls %q, told of %d", calls, asked.Load())
	}
	got := s.Tally(m)
	if got.Requests != 3 || got.Finished != 3 || got.Spent <= got.Took {
		t.Errorf("%+v", got)
	}
}

func TestHangUpLeavesTheModelUsable(t *testing.T) {
	s, c := start(t, fakemodel.Options{})
	for range 2 {
		if text, _, err := read(t.Context(), c, ask("hello")); !errors.Is(err, io.EOF) || text != "You said: hello" {
			t.Errorf("%q, %v", text, err)
		}
		s.HangUp()
		http.DefaultClient.CloseIdleConnections() // else it could try the one that is just being closed
	}
}
