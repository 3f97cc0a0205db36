package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a model over the OpenAI wire that does what the person says: each line of a message that reads "TOOL {…}"
// is a call, one a round, and then it repeats what it was told of them. It remembers nothing, so that a round which is
// asked for again is answered the same. It is a search engine, too, and a callback.
type scripted struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // guarded by mu: what was asked, without the header that carries the key

	searching chan struct{} // gets one for each search
	found     chan struct{} // searches are answered when this is closed; nil: at once
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	m := &scripted{searching: make(chan struct{}, 16)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{provider}/v1/chat/completions", m.chat)
	mux.HandleFunc("GET /res/v1/web/search", m.search)
	mux.HandleFunc("POST /callback", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "not with %s", r.Header.Get("Authorization"))
	})
	m.Server = httptest.NewServer(mux)
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

// asked is all that the model was sent.
func (m *scripted) asked() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.seen, "\n")
}

type said struct{ Role, Content string }

// scriptLine is one call of a script.
var scriptLine = regexp.MustCompile(`^([a-z_]+) (\{.*\})$`)

func (m *scripted) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it has hung up
	}
	key := r.Header.Get("Authorization")
	r.Header.Del("Authorization")
	m.mu.Lock()
	m.seen = append(m.seen, fmt.Sprint(r.URL, r.Header, string(body)))
	m.mu.Unlock()
	var req struct{ Messages []said }
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, told := script(req.Messages)
	var calls [][]string
	for line := range strings.Lines(text) {
		if call := scriptLine.FindStringSubmatch(strings.TrimSpace(line)); call != nil {
			calls = append(calls, call)
		}
	}
	delta := map[string]any{"content": "told: " + strings.Join(told, "\n")}
	switch {
	case text == "fail":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"%s is wrong"}}`, key)
		return
	case text == "what is the key":
		delta["content"] = "it is " + key
	case len(told) < len(calls):
		call := calls[len(told)]
		function := map[string]string{"name": call[1], "arguments": call[2]}
		delta = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprint("c", len(told)), "type": "function", "function": function}}}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}} {
		chunk, err := json.Marshal(map[string]any{"choices": []any{choice}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// script is what the person said last, and what the tools have answered since.
func script(messages []said) (text string, told []string) {
	for _, m := range slices.Backward(messages) {
		switch m.Role {
		case "user":
			slices.Reverse(told)
			return m.Content, told
		case "tool":
			told = append(told, m.Content)
		}
	}
	return "", nil
}

func (m *scripted) search(w http.ResponseWriter, r *http.Request) {
	m.searching <- struct{}{}
	if m.found != nil {
		select {
		case <-m.found:
		case <-r.Context().Done():
			return
		}
	}
	answer := map[string]any{"type": "search", "web": map[string]any{"results": []map[string]string{
		{"title": "A page", "url": "https://example.org/", "description": "found with " + r.Header.Get("X-Subscription-Token")},
	}}}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// searches waits until the search engine is asked.
func (m *scripted) searches(t *testing.T) {
	t.Helper()
	select {
	case <-m.searching:
	case <-time.After(patience):
		t.Fatal("nobody searches")
	}
}
