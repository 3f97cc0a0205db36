package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// fakeModel is a server that speaks the OpenAI wire. It answers "re: <message>" word by word. A message of lines that begin
// with "call" is answered by tool calls: call NAME {"argument": "value"}.
type fakeModel struct {
	*httptest.Server
	calls atomic.Int64
	hold  chan struct{} // a message with "hold" is answered half, then the rest when this is closed
	began chan struct{} // gets one for each held call
}

func newFakeModel(t *testing.T) *fakeModel {
	t.Helper()
	f := &fakeModel{hold: make(chan struct{}), began: make(chan struct{}, 16)}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *fakeModel) env() []string {
	return []string{"OPENAI_BASE_URL=" + f.URL + "/v1", "OPENAI_API_KEY=" + canary, "OPENAI_MODEL=fake"}
}

// canary is a key that must appear nowhere.
const canary = "sk-canary-5f0c7d21e9"

func (f *fakeModel) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	f.calls.Add(1)
	var req struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := req.Messages[len(req.Messages)-1].Content
	if strings.HasPrefix(last, "call ") {
		callTools(w, last)
		return
	}
	if strings.Contains(last, "fail") {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"the key %s is wrong"}}`, canary)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, word := range strings.SplitAfter("re: "+last, " ") {
		if i == 1 && strings.Contains(last, "hold") {
			f.began <- struct{}{}
			select {
			case <-f.hold:
			case <-r.Context().Done():
				return
			}
		}
		chunk, err := json.Marshal(word)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", chunk)
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// callTools asks for all the calls at once.
func callTools(w http.ResponseWriter, text string) {
	var calls []map[string]any
	for line := range strings.Lines(text) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "call ")), " ")
		n := len(calls)
		calls = append(calls, map[string]any{
			"index": n, "id": fmt.Sprint("c", n), "type": "function", "function": map[string]any{"name": name, "arguments": arguments},
		})
	}
	chunk, err := json.Marshal(calls)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":%s}}]}\n\n", chunk)
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
}
