package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
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
		if err := json.Unmarshal(body, &got); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s %s %s: %v", r.URL.Path, r.Header, body, err)
		}
		send(w, text("Hel"), text("lo, wörld 👋"), finish("stop"), usage, "[DONE]")
	})
	a, err := generate(t.Context(), t, c, model.Request{
		Messages: []turn.Message{
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

// TestBytesInAnyPieces: where the network cuts a stream must not matter.
func TestBytesInAnyPieces(t *testing.T) {
	const body = ": keep-alive\n\nevent: x\nid: 1\ndata: " + `{"choices":[{"index":0,"delta":{"content":"a\"\u00e9\ud83d\ude00 é👋\n"}}]}` +
		"\r\n\r\ndata:" + `{"choices":[{"index":0,"delta":{"content":"z"},"finish_reason":"stop"}]}` + "\n\ndata:\n\ndata: [DONE]\n\n"
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range len(body) {
			_, _ = w.Write([]byte{body[i]})
			_ = http.NewResponseController(w).Flush()
		}
	})
	a, err := generate(t.Context(), t, c, hello)
	if err != nil || a.Text != "a\"é😀 é👋\nz" {
		t.Errorf("got %q, %v", a.Text, err)
	}
}

// TestACutStream ends the stream at every byte, in good order and with a broken connection.
func TestACutStream(t *testing.T) {
	for name, events := range map[string][]string{
		"text":  {text("one "), text("two"), finish("stop"), usage, "[DONE]"},
		"calls": {text("look"), call(`"index":0,`, "c1", "read", `{"pa`), call(`"index":0,`, "", "", `th":"x"}`), finish("tool_calls"), usage, "[DONE]"},
		// a server that never gives a reason
		"no reason": {text("one "), text("two"), "[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, e := range events {
				fmt.Fprintf(&b, "data: %s\n\n", e)
			}
			body := b.String()
			var at atomic.Int64
			var broken atomic.Bool
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(body[:at.Load()]))
				if broken.Load() {
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			at.Store(int64(len(body)))
			whole, err := generate(t.Context(), t, c, hello)
			if err != nil {
				t.Fatal(err)
			}
			whole.Usage = turnv1.Usage{}
			good := 0
			for _, abort := range []bool{false, true} {
				broken.Store(abort)
				for n := range len(body) {
					at.Store(int64(n))
					a, err := generate(t.Context(), t, c, hello)
					if err != nil {
						wantCause(t, err, turnv1.ModelGarbage)
						continue
					}
					good++
					a.Usage = turnv1.Usage{}
					if fmt.Sprint(a) != fmt.Sprint(whole) {
						t.Fatalf("cut at %d of %d: got a part, %+v", n, len(body), a)
					}
				}
			}
			if good == 0 {
				t.Error("never whole, not even without the last byte")
			}
		})
	}
}

// TestWhatAnAnswerMustNotHold: the key, wherever a server cuts it, and what drives a terminal.
func TestWhatAnAnswerMustNotHold(t *testing.T) {
	control := `{"choices":[{"index":0,"delta":{"content":" \u001b[2J\u009b1m\u0007\r\n\u007f\tend ` + key[:3] + `"}}]}`
	c := serve(t, stream(text("It is "+key[:1]), text(key[1:5]), text(key[5:]+", or "+key+"."), control,
		call("", key, key, `{"k":"`+key+`"}`), finish("tool_calls"), "[DONE]"))
	a, err := generate(t.Context(), t, c, hello)
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
		{"malformed arguments are passed on", []string{call(first, "a", "read", `{"p`)}, []model.RawCall{{ID: "a", Tool: "read", Arguments: `{"p`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := generate(t.Context(), t, serve(t, stream(append(c.events, finish("tool_calls"), "[DONE]")...)), hello)
			if err != nil || fmt.Sprint(a.Calls) != fmt.Sprint(c.want) {
				t.Errorf("got %+v, %v", a.Calls, err)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		name   string
		events []string
		cause  turnv1.Cause
		says   string
	}{
		{"nothing at all", nil, turnv1.ModelGarbage, "broke off"},
		{"no choices", []string{usage, "[DONE]"}, turnv1.ModelGarbage, "without content"},
		{"no text", []string{text(" \n"), finish("stop"), "[DONE]"}, turnv1.ModelGarbage, "empty"},
		{"only an end", []string{finish("tool_calls"), "[DONE]"}, turnv1.ModelGarbage, "empty"},
		{"the limit before the first word", []string{finish("length"), "[DONE]"}, turnv1.ModelGarbage, "length limit"},
		{"the filter", []string{text("so"), finish("content_filter"), "[DONE]"}, turnv1.ModelRefused, "content filter"},
		{"no JSON", []string{text("so"), "{{{", finish("stop"), "[DONE]"}, turnv1.ModelGarbage, "could not be read"},
		{"a list", []string{"[]"}, turnv1.ModelGarbage, "could not be read"},
		{"an error object", []string{text("so"), `{"error":{"message":"overloaded: ` + key + `","type":"x"}}`}, turnv1.ModelGarbage, "overloaded: [key]."},
		{"an error text", []string{text("so"), `{"error":"out of memory"}`}, turnv1.ModelGarbage, "could not be read"},
		{"an error in a chunk", []string{text("so"), `{"id":"x","choices":[],"error":{"message":"no more"}}`}, turnv1.ModelGarbage, "no more."},
		{"an error and an end", []string{`{"error":{"message":"no"}}`, "[DONE]"}, turnv1.ModelGarbage, "broke off in the middle of the answer: no."},
		{"too much", slices.Repeat([]string{text(long)}, 20), turnv1.ModelGarbage, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours := serve(t, stream(c.events...))
			limited, err := openai.New(openai.Config{BaseURL: ours.Endpoint(), APIKey: key, Model: "fake-1", MaxAnswer: 10_000})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(limited.CloseIdle)
			a, err := generate(t.Context(), t, limited, hello)
			if err == nil {
				t.Fatalf("got an answer: %+v", a)
			}
			if text := wantCause(t, err, c.cause); !strings.Contains(text, c.says) {
				t.Errorf("says %q, want %q", text, c.says)
			}
		})
	}
}

func TestAnAnswerThatReachedItsLimit(t *testing.T) {
	a, err := generate(t.Context(), t, serve(t, stream(text("half a sen"), finish("length"), "[DONE]")), hello)
	if err != nil || !a.Cut || a.Text != "half a sen" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestNotAStream(t *testing.T) {
	for _, body := range []string{"<html><h1>It works</h1></html>", `{"choices":[{"message":{"content":"hi"}}]}`, "", strings.Repeat("x", 100_000)} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		_, err := generate(t.Context(), t, c, hello)
		wantCause(t, err, turnv1.ModelGarbage)
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{\n \"error\": {\"message\": \"no credit: "+key+"\"}}")
	})
	_, err := generate(t.Context(), t, c, hello)
	if says := wantCause(t, err, turnv1.ModelRefused); !strings.HasSuffix(says, "an error: no credit: [key].") {
		t.Errorf("says %q", says)
	}
}
