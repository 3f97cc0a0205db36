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
)

// echoing is a model over the OpenAI wire that repeats what a person has said, word by word. "run COMMAND" has it call exec, once,
// and then repeat what it was told of that.
type echoing struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // guarded by mu: bodies of requests
	pace chan struct{}
}

// newEchoing's pace, when it is not nil, gives a token for each word.
func newEchoing(t *testing.T) *echoing {
	t.Helper()
	m := &echoing{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.chat))
	t.Cleanup(func() { m.CloseClientConnections(); m.Close() })
	return m
}

func (m *echoing) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

var runLine = regexp.MustCompile(`(?m)\brun (.+)$`)

func (m *echoing) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it has hung up
	}
	m.mu.Lock()
	m.seen = append(m.seen, string(body))
	pace := m.pace
	m.mu.Unlock()
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said, told := "", ""
	for _, message := range req.Messages {
		switch message.Role {
		case "user":
			said, told = wordsOf(message.Content), ""
		case "tool":
			told = wordsOf(message.Content)
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(choice map[string]any) {
		chunk, err := json.Marshal(map[string]any{"choices": []any{choice}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk)
		w.(http.Flusher).Flush()
	}
	if call := runLine.FindStringSubmatch(said); call != nil && told == "" {
		args, err := json.Marshal(map[string]string{"command": call[1]})
		if err != nil {
			panic(err)
		}
		function := map[string]string{"name": "exec", "arguments": string(args)}
		say(map[string]any{"index": 0, "delta": map[string]any{
			"tool_calls": []any{map[string]any{"index": 0, "id": "c1", "type": "function", "function": function}},
		}})
	} else {
		for word := range strings.SplitAfterSeq("you said: "+said+told, " ") {
			if pace != nil {
				select {
				case <-pace:
				case <-r.Context().Done():
					return
				}
			}
			say(map[string]any{"index": 0, "delta": map[string]any{"content": word}})
		}
	}
	say(map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// wordsOf is the text of a message's content, which may have pictures, too.
func wordsOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(content, &parts); err != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}
