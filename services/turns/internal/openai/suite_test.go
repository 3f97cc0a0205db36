package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	key   = providertest.Key
	usage = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newModel(cfg provider.Config) (providertest.Model, error) { return openai.New(cfg) }

func serve(t *testing.T, h http.HandlerFunc) providertest.Model {
	return providertest.New(newModel).Serve(t, h)
}

// stream is a handler that sends the events given, and nothing else.
func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, events...) }
}

func send(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, data(events...))
}

func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

func text(s string) string {
	return fmt.Sprintf(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q}}]}`, s)
}

func finish(reason string) string {
	return fmt.Sprintf(`{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func call(index, id, name, args string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{%s"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}}]}`,
		index, id, name, args)
}

func TestSuite(t *testing.T) {
	counted := turnv1.Usage{Input: 7, Output: 3}
	providertest.Suite{
		New: newModel,
		Good: map[string]providertest.Good{
			"text": {Body: data(text("one, wörld 👋 "), text("two"), finish("stop"), usage, "[DONE]"), Want: model.Answer{Text: "one, wörld 👋 two", Usage: counted}},
			"calls": {
				Body: data(text("look"), call(`"index":0,`, "c1", "read", `{"pa`), call(`"index":0,`, "", "", `th":"x"}`), call(`"index":1,`, "c2", "now", `{}`), finish("tool_calls"), usage, "[DONE]"),
				Want: model.Answer{Text: "look", Usage: counted, Calls: []model.RawCall{{ID: "c1", Tool: "read", Arguments: `{"path":"x"}`}, {ID: "c2", Tool: "now", Arguments: `{}`}}},
			},
			"other forms": {
				Body: ": keep-alive\n\nevent: x\nid: 1\ndata: " + `{"choices":[{"index":0,"delta":{"content":"a\"\u00e9\ud83d\ude00 é👋\n"}}]}` +
					"\r\n\r\ndata:" + `{"choices":[{"index":0,"delta":{"content":"z"},"finish_reason":"stop"}]}` + "\n\ndata:\n\ndata: [DONE]\n\n",
				Want: model.Answer{Text: "a\"é😀 é👋\nz"},
			},
			// a server that never gives a reason
			"no reason": {Body: data(text("one "), text("two"), "[DONE]"), Want: model.Answer{Text: "one two"}},
		},
		Text: func(piece string) string {
			return "data: " + `{"choices":[{"index":0,"delta":{"content":"` + piece + `"}}]}` + "\n\n"
		},
		End:        data(finish("stop"), "[DONE]"),
		Overloaded: data(`{"error":{"message":"The server is overloaded","type":"server_error","code":503}}`),
		TooLong:    data(`{"error":{"message":"it does not fit","type":"invalid_request_error","code":"context_length_exceeded"}}`),
		ErrorBody:  func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) },
	}.Run(t)
}

// TestAStreamWithoutAnEnd: the model has said that it is finished, so its answer does not wait for the deadline.
func TestAStreamWithoutAnEnd(t *testing.T) {
	for _, events := range [][]string{{text("done"), finish("stop")}, {text("done"), finish("stop"), "[DONE]"}} {
		synctest.Test(t, func(t *testing.T) {
			m, stop := providertest.New(newModel).InMemory(t, func(w http.ResponseWriter, r *http.Request) {
				send(w, events...)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			defer stop()
			start := time.Now()
			if a, err := providertest.Generate(t.Context(), t, m, providertest.Hello()); err != nil || a.Text != "done" {
				t.Errorf("got %+v, %v", a, err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("waited %s for the end of the stream", took)
			}
		})
	}
}
