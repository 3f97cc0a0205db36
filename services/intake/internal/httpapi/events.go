package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

const heartbeat = 15 * time.Second

// getEvents streams the history of a session from a cursor on, then what comes.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	sid, err := who.session(arg)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	since, err := sinceOf(r)
	if err == nil && since > 0 {
		err = s.known(r.Context(), since)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	st := &stream{w: httpguard.NewWriter(w, s.config.Stall), give: cancel}
	if err := st.begin(); err != nil {
		return // gone before it began
	}
	defer st.end()
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		s.beat(ctx, cancel, st)
	}()
	defer func() { cancel(); <-beats }()
	if r.URL.Query().Get("live") == "1" {
		if err := s.feed.SubscribeLive(ctx, sid, st.delta); err != nil {
			st.problem(s.problemOf(r, err))
			return
		}
	}
	err = s.feed.Follow(ctx, bus.ReplayOptions{From: since + 1, Session: sid}, st.event)
	if err != nil && ctx.Err() == nil {
		st.problem(s.problemOf(r, err))
	}
}

// known refuses a cursor that the journal has not reached: it is of another one, and this one would have nothing to say
// until it gets there.
func (s *Server) known(ctx context.Context, cursor uint64) error {
	u, err := s.feed.Journal().Usage(ctx)
	if err == nil && cursor > u.Last {
		err = fault.New(fault.Invalid, "cursor %d is not of this journal, which ends at %d: begin without one", cursor, u.Last)
	}
	return err
}

// beat sends a comment now and then, so that a dead connection is found, and ends the stream when the server drains.
func (s *Server) beat(ctx context.Context, cancel context.CancelFunc, st *stream) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			st.comment()
		case <-s.draining:
			cancel()
			return
		case <-ctx.Done():
			return
		}
	}
}

// sinceOf is the cursor after which to begin. A browser that reconnects says it in a header, which is newer.
func sinceOf(r *http.Request) (uint64, error) {
	name, v := "since", r.URL.Query().Get("since")
	if h := r.Header.Get("Last-Event-ID"); h != "" {
		name, v = "Last-Event-ID", h
	}
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%s %q: want a cursor, a whole number", name, v)
	}
	return n, nil
}

// stream writes server-sent events. Each has the time of a stall to leave; after the first that does not, nothing more is
// written and the request ends.
type stream struct {
	mu   sync.Mutex // guards w, buf and done: the journal, deltas and heartbeats write in turn
	w    *httpguard.Writer
	buf  []byte
	done bool
	give context.CancelFunc // ends the request
}

var errStream = errors.New("the stream has ended")

func (st *stream) begin() error {
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h.Set("X-Accel-Buffering", "no") // a proxy that would collect events is told not to
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.write(func(b []byte) []byte { return append(b, ": jetclaw\n\n"...) })
}

// end keeps whoever still holds the stream from writing to a finished request.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done = true
}

// event writes one event of the journal; an error ends the following.
func (st *stream) event(e envelope.Event) error {
	line, err := envelope.LineOf(e)
	if err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.write(func(b []byte) []byte {
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, e.Cursor, 10)
		b = append(append(b, "\ndata: "...), line...)
		return append(b, "\n\n"...)
	})
}

// delta writes live data. While it waits for a slow client the subscription fills and then loses messages, as it may.
func (st *stream) delta(data []byte) {
	if bytes.ContainsAny(data, "\r\n") {
		var one bytes.Buffer
		if json.Compact(&one, data) != nil {
			return
		}
		data = one.Bytes()
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	_ = st.named("delta", data) // its failure ended the stream
}

func (st *stream) comment() {
	st.mu.Lock()
	defer st.mu.Unlock()
	_ = st.write(func(b []byte) []byte { return append(b, ": \n\n"...) }) // its failure ended the stream
}

// problem is the last thing that a stream says.
func (st *stream) problem(p problem) {
	b, err := json.Marshal(p)
	if err != nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	_ = st.named("error", b) // its failure ended the stream
}

// named and write need mu.
func (st *stream) named(event string, data []byte) error {
	return st.write(func(b []byte) []byte {
		b = append(append(b, "event: "...), event...)
		b = append(append(b, "\ndata: "...), data...)
		return append(b, "\n\n"...)
	})
}

func (st *stream) write(fill func([]byte) []byte) error {
	if st.done {
		return errStream
	}
	st.buf = fill(st.buf[:0])
	_, err := st.w.Write(st.buf)
	if err == nil {
		err = st.w.FlushError()
	}
	if err != nil {
		st.done = true
		st.give()
	}
	return err
}
