package fakemodel_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

// post sends a body and reads the answer whole.
func post(t *testing.T, url, body string) (int, http.Header, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

// events of a stream: its names, and the data of each.
func events(t *testing.T, body string) (names []string, data []map[string]any) {
	t.Helper()
	for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
		if name, ok := strings.CutPrefix(sc.Text(), "event: "); ok {
			names = append(names, name)
		}
		if raw, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			var m map[string]any
			if err := json.Unmarshal([]byte(raw), &m); err != nil {
				t.Fatalf("%v in %q", err, raw)
			}
			data = append(data, m)
		}
	}
	return names, data
}

const claudeAsk = `{"model":"claude-x","stream":true,"max_tokens":10,"system":[{"type":"text","text":"be kind"}],"messages":[
	{"role":"user","content":"mk-a-1 old"},{"role":"assistant","content":[{"type":"text","text":"You said: mk-a-1 old"}]},
	{"role":"user","content":[{"type":"text","text":"mk-a-2 hi"}]}]}`

func TestAnthropicStream(t *testing.T) {
	s, _ := start(t, fakemodel.Options{})
	status, _, body := post(t, s.Root()+"/v1/messages", claudeAsk)
	names, data := events(t, body)
	var text strings.Builder
	for _, d := range data {
		if delta, ok := d["delta"].(map[string]any); ok && delta["type"] == "text_delta" {
			text.WriteString(delta["text"].(string))
		}
	}
	if status != 200 || text.String() != "You said: mk-a-2 hi" {
		t.Fatalf("%d %q", status, text.String())
	}
	if names[0] != "message_start" || names[1] != "content_block_start" || names[len(names)-3] != "content_block_stop" ||
		names[len(names)-2] != "message_delta" || names[len(names)-1] != "message_stop" {
		t.Errorf("events %q", names)
	}
	in := data[0]["message"].(map[string]any)["usage"].(map[string]any)["input_tokens"].(float64)
	out := data[len(data)-2]["usage"].(map[string]any)["output_tokens"].(float64)
	got := s.Counts().Models["claude-x"]
	if int(in) != len(claudeAsk)/4+1 || got.Input != int(in) || got.Output != int(out) || got.Calls != 1 || got.Answered != 1 {
		t.Errorf("reported %v in, %v out, counted %+v", in, out, got)
	}
	if a := s.Tally("mk-a-2"); a.Requests != 1 || a.Bytes != len(claudeAsk) || s.Tally("mk-a-1").Requests != 0 {
		t.Errorf("tally %+v", a)
	}
}

func TestAnthropicPlainAnswerAndTools(t *testing.T) {
	s, _ := start(t, fakemodel.Options{})
	ask := `{"model":"c","messages":[{"role":"user","content":"mk-a-1 !rounds 2"}]}`
	_, _, body := post(t, s.Root()+"/v1/messages", ask)
	if !strings.Contains(body, `"stop_reason":"tool_use"`) || !strings.Contains(body, `"name":"no_such_tool"`) {
		t.Errorf("first round: %s", body)
	}
	ask = `{"model":"c","messages":[{"role":"user","content":"mk-a-1 !rounds 2"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"no_such_tool","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"none"},{"type":"text","text":"mk-a-2 too"}]}]}`
	_, _, body = post(t, s.Root()+"/v1/messages", ask)
	if !strings.Contains(body, `"stop_reason":"end_turn"`) || !strings.Contains(body, "mk-a-1 !rounds 2\\nmk-a-2 too") {
		t.Errorf("second round: %s", body)
	}
	ask = strings.Replace(ask, `"model":"c"`, `"model":"c","stream":true`, 1)
	ask = strings.Replace(ask, "!rounds 2", "!rounds 3", 1)
	_, _, body = post(t, s.Root()+"/v1/messages", ask)
	var args strings.Builder
	_, data := events(t, body)
	for _, d := range data {
		if delta, ok := d["delta"].(map[string]any); ok && delta["type"] == "input_json_delta" {
			args.WriteString(delta["partial_json"].(string))
		}
	}
	if !json.Valid([]byte(args.String())) || !strings.Contains(body, "tool_use") {
		t.Errorf("streamed call: arguments %q in %s", args.String(), body)
	}
}

func TestRoundsOverOpenAI(t *testing.T) {
	_, c := start(t, fakemodel.Options{})
	r := ask("mk-a-1 !rounds 3")
	for round := 1; round <= 3; round++ {
		a, err := c.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "echo", Messages: r.Messages})
		if err != nil {
			t.Fatal(err)
		}
		m := a.Choices[0].Message
		if round == 3 {
			if m.Content != "You said: mk-a-1 !rounds 3" {
				t.Errorf("answer %+v", m)
			}
			return
		}
		if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != fakemodel.UnknownTool || a.Choices[0].FinishReason != "tool_calls" {
			t.Fatalf("round %d: %+v", round, a.Choices[0])
		}
		r.Messages = append(r.Messages, m, openai.ChatCompletionMessage{Role: "tool", ToolCallID: m.ToolCalls[0].ID, Content: "no such tool"})
	}
}

func TestASummaryRepeatsNothing(t *testing.T) {
	s, c := start(t, fakemodel.Options{Fail: func(a fakemodel.Ask) fakemodel.Failure {
		if !a.Summary || a.Marker != "" {
			return fakemodel.Failure{Status: 500}
		}
		return fakemodel.Failure{}
	}})
	r := ask("Person: mk-a-1 !fail 503")
	r.Messages = append([]openai.ChatCompletionMessage{{Role: "system", Content: "You write the record with which an assistant goes on with a conversation."}}, r.Messages...)
	text, _, err := read(t.Context(), c, r)
	if !errors.Is(err, io.EOF) || text != fakemodel.Summary {
		t.Errorf("%q, %v", text, err)
	}
	if n := s.Counts().Total; n.Summaries != 1 || s.Tally("mk-a-1").Requests != 0 {
		t.Errorf("counted %+v", n)
	}
}

func TestFailuresOfOneModel(t *testing.T) {
	plan, err := fakemodel.ParsePlan("flaky*/529:0.5,flaky*/429+7:0.5,other/503:1", 1)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := start(t, fakemodel.Options{Fail: plan})
	seen := map[int]int{}
	for range 40 {
		status, h, body := post(t, s.Root()+"/v1/messages", strings.Replace(claudeAsk, "claude-x", "flaky-1", 1))
		seen[status]++
		if want := map[int]string{529: "overloaded_error", 429: "rate_limit_error"}[status]; want == "" || !strings.Contains(body, want) {
			t.Fatalf("%d %s", status, body)
		}
		if (h.Get("Retry-After") == "7") != (status == 429) {
			t.Errorf("%d with Retry-After %q", status, h.Get("Retry-After"))
		}
	}
	if seen[529] < 5 || seen[429] < 5 {
		t.Errorf("statuses %v", seen)
	}
	if status, _, _ := post(t, s.Root()+"/v1/messages", claudeAsk); status != 200 {
		t.Errorf("a model without a plan: %d", status)
	}
	res, err := http.Get(s.Root() + "/counts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var got fakemodel.Counts
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if f := got.Models["flaky-1"]; f.Calls != 40 || f.Refused != 40 || f.Input != 0 || got.Total.Calls != 41 || got.Total.Answered != 1 {
		t.Errorf("counts %+v", got)
	}
	if a := s.Tally("mk-a-2"); a.Refused != 40 || a.Requests != 41 {
		t.Errorf("tally %+v", a)
	}
}
