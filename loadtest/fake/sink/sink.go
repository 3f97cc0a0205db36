// Package sink is a receiver of pushed replies: an HTTP server that takes every POST, remembers which markers it
// carried and when, and answers 204. It is ordered by arrival and unbounded: a run is.
package sink

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

const maxBody = 1 << 20

// Push is one reply that came in.
type Push struct {
	At     time.Time
	Marker string // the first of the text, "" for none
	Body   string
}

// Sink is a running receiver.
type Sink struct {
	http http.Server
	url  string
	done chan struct{}

	mu     sync.Mutex
	pushes []Push          // guarded by mu
	marked map[string]bool // guarded by mu; markers that have come
}

// Start listens on addr and serves until Close.
func Start(addr string) (*Sink, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("callback sink: %w", err)
	}
	s := &Sink{url: "http://" + l.Addr().String() + "/callback", done: make(chan struct{}), marked: map[string]bool{}}
	s.http.Handler = http.HandlerFunc(s.take)
	s.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // always ErrServerClosed after Close
	}()
	return s, nil
}

// URL is where to push to.
func (s *Sink) URL() string { return s.url }

// Pushes is what came in so far.
func (s *Sink) Pushes() []Push {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Push(nil), s.pushes...)
}

// Count is how many came in so far.
func (s *Sink) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pushes)
}

// Marked is how many replies with a marker have come, repeats not counted.
func (s *Sink) Marked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marked)
}

// Close ends the server.
func (s *Sink) Close() {
	_ = s.http.Close()
	<-s.done
}

func (s *Sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the sender died in the middle: nothing has arrived
	}
	s.mu.Lock()
	m := marker.First(textOf(body))
	s.pushes = append(s.pushes, Push{At: time.Now(), Marker: m, Body: string(body)})
	if m != "" {
		s.marked[m] = true
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// textOf is the text of a pushed reply; of what is no JSON, all of it.
func textOf(body []byte) string {
	var reply struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(body, &reply) == nil && reply.Text != nil {
		return *reply.Text
	}
	return string(body)
}
