package backup_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// work is a bus that much happens on until it is stopped: people post, a worker answers each message, acks its bell then,
// and sets the session's timer; a value and a timer are replaced as fast as it goes.
type work struct {
	t    *testing.T
	srv  *bustest.Server
	stop chan struct{}
	busy sync.WaitGroup

	mu    sync.Mutex
	acked map[uint64]string // guarded by mu: text by cursor

	answered atomic.Int64
}

const (
	posters = 3
	busyKey = "busy"
)

func newWork(t *testing.T, srv *bustest.Server) *work {
	w := &work{t: t, srv: srv, stop: make(chan struct{}), acked: map[uint64]string{}}
	for n := range posters {
		w.busy.Go(func() { w.post(srv.Connect(t, "intake"), n) })
	}
	w.busy.Go(w.replace)
	w.busy.Go(w.answer)
	return w
}

// again calls fn until the work is stopped.
func (w *work) again(fn func(i int) error) {
	for i := 0; ; i++ {
		select {
		case <-w.stop:
			return
		default:
		}
		if err := fn(i); err != nil {
			w.t.Error(err)
			return
		}
	}
}

func (w *work) post(in *bus.Conn, n int) {
	w.again(func(i int) error {
		text := fmt.Sprint(n, " ", i)
		if i%100 == 99 { // a body that goes to the object store
			text += strings.Repeat(" and more", 8<<10)
		}
		s := id(w.t, fmt.Sprint("p", n, "-", i%10))
		cursor, err := in.Journal().AppendFact(w.t.Context(), envelope.Event{Session: s, Body: received(text)}, 0)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acked[cursor] = text
		return err
	})
}

func (w *work) replace() {
	in, worker := w.srv.Connect(w.t, "intake"), w.srv.Connect(w.t, "turns")
	w.again(func(i int) error {
		if err := in.SetValue(w.t.Context(), busyKey, fmt.Append(nil, i)); err != nil {
			return err
		}
		return worker.SetTimer(w.t.Context(), id(w.t, busyKey), time.Now().Add(time.Hour))
	})
}

func (w *work) answer() {
	worker := w.srv.Connect(w.t, "turns")
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	go func() {
		select {
		case <-w.stop:
		case <-ctx.Done():
		}
		cancel()
	}()
	err := worker.Doorbells(ctx, bus.Spec{Name: "turns", Doorbells: turns.Doorbells}, func(b bus.Bell) {
		e := b.Event()
		answer := turnv1.Completed{Outcome: turnv1.Outcome{Turn: e.ID}, Answers: []string{e.ID}, Text: "yes"}
		_, err := worker.Journal().AppendFact(w.t.Context(), envelope.Event{Session: e.Session, Cause: e.ID, Body: answer}, 0)
		if err == nil {
			err = b.Ack()
		}
		if err != nil {
			w.t.Error(err)
		}
		w.answered.Add(1)
	})
	if err != nil {
		w.t.Error(err)
	}
}

func (w *work) soFar() map[uint64]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.acked)
}

func (w *work) end() {
	close(w.stop)
	w.busy.Wait()
}

// until asks again.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); !ok(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not seen", what)
		}
	}
}

// TestUnderLoad: copies that are made while everything moves have all that was acknowledged before, whole chains, and for
// each message an answer or a bell.
func TestUnderLoad(t *testing.T) {
	srv := newBus(t)
	w := newWork(t, srv)
	type taken struct {
		dir    string
		before map[uint64]string
		m      backup.Manifest
	}
	var copies []taken
	for n := range 3 {
		from := w.answered.Load()
		until(t, "answers", func() bool { return w.answered.Load() > from+300 })
		c := taken{before: w.soFar()}
		c.dir, c.m = save(t, srv, backup.Options{})
		copies = append(copies, c)
		if n == 0 { // sessions come and go while the next copies are made
			w.busy.Go(w.purge)
		}
	}
	w.end()
	for _, c := range copies {
		after := restored(t, c.dir)
		check(t, after, c.m, c.before)
		same(t, srv, after, stream(t, c.m, journal))
	}
}

// purge writes to sessions and deletes them at once, one after the other.
func (w *work) purge() {
	in, worker := w.srv.Connect(w.t, "intake"), w.srv.Connect(w.t, "turns")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	w.again(func(i int) error {
		<-tick.C
		s := id(w.t, fmt.Sprint("gone", i))
		for range 3 {
			if _, err := in.Journal().AppendFact(w.t.Context(), envelope.Event{Session: s, Body: received("gone")}, 0); err != nil {
				return err
			}
		}
		stone, err := worker.Journal().AppendFact(w.t.Context(), envelope.Event{Session: s, Body: turnv1.SessionDeleted{By: "test"}}, 0)
		if err != nil {
			return err
		}
		_, err = bus.PurgeSession(w.t.Context(), w.srv.Admin(), s, stone)
		return err
	})
}

func check(t *testing.T, after *bustest.Server, m backup.Manifest, before map[uint64]string) {
	t.Helper()
	there, answered := map[uint64]string{}, map[string]bool{}
	open := map[uint64]string{} // cursor → id
	for _, e := range events(t, after) {
		switch b := e.Body.(type) {
		case messagev1.Received:
			there[e.Cursor], open[e.Cursor] = b.Text, e.ID
		case turnv1.Completed:
			answered[b.Answers[0]] = true
		}
	}
	for cursor, text := range before {
		if there[cursor] != text {
			t.Errorf("cursor %d was acknowledged before and is %.20q, not %.20q", cursor, there[cursor], text)
		}
	}
	for cursor, id := range open {
		if answered[id] {
			delete(open, cursor)
		}
	}
	if v, ok, err := after.Connect(t, "intake").Value(t.Context(), busyKey); !ok || err != nil || len(v) == 0 {
		t.Errorf("a value that was there all the time: %q %v %v", v, ok, err)
	}
	if s := stream(t, m, subject.Timers); s.Messages != 1 || s.First != s.Last {
		t.Errorf("a timer that was there all the time: %+v", s)
	}
	last := post(t, after.Connect(t, "intake"), id(t, "last"), "bell")
	open[last] = "last"
	rang := rung(t, after, func(b bus.Bell) bool { // delivered ones come again when their time to be acked is over
		delete(open, b.Event().Cursor)
		return len(open) == 0
	})
	if len(rang) > len(there) { // those that were answered may ring again, but not all of them
		t.Errorf("%d bells of %d messages", len(rang), len(there))
	}
	t.Logf("%d events, %d of them acknowledged before; %d bells", m.Events(), len(before), len(rang))
}

// same compares the journals byte by byte, but what was deleted since.
func same(t *testing.T, was, is *bustest.Server, s backup.Stream) {
	t.Helper()
	for seq := s.First; seq <= s.Last; seq++ {
		if want := raw(t, was, journal, seq); want != "" && want != raw(t, is, journal, seq) {
			t.Fatalf("cursor %d: %s, was %s", seq, raw(t, is, journal, seq), want)
		}
	}
}
