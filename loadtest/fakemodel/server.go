package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/marker"
)

const (
	maxBody  = 32 << 20
	maxEcho  = 2000 // runes of the person's text that are repeated
	nPieces  = 4    // of a streamed answer
	maxTally = 1 << 20
)

// Options of a server; the zero value answers at once and never fails.
type Options struct {
	Delay Delay
	Fail  Plan // nil: never, unless a message asks for it
	Seed  uint64
}

// Tally is what the model was asked about one marker.
type Tally struct {
	Requests int           // that came in
	Finished int           // whose answer was written to its end
	Took     time.Duration // of the last finished: from the request's first line read to the answer's last byte written
}

// Server is a running fake model. Its methods may be called from any goroutine.
type Server struct {
	o     Options
	dice  *dice
	http  http.Server
	url   string
	done  chan struct{}
	open  atomic.Int64
	total atomic.Int64

	mu    sync.Mutex
	tally map[string]*Tally // guarded by mu; at most maxTally markers, later ones are not counted
}

// Start listens on addr ("127.0.0.1:0") and serves until Close.
func Start(addr string, o Options) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("fake model: %w", err)
	}
	s := &Server{o: o, dice: newDice(o.Seed), tally: map[string]*Tally{}, done: make(chan struct{})}
	s.url = "http://" + l.Addr().String()
	s.http.Handler = s
	s.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // always ErrServerClosed after Close
	}()
	return s, nil
}

// URL is the base for OpenAI clients, "/v1" included.
func (s *Server) URL() string { return s.url + "/v1" }

// Open is the number of requests that are being answered now.
func (s *Server) Open() int { return int(s.open.Load()) }

// Total is the number of requests so far.
func (s *Server) Total() int64 { return s.total.Load() }

// Tally is the count of one marker.
func (s *Server) Tally(m string) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tally[m]; t != nil {
		return *t
	}
	return Tally{}
}

// Close ends all open requests and waits for the server.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.done
}

// ServeHTTP answers the two paths of the wire.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{
			{"id": "echo", "object": "model", "created": 0, "owned_by": "loadtest"},
		}})
	case "POST /v1/chat/completions":
		s.open.Add(1)
		defer s.open.Add(-1)
		s.complete(w, r)
	default:
		refuse(w, http.StatusNotFound, "no such path: "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	n := s.total.Add(1)
	var req request
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	said := req.unanswered()
	marks := marker.All(said)
	s.count(marks, func(t *Tally) { t.Requests++ })

	fail := asked(said)
	if fail == (Failure{}) && s.o.Fail != nil {
		fail = s.o.Fail(n, marker.First(said))
	}
	delay := s.dice.delay(s.o.Delay)
	if !pause(r.Context(), delay/2) {
		return
	}
	switch {
	case fail.Silence:
		<-r.Context().Done()
		return
	case fail.Status != 0:
		refuse(w, fail.Status, "failed by plan")
		return
	case fail.Garbage:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\": [}\n\n<html>not an answer</html>\n")
		return
	}
	answer := "You said: " + clip(said)
	a := completion{ID: fmt.Sprintf("chatcmpl-%d", n), Created: began.Unix(), Model: req.Model}
	var ok bool
	if req.Stream {
		ok = stream(r.Context(), w, req, a, answer, fail.Cut, delay-delay/2)
	} else {
		ok = plain(r.Context(), w, req, a, answer, fail.Cut, delay-delay/2)
	}
	if ok {
		took := time.Since(began)
		s.count(marks, func(t *Tally) { t.Finished++; t.Took = took })
	}
}

func (s *Server) count(marks []string, f func(*Tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range marks {
		t := s.tally[m]
		if t == nil {
			if len(s.tally) >= maxTally {
				continue
			}
			t = &Tally{}
			s.tally[m] = t
		}
		f(t)
	}
}

func clip(text string) string {
	r := []rune(text)
	if len(r) > maxEcho {
		return string(r[:maxEcho]) + "…"
	}
	return text
}

var finished = "stop" // the finish_reason of every whole answer

func plain(ctx context.Context, w http.ResponseWriter, req request, a completion, answer string, cut bool, delay time.Duration) bool {
	if !pause(ctx, delay) {
		return false
	}
	u := req.usage(answer)
	a.Object, a.Usage = "chat.completion", &u
	a.Choices = []choice{{Message: &delta{Role: "assistant", Content: answer}, FinishReason: &finished}}
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // our own struct of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if cut {
		_, _ = w.Write(b[:len(b)/2])
		panic(http.ErrAbortHandler) // closes the connection without an end
	}
	_, err = w.Write(b)
	return err == nil
}

func stream(ctx context.Context, w http.ResponseWriter, req request, a completion, answer string, cut bool, delay time.Duration) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	a.Object = "chat.completion.chunk"
	send := func(c choice, u *usage) bool {
		a.Choices, a.Usage = []choice{c}, u
		if u != nil {
			a.Choices = []choice{} // the usage chunk has none
		}
		b, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		_, err = fmt.Fprintf(w, "data: %s\n\n", b)
		return err == nil
	}
	parts := pieces(answer, nPieces)
	for i, p := range parts {
		if cut && i >= len(parts)/2 {
			_ = flush.Flush()
			panic(http.ErrAbortHandler)
		}
		d := delta{Content: p}
		if i == 0 {
			d.Role = "assistant"
		}
		if !send(choice{Delta: &d}, nil) || flush.Flush() != nil || !pause(ctx, delay/time.Duration(len(parts))) {
			return false
		}
	}
	ok := send(choice{Delta: &delta{}, FinishReason: &finished}, nil)
	if req.StreamOptions.IncludeUsage {
		u := req.usage(answer)
		ok = ok && send(choice{}, &u)
	}
	_, err := io.WriteString(w, "data: [DONE]\n\n")
	return ok && err == nil && flush.Flush() == nil
}

func refuse(w http.ResponseWriter, status int, text string) {
	var e apiError
	e.Error.Message, e.Error.Type, e.Error.Code = text, "fake_model_error", fmt.Sprint(status)
	writeJSON(w, status, e)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
