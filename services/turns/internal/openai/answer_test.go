package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func TestAnAnswer(t *testing.T) {
	var got struct {
		Model    string
		Stream   bool
		Messages []map[string]any
		Tools    []map[string]any
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+providertest.Key {
			t.Errorf("%s %s %s: %v", r.URL.Path, r.Header, body, err)
		}
		send(w, text("Hel"), text("lo, wörld 👋"), finish("stop"), usage, "[DONE]")
	})
	a, err := providertest.Generate(t.Context(), t, c, model.Request{
		Messages: []model.Message{
			{Role: turn.System, Text: "be kind"},
			{Role: turn.User, Text: "hi"},
			{Role: turn.Assistant, Calls: []turn.Call{{ID: "c1", Tool: "read", Arguments: `{"a":1}`, Done: true}}},
			{Role: turn.Tool, Call: "c1", Name: "read", Text: "one"},
			{Role: turn.Assistant},
		},
		Tools: []model.Tool{{Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.Text != "Hello, wörld 👋" || a.Usage != (turnv1.Usage{Input: 7, Output: 3}) || len(a.Calls) > 0 {
		t.Errorf("got %+v", a)
	}
	if got.Model != "fake-1" || !got.Stream || len(got.Messages) != 4 || len(got.Tools) != 2 {
		t.Errorf("asked %+v", got)
	}
	for i, m := range got.Messages {
		if m["content"] == nil && m["tool_calls"] == nil {
			t.Errorf("message %d has neither content nor calls: %v", i, m)
		}
	}
	if got.Messages[3]["tool_call_id"] != "c1" {
		t.Errorf("the result does not name its call: %v", got.Messages[3])
	}
	if c.Name() != "openai/fake-1" || !strings.HasSuffix(c.Endpoint(), "/v1") {
		t.Errorf("named %q at %q", c.Name(), c.Endpoint())
	}
}

// TestWhatAnAnswerMustNotHold: the key, wherever a server cuts it, and what drives a terminal.
func TestWhatAnAnswerMustNotHold(t *testing.T) {
	control := `{"choices":[{"index":0,"delta":{"content":" \u001b[2J\u009b1m\u0007\r\n\u007f\tend ` + key[:3] + `"}}]}`
	c := serve(t, stream(text("It is "+key[:1]), text(key[1:5]), text(key[5:]+", or "+key+"."), control,
		call("", key, key, `{"k":"`+key+`"}`), finish("tool_calls"), "[DONE]"))
	a, err := providertest.Generate(t.Context(), t, c, providertest.Hello())
	if want := "It is [key], or [key]. [2J1m\n\tend " + key[:3]; err != nil || a.Text != want {
		t.Errorf("got %q, %v, want %q", a.Text, err, want)
	}
	if strings.Contains(fmt.Sprint(a.Calls), key) {
		t.Errorf("the key is in %+v", a.Calls)
	}
}

func TestToolCalls(t *testing.T) {
	first := `"index":0,`
	for _, c := range []struct {
		name   string
		events []string
		want   []model.RawCall
	}{
		{
			"fragments of two, mixed",
			[]string{
				call(first, "a", "read", ""), call(`"index":1,`, "b", "list", `{"x`), call(first, "", "", `{"p":`), call(`"index":1,`, "", "", `":2}`), call(first, "", "", `1}`),
			},
			[]model.RawCall{{ID: "a", Tool: "read", Arguments: `{"p":1}`}, {ID: "b", Tool: "list", Arguments: `{"x":2}`}},
		},
		{"the id and name in each fragment", []string{call(first, "a", "read", `{`), call(first, "a", "read", `}`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}}},
		{"each has index 0", []string{call(first, "a", "read", `{}`), call(first, "b", "list", `{}`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}, {ID: "b", Tool: "list", Arguments: `{}`}}},
		{"no index", []string{call("", "a", "read", `{`), call("", "", "", `}`), call("", "b", "list", `{}`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}, {ID: "b", Tool: "list", Arguments: `{}`}}},
		{"one id twice", []string{call(first, "a", "read", `{}`), call(`"index":1,`, "a", "list", `{}`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}, {ID: "a", Tool: "list", Arguments: `{}`}}},
		{"no ids", []string{call(first, "", "read", `{}`), call(`"index":1,`, "", "list", `{}`)}, []model.RawCall{{Tool: "read", Arguments: `{}`}, {Tool: "list", Arguments: `{}`}}},
		{"no name", []string{call(first, "a", "", `{}`)}, []model.RawCall{{ID: "a", Arguments: `{}`}}},
		{"an id that is a number", []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":7,"function":{"name":"read","arguments":{"p":1}}}]}}]}`}, []model.RawCall{{ID: "7", Tool: "read", Arguments: `{"p":1}`}}},
		{"a null function", []string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":null,"id":null,"function":null}]}}]}`}, []model.RawCall{{}}},
		{"malformed arguments are passed on", []string{call(first, "a", "read", `{"p`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{"p`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := providertest.Generate(t.Context(), t, serve(t, stream(append(c.events, finish("tool_calls"), "[DONE]")...)), providertest.Hello())
			if err != nil || fmt.Sprint(a.Calls) != fmt.Sprint(c.want) {
				t.Errorf("got %+v, %v", a.Calls, err)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		class  model.Class
		says   string
	}{
		{"nothing at all", nil, model.Garbage, "broke off"},
		{"no choices", []string{usage, "[DONE]"}, model.Garbage, "without content"},
		{"no text", []string{text(" \n"), finish("stop"), "[DONE]"}, model.Garbage, "empty"},
		{"calls that are not there", []string{finish("tool_calls"), "[DONE]"}, model.Garbage, "empty"},
		{"the limit before the first word", []string{finish("length"), "[DONE]"}, model.Garbage, "length limit"},
		{"the filter", []string{text("so"), finish("content_filter"), "[DONE]"}, model.Filtered, "content filter"},
		{"the filter at once", []string{`{"error":{"message":"x","code":"content_filter","type":"invalid_request_error"}}`}, model.Filtered, "content filter"},
		{"an error object", []string{text("so"), `{"error":{"message":"overloaded: ` + key + `","type":"x"}}`}, model.Garbage, "overloaded: [key]."},
		{"an error text", []string{text("so"), `{"error":"out of memory"}`}, model.Garbage, "out of memory."},
		{"an error in a chunk", []string{text("so"), `{"id":"x","choices":[],"error":{"message":"no more"}}`}, model.Garbage, "no more."},
		{"an error and an end", []string{`{"error":{"message":"no"}}`, "[DONE]"}, model.Passing, "reports an error: no."},
		{"an error with a code", []string{`{"error":{"message":"slow","code":429},"choices":[]}`}, model.Passing, "reports an error: slow."},
		{"a reason without an error", []string{text("so"), finish("error"), "[DONE]"}, model.Garbage, "broke off"},
		{"choices that are none", []string{`{"choices":7}`, finish("stop"), "[DONE]"}, model.Garbage, "could not be read"},
		{"too long while it answers", []string{text("so"), `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`}, model.Garbage, "Context size has been exceeded."},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := providertest.Generate(t.Context(), t, serve(t, stream(c.events...)), providertest.Hello())
			if err == nil {
				t.Fatalf("got an answer: %+v", a)
			}
			if e := providertest.Want(t, err, c.class); !strings.Contains(e.Text, c.says) {
				t.Errorf("says %q, want %q", e.Text, c.says)
			}
		})
	}
}

// TestAnAnswerAllTheSame: what contradicts itself or counts wrongly, but says something.
func TestAnAnswerAllTheSame(t *testing.T) {
	read := call(`"index":0,`, "a", "read", `{}`)
	for _, c := range []struct {
		name   string
		events []string
		text   string
		calls  int
		usage  turnv1.Usage
	}{
		{"calls promised, a text sent", []string{text("so"), finish("tool_calls"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"a stop with calls", []string{read, finish("stop"), "[DONE]"}, "", 1, turnv1.Usage{}},
		{"calls after the text", []string{text("so"), read, finish("stop"), "[DONE]"}, "so", 1, turnv1.Usage{}},
		{"pieces after the reason", []string{text("so"), finish("stop"), text(" on"), read, "[DONE]"}, "so on", 1, turnv1.Usage{}},
		{"two reasons", []string{text("so"), finish("tool_calls"), finish("stop"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"an error after the reason", []string{text("so"), finish("stop"), `{"error":"late"}`}, "so", 0, turnv1.Usage{}},
		{"a refusal", []string{`{"choices":[{"index":0,"delta":{"content":null,"refusal":"I will not."}}]}`, finish("stop"), "[DONE]"}, "I will not.", 0, turnv1.Usage{}},
		{"parts", []string{`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","text":"hm"},{"type":"text","text":"so"}]}}]}`, finish("stop"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"another choice", []string{`{"choices":[{"index":1,"delta":{"content":"no"}}]}`, text("so"), finish("stop"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"a null of each", []string{`{"choices":null,"usage":null,"error":null}`, text("so"), finish("stop"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"an unknown event", []string{`{"type":"x","y":[1]}`, text("so"), finish("stop"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"no reason", []string{text("so"), "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"no end", []string{text("so"), finish("stop")}, "so", 0, turnv1.Usage{}},
		{"cached tokens", []string{text("so"), finish("stop"), `{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}`, "[DONE]"}, "so", 0, turnv1.Usage{Input: 10, Output: 2, CacheRead: 8}},
		{"more cached than there are", []string{text("so"), finish("stop"), `{"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":80}}}`, "[DONE]"}, "so", 0, turnv1.Usage{Input: 10, Output: 2, CacheRead: 10}},
		{"half a token", []string{text("so"), finish("stop"), `{"usage":{"prompt_tokens":10.5,"completion_tokens":"2"}}`, "[DONE]"}, "so", 0, turnv1.Usage{Input: 10, Output: 2}},
		{"fewer than none", []string{text("so"), finish("stop"), `{"usage":{"prompt_tokens":-10,"completion_tokens":1e300,"prompt_tokens_details":7}}`, "[DONE]"}, "so", 0, turnv1.Usage{}},
		{"no number", []string{text("so"), finish("stop"), `{"usage":{"prompt_tokens":{},"completion_tokens":1e999}}`, `{"usage":[]}`, "[DONE]"}, "so", 0, turnv1.Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := providertest.Generate(t.Context(), t, serve(t, stream(c.events...)), providertest.Hello())
			if err != nil || a.Text != c.text || len(a.Calls) != c.calls || a.Usage != c.usage || a.Cut {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

func TestAnAnswerThatReachedItsLimit(t *testing.T) {
	a, err := providertest.Generate(t.Context(), t, serve(t, stream(text("half a sen"), finish("length"), "[DONE]")), providertest.Hello())
	if err != nil || !a.Cut || a.Text != "half a sen" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestTheLimitOfAnAnswer goes by two names.
func TestTheLimitOfAnAnswer(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		send(w, text("so"), finish("stop"), "[DONE]")
	}))
	defer server.Close()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	for _, c := range []struct{ base, model, wants string }{
		{"http://api.openai.com/v1", "gpt-4o", `"max_completion_tokens":99`},
		{"http://me.openai.azure.com/v1", "gpt-4o", `"max_completion_tokens":99`},
		{"http://localhost:8080/v1", "qwen3", `"max_tokens":99`},
		{"http://localhost:8080/v1", "gpt-5-mini", `"max_completion_tokens":99`},
		{"http://api.openai.com.other.test/v1", "gpt-4o", `"max_tokens":99`},
	} {
		m, err := openai.New(openai.Config{BaseURL: c.base, Model: c.model, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{99, 0} {
			r := providertest.Hello()
			r.MaxOutput = limit
			if _, err := providertest.Generate(t.Context(), t, m, r); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, c.wants) != (limit > 0) || limit == 0 && strings.Contains(got, "max_") {
				t.Errorf("%s %s, limit %d: %s", c.base, c.model, limit, got)
			}
		}
		m.CloseIdle()
	}
}
