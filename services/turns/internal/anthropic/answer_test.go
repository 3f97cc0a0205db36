package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/anthropic"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestARequest: what the API is sent, to the byte.
func TestARequest(t *testing.T) {
	// What stands in the environment is for others.
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "other-key", "ANTHROPIC_AUTH_TOKEN": "other-token",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Other: other", "ANTHROPIC_PROFILE": "other", "ANTHROPIC_CONFIG_DIR": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	var got string
	var header http.Header
	n := providertest.New(newModel)
	m := n.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, header = r.Method+" "+r.URL.String()+" "+string(body), r.Header
		_, _ = io.WriteString(w, event(start)+block(0, "hi")+end("end_turn"))
	})
	_, err := providertest.Generate(t.Context(), t, m, model.Request{
		Messages: []model.Message{
			{Role: turn.System, Text: "be kind"},
			{Role: turn.System, Text: "be brief"},
			{Role: turn.User, Text: "hi"},
			{Role: turn.User, Text: " \n"},
			{Role: turn.User, Text: "there <&>"},
			{Role: turn.Assistant, Text: "I look", Calls: []turn.Call{{ID: "c1", Tool: "read", Arguments: `{"n": 12345678901234567890}`}, {ID: "c2", Tool: "now", Arguments: `[]`}}},
			{Role: turn.Tool, Call: "c1", Name: "read", Text: "one"},
			{Role: turn.User, Text: "and?"},
			{Role: turn.Tool, Call: "c2", Name: "now", Text: ""},
			{Role: turn.Assistant},
		},
		Tools: []model.Tool{
			{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","anyOf":[{}]}},"required":["n"],"anyOf":[{}]}`)},
			{Name: "now"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `POST /v1/messages {"max_tokens":8192,` +
		`"messages":[{"content":[{"text":"hi","type":"text"},{"text":"there \u003c\u0026\u003e","type":"text"}],"role":"user"},` +
		`{"content":[{"text":"I look","type":"text"},{"id":"c1","input":{"n":12345678901234567890},"name":"read","type":"tool_use"},{"id":"c2","input":{},"name":"now","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"c1","content":[{"text":"one","type":"text"}],"type":"tool_result"},{"tool_use_id":"c2","type":"tool_result"},{"text":"and?","type":"text"}],"role":"user"}],` +
		`"model":"fake-1",` +
		`"system":[{"text":"be kind","type":"text"},{"text":"be brief","cache_control":{"type":"ephemeral"},"type":"text"}],` +
		`"tools":[{"input_schema":{"properties":{"n":{"type":"integer","anyOf":[{}]}},"required":["n"],"type":"object"},"name":"read","description":"reads"},` +
		`{"input_schema":{"properties":{},"type":"object"},"name":"now","cache_control":{"type":"ephemeral"}}],"stream":true}`
	if got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
	if header.Get("X-Api-Key") != key || header.Get("Authorization") != "" || header.Get("X-Other") != "" || header.Get("Anthropic-Version") == "" {
		t.Errorf("headers %v", header)
	}
}

func TestWhatIsSentWithout(t *testing.T) {
	var got struct {
		MaxTokens int `json:"max_tokens"`
		Messages  []struct{ Role string }
		System    json.RawMessage
		Tools     json.RawMessage
	}
	var header http.Header
	server := providertest.New(newModel).Serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, event(start)+block(0, "hi")+end("end_turn"))
	})
	m, err := anthropic.New(anthropic.Config{BaseURL: server.Endpoint(), Model: "fake-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.CloseIdle)
	t.Setenv("ANTHROPIC_API_KEY", "other-key")
	if _, err := providertest.Generate(t.Context(), t, m, model.Request{Messages: []model.Message{{Role: turn.Assistant, Text: "I was saying"}, {Role: turn.User, Text: "yes?"}}, MaxOutput: 99}); err != nil {
		t.Fatal(err)
	}
	if got.MaxTokens != 99 || len(got.Messages) != 3 || got.Messages[0].Role != "user" || got.System != nil || got.Tools != nil {
		t.Errorf("sent %+v", got)
	}
	if header["X-Api-Key"] != nil || header["Authorization"] != nil {
		t.Errorf("headers %v", header)
	}
}

func TestDefaults(t *testing.T) {
	m, err := anthropic.New(anthropic.Config{Model: "fake-1"})
	if err != nil || m.Name() != "anthropic/fake-1" || m.Endpoint() != "https://api.anthropic.com" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		name, body string
		class      model.Class
		says       string
	}{
		{"no message", event(`{"type":"message_stop"}`), model.Garbage, "without content"},
		{"no content", event(start) + end("end_turn"), model.Garbage, "empty"},
		{"no text", event(start) + block(0, " ", `\n`) + end("end_turn"), model.Garbage, "empty"},
		{"calls that are not there", event(start) + end("tool_use"), model.Garbage, "empty"},
		{"the limit before the first word", event(start) + end("max_tokens"), model.Garbage, "length limit"},
		{"only thoughts", event(start) + thinking + end("end_turn"), model.Garbage, "empty"},
		{"a refusal", event(start) + block(0, "so") + event(`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"It is `+key+`"}},"usage":{}}`) + event(`{"type":"message_stop"}`), model.Filtered, "declines to answer: It is [key]."},
		{"a refusal without a word", event(start) + end("refusal"), model.Filtered, "declines to answer."},
		{"a pause", event(start) + block(0, "so") + end("pause_turn"), model.Garbage, "paused"},
		{"no room", event(start) + end("model_context_window_exceeded"), model.Overflow, "too long"},
		{"a message within a message", event(start) + block(0, "so") + event(start) + block(0, "other") + end("end_turn"), model.Garbage, "could not be read"},
		{"another protocol", `data: {"choices":[{"index":0,"delta":{"content":"so"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n", model.Garbage, "could not be read"},
		{"an error without its name", event(start) + `data: {"error":{"type":"rate_limit_error","message":"slow"}}` + "\n\n", model.Passing, "reports an error: slow."},
		{"an error without a word", event(start) + event(`{"type":"error"}`), model.Passing, "reports an error."},
		{"a wrong key", event(start) + event(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key `+key+`"}}`), model.Denied, "invalid x-api-key [key]. Check the key."},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := providertest.Generate(t.Context(), t, serve(t, c.body), providertest.Hello())
			if err == nil {
				t.Fatalf("got an answer: %+v", a)
			}
			if e := providertest.Want(t, err, c.class); !strings.Contains(e.Text, c.says) {
				t.Errorf("says %q, want %q", e.Text, c.says)
			}
		})
	}
}

