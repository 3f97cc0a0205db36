package floor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Web is a bare server of the HTTP channel's two paths: POST /v1/messages keeps the text, and the GET of its reply makes
// streamed model calls until one does not ask for a tool, and answers. Nothing is stored, checked, logged or carried out.
type Web struct {
	http  http.Server
	url   string
	model string
	call  *http.Client
	done  chan struct{}
	texts sync.Map // id → text, until it is answered
	next  atomic.Int64
}

// StartWeb listens on a free loopback port; model is the base URL of the model, "/v1" included.
func StartWeb(model string) (*Web, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	w := &Web{url: "http://" + l.Addr().String(), model: model, done: make(chan struct{}), call: &http.Client{
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", w.post)
	mux.HandleFunc("GET /v1/messages/{id}/reply", w.reply)
	w.http.Handler = mux
	w.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(w.done)
		_ = w.http.Serve(l) // always ErrServerClosed after Close
	}()
	return w, nil
}

// URL is the base.
func (w *Web) URL() string { return w.url }

// Close ends the server.
func (w *Web) Close() {
	_ = w.http.Close()
	<-w.done
	w.call.CloseIdleConnections()
}

func (w *Web) post(res http.ResponseWriter, req *http.Request) {
	var m struct {
		Session string `json:"session"`
		Text    string `json:"text"`
	}
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		http.Error(res, err.Error(), http.StatusBadRequest)
		return
	}
	n := w.next.Add(1)
	id := strconv.FormatInt(n, 10)
	w.texts.Store(id, m.Text)
	answer(res, http.StatusAccepted, map[string]any{"message_id": id, "session": m.Session, "cursor": n})
}

func (w *Web) reply(res http.ResponseWriter, req *http.Request) {
	v, ok := w.texts.LoadAndDelete(req.PathValue("id"))
	if !ok {
		http.NotFound(res, req)
		return
	}
	text, err := w.ask(req, v.(string))
	if err != nil {
		http.Error(res, err.Error(), http.StatusBadGateway)
		return
	}
	answer(res, http.StatusOK, map[string]string{"status": "completed", "text": text})
}

// said is one message of a request.
type said struct {
	Role    string            `json:"role"`
	Content string            `json:"content,omitempty"`
	Calls   []json.RawMessage `json:"tool_calls,omitempty"`
	Answers string            `json:"tool_call_id,omitempty"`
}

// maxCalls bounds the model calls of one reply.
const maxCalls = 20

func (w *Web) ask(req *http.Request, text string) (string, error) {
	talk := []said{{Role: "user", Content: text}}
	for range maxCalls {
		got, err := w.once(req, talk)
		if err != nil || len(got.Calls) == 0 {
			return got.Content, err
		}
		talk = append(talk, got)
		for range got.Calls {
			talk = append(talk, said{Role: "tool", Content: "done", Answers: "c"})
		}
	}
	return "", fmt.Errorf("the model asked for tools %d times", maxCalls)
}

// once makes one model call and puts the pieces of the stream together.
func (w *Web) once(req *http.Request, talk []said) (said, error) {
	got := said{Role: "assistant"}
	body, err := json.Marshal(map[string]any{"model": "echo", "stream": true, "messages": talk})
	if err != nil {
		return got, err
	}
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, w.model+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	out.Header.Set("Content-Type", "application/json")
	in, err := w.call.Do(out)
	if err != nil {
		return got, err
	}
	defer func() { _ = in.Body.Close() }()
	stream, err := io.ReadAll(in.Body)
	if err != nil {
		return got, err
	}
	var b strings.Builder
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var c struct {
			Choices []struct {
				Delta said `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return got, fmt.Errorf("stream: %w", err)
		}
		for _, ch := range c.Choices {
			b.WriteString(ch.Delta.Content)
			got.Calls = append(got.Calls, ch.Delta.Calls...)
		}
	}
	got.Content = b.String()
	return got, nil
}

func answer(res http.ResponseWriter, status int, v any) {
	res.Header().Set("Content-Type", "application/json")
	res.WriteHeader(status)
	_ = json.NewEncoder(res).Encode(v)
}
