package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

const (
	maxBody = 32 << 20
	nPieces = 4 // of a streamed answer
)

// Options of a server; the zero value answers at once and never fails.
type Options struct {
	Delay Delay
	Fail  Plan // nil: never, unless a message asks for it
	Seed  uint64
	// OnCall is called when an answer that asks for a tool is on its way; nil for nobody. It must not block.
	OnCall func()
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

	mu   sync.Mutex
	book book // guarded by mu
}

// Start listens on addr ("127.0.0.1:0") and serves until Close.
func Start(addr string, o Options) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("fake model: %w", err)
	}
	s := &Server{o: o, dice: newDice(o.Seed), book: newBook(), done: make(chan struct{})}
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

// Root is the base for Anthropic's clients.
func (s *Server) Root() string { return s.url }

// Open is the number of requests that are being answered now.
func (s *Server) Open() int { return int(s.open.Load()) }

// Total is the number of requests so far.
func (s *Server) Total() int64 { return s.total.Load() }

// Close ends all open requests and waits for the server.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.done
}

// HangUp closes the connections on which nothing is asked, as they cost whoever keeps them.
func (s *Server) HangUp() {
	s.http.SetKeepAlivesEnabled(false)
	s.http.SetKeepAlivesEnabled(true)
}

// wire is one of the protocols. One value serves one request.
type wire interface {
	read(body []byte) (talk, error)
	refuse(w http.ResponseWriter, status int, text string)
	answer(ctx context.Context, w http.ResponseWriter, t talk, a answer, o options)
}

// options of one answer.
type options struct {
	n     int64
	cut   bool
	delay time.Duration // until its end
	whole func()        // is called before the last bytes are written: who has the answer finds it counted
}

// ServeHTTP answers the paths of both wires.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{
			{"id": "echo", "object": "model", "created": 0, "owned_by": "loadtest"},
		}})
	case "GET /counts":
		s.getCounts(w)
	case "POST /v1/chat/completions":
		s.complete(w, r, &chat{})
	case "POST /v1/messages":
		s.complete(w, r, &claude{})
	default:
		(&chat{}).refuse(w, http.StatusNotFound, "no such path: "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, p wire) {
	s.open.Add(1)
	defer s.open.Add(-1)
	began := time.Now()
	n := s.total.Add(1)
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the caller died in the middle
	}
	t, err := p.read(body)
	if err != nil {
		p.refuse(w, http.StatusBadRequest, "body: "+err.Error())
		return
	}
	text := ""
	if !t.summary() { // that one repeats what was answered long ago
		text, _ = t.unanswered()
	}
	marks := slices.Compact(slices.Sorted(slices.Values(marker.All(text)))) // one may stand in a call's arguments, too
	s.do(func(b *book) {
		b.add(t.Model, Count{Calls: 1})
		b.opened(t, 1)
		b.mark(marks, func(c *Tally) { c.Requests++; c.Bytes = len(body) })
	})
	defer s.do(func(b *book) { b.opened(t, -1) })

	fail := s.failure(n, t, text)
	if fail.Status != 0 { // at once, as whoever has too much to do
		s.do(func(b *book) {
			b.add(t.Model, Count{Refused: 1})
			b.mark(marks, func(c *Tally) { c.Refused++ })
		})
		if fail.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fail.After))
		}
		p.refuse(w, fail.Status, "failed by plan")
		return
	}
	delay := s.dice.delay(s.o.Delay) + fail.Slow
	if !pause(r.Context(), delay/2) {
		return
	}
	switch {
	case fail.Silence:
		<-r.Context().Done()
		return
	case fail.Garbage:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\": [}\n\n<html>not an answer</html>\n")
		return
	}
	a := t.answer(n)
	c := Count{Answered: 1}
	c.Input, c.Output = t.tokens(a)
	if t.summary() {
		c.Summaries = 1
	}
	p.answer(r.Context(), w, t, a, options{n, fail.Cut, delay - delay/2, func() {
		took := time.Since(began)
		s.do(func(b *book) {
			b.add(t.Model, c)
			b.mark(marks, func(c *Tally) { c.Finished++; c.Took = took; c.Spent += took })
		})
		if a.call != nil && s.o.OnCall != nil {
			s.o.OnCall()
		}
	}})
}

// failure is what the person asked for, else what the plan says.
func (s *Server) failure(n int64, t talk, text string) Failure {
	if f := asked(text); f != (Failure{}) || s.o.Fail == nil {
		return f
	}
	return s.o.Fail(Ask{N: n, Model: t.Model, Marker: marker.First(text), Summary: t.summary()})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types of strings and numbers
	}
	return b
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v))
}