// thinking is a block that is not part of an answer.
var thinking = event(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`) +
	event(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`) +
	event(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"abc"}}`) + closed(0)

func TestAnAnswerAllTheSame(t *testing.T) {
	for _, c := range []struct {
		name, body string
		text       string
		calls      []model.RawCall
		cut        bool
	}{
		{"thoughts first", event(start) + thinking + block(1, "so") + end("end_turn"), "so", nil, false},
		{"a stop sequence", event(start) + block(0, "so") + end("stop_sequence"), "so", nil, false},
		{"an unknown reason", event(start) + block(0, "so") + end("because"), "so", nil, false},
		{"no reason", event(start) + block(0, "so") + event(`{"type":"message_stop"}`), "so", nil, false},
		{"the limit", event(start) + block(0, "so") + end("max_tokens"), "so", nil, true},
		{"the limit of the window", event(start) + block(0, "so") + end("model_context_window_exceeded"), "so", nil, true},
		{"calls promised, a text sent", event(start) + block(0, "so") + end("tool_use"), "so", nil, false},
		{"an end with calls", event(start) + use(0, "a", "read", `{}`) + end("end_turn"), "", []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}}, false},
		{"a text after the calls", event(start) + use(0, "a", "read", `{}`) + block(1, "so") + end("tool_use"), "so", []model.RawCall{{ID: "a", Tool: "read", Arguments: `{}`}}, false},
		{"pieces after the reason", event(start) + block(0, "so") + event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`) + block(1, " on") + event(`{"type":"message_stop"}`), "so on", nil, false},
		{"something after the end", event(start) + block(0, "so") + end("end_turn") + event(start) + block(0, "other"), "so", nil, false},
		{"each call has index 0", event(start) + use(0, "a", "read", `{"p":`, `1}`) + use(0, "b", "list", `{}`) + end("tool_use"), "", []model.RawCall{{ID: "a", Tool: "read", Arguments: `{"p":1}`}, {ID: "b", Tool: "list", Arguments: `{}`}}, false},
		{"one id twice, no name", event(start) + use(0, "a", "", `{}`) + use(1, "a", "", `{"p`) + end("tool_use"), "", []model.RawCall{{ID: "a", Arguments: `{}`}, {ID: "a", Arguments: `{"p`}}, false},
		{"the input at the start", event(start) + event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"p":1}}}`) + end("tool_use"), "", []model.RawCall{{ID: "a", Tool: "read", Arguments: `{"p":1}`}}, false},
		{"a text at the start", event(start) + event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so"}}`) + end("end_turn"), "so", nil, false},
		{"what is not known", event(start) + event(`{"type":"news","index":0}`) + event(`{"type":"content_block_start","index":0,"content_block":{"type":"news","x":[{"y":null}]}}`) +
			event(`{"type":"content_block_delta","index":0,"delta":{"type":"news_delta","text":"no"}}`) + event(`{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"no"}}`) +
			event(`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`) + event(`{"x":1}`) + ping + block(2, "so") + end("end_turn"), "so", nil, false},
		{"wrong types", event(start) + event(`{"type":"content_block_start","index":"x","content_block":7}`) + event(`{"type":"content_block_delta","index":-1,"delta":[]}`) +
			event(`{"type":"message_delta","delta":null,"usage":[]}`) + event(`{"type":7}`) + block(0, "so") + end("end_turn"), "so", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := providertest.Generate(t.Context(), t, serve(t, c.body), providertest.Hello())
			if err != nil || a.Text != c.text || fmt.Sprint(a.Calls) != fmt.Sprint(c.calls) || a.Cut != c.cut {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for raw, want := range map[string]turnv1.Usage{
		`{"input_tokens":7,"output_tokens":9}`:                                 {Input: 327, Output: 9, CacheRead: 300, CacheWrite: 20},
		`{"input_tokens":-7,"output_tokens":-9}`:                               {Input: 325, Output: 1, CacheRead: 300, CacheWrite: 20},
		`{"input_tokens":7.9,"output_tokens":1e300}`:                           {Input: 327, Output: 1, CacheRead: 300, CacheWrite: 20},
		`{"input_tokens":{},"output_tokens":"9","cache_read_input_tokens":[]}`: {Input: 325, Output: 9, CacheRead: 300, CacheWrite: 20},
		`null`: {Input: 325, Output: 1, CacheRead: 300, CacheWrite: 20},
		`7`:    {Input: 325, Output: 1, CacheRead: 300, CacheWrite: 20},
	} {
		body := event(start) + block(0, "so") + event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+raw+`}`) + event(`{"type":"message_stop"}`)
		a, err := providertest.Generate(t.Context(), t, serve(t, body), providertest.Hello())
		if err != nil || a.Usage != want {
			t.Errorf("%s: got %+v, %v, want %+v", raw, a.Usage, err, want)
		}
	}
}

// TestWhatAnAnswerMustNotHold: the key, wherever a server cuts it, and what drives a terminal.
func TestWhatAnAnswerMustNotHold(t *testing.T) {
	body := event(start) + block(0, "It is "+key[:1], key[1:5], key[5:]+", or "+key+".", ` \u001b[2J\u009b1m\u0007\r\n\u007f\tend `+key[:3]) +
		use(1, key, key, `{"k":"`+key[:4], key[4:]+`"}`) + end("tool_use")
	a, err := providertest.Generate(t.Context(), t, serve(t, body), providertest.Hello())
	if want := "It is [key], or [key]. [2J1m\n\tend " + key[:3]; err != nil || a.Text != want {
		t.Errorf("got %q, %v, want %q", a.Text, err, want)
	}
	if want := (model.RawCall{ID: "[key]", Tool: "[key]", Arguments: `{"k":"[key]"}`}); len(a.Calls) != 1 || a.Calls[0] != want {
		t.Errorf("got %+v", a.Calls)
	}
}

// FuzzStream looks for bytes on which the reader of the stream falls over.
func FuzzStream(f *testing.F) {
	f.Add(event(start) + block(0, "so") + use(1, "a", "read", `{}`) + end("tool_use"))
	f.Add(event(start) + thinking + event(`{"type":"error","error":{"type":"overloaded_error"}}`))
	var body string
	n := providertest.New(func(cfg provider.Config) (providertest.Model, error) { return anthropic.New(cfg) })
	f.Fuzz(func(t *testing.T, b string) {
		body = b
		m := n.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		_, _ = providertest.Generate(t.Context(), t, m, providertest.Hello())
	})
}
