package actor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var outside = bus.Spec{Name: "intake", Appends: []string{"message.received"}, Follows: true}

// startWorker runs an actor on a connection of its own. die cuts the connection in the middle of whatever goes on, as a
// killed process does; the returned channel closes when no goroutine of it is left.
func startWorker(t *testing.T, srv *bustest.Server, m actor.Machine[queue]) (a *actor.Actor[queue], die func(), gone <-chan struct{}) {
	t.Helper()
	c := srv.Connect(t, "turns")
	a, err := actor.New(m, c, spec, actor.Options{Drain: time.Millisecond, SnapshotEvery: 4})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("worker: %v", err)
		}
	}()
	return a, func() { cancel(); c.NATS().Close() }, done
}

// TestWorkersOnJetStream: several workers on a real server, killed one after the other while messages come in.
func TestWorkersOnJetStream(t *testing.T) {
	srv := bustest.New(t, spec, outside)
	in := srv.Connect(t, "intake")
	const sessions, messages = 12, 8

	var mu sync.Mutex
	answered := map[session.ID][]string{}
	total := 0
	all := make(chan struct{})
	watch, stopWatch := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() {
		followed <- in.Follow(watch, bus.ReplayOptions{}, func(ev envelope.Event) error {
			if err := judgeOne(ev, answered, &mu); err != nil {
				return err
			}
			if ev.Kind() == "turn.completed" {
				if total++; total == sessions*messages {
					close(all)
				}
			}
			return nil
		})
	}()

	var senders sync.WaitGroup
	for s := range sessions {
		senders.Go(func() {
			for m := range messages {
				ev := envelope.Event{ID: fmt.Sprint("m", m), Key: fmt.Sprint(m), Session: sessionID(t, s), Body: messagev1.Received{Text: "hi"}}
				if _, err := in.Journal().AppendFact(t.Context(), ev, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		_, die, gone := startWorker(t, srv, machineOf(30*time.Millisecond))
		_, die2, gone2 := startWorker(t, srv, machineOf(30*time.Millisecond))
		select {
		case <-time.After(120 * time.Millisecond):
		case <-all:
		}
		die()
		<-gone
		die2()
		<-gone2
	}
	last, die, gone := startWorker(t, srv, machineOf(time.Millisecond))
	senders.Wait()
	select {
	case <-all:
	case <-time.After(60 * time.Second):
		mu.Lock()
		t.Errorf("only %d of %d messages were answered: %v", total, sessions*messages, answered)
		mu.Unlock()
	}
	stopWatch()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	for s := range sessions {
		state, _, err := last.Fold(t.Context(), sessionID(t, s), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Inbox) > 0 || len(state.Done) != messages {
			t.Errorf("session %d: answered %v, waiting %v", s, state.Done, state.Inbox)
		}
	}
	die()
	<-gone
}

// judgeOne notes an answer, and finds one that is given twice.
func judgeOne(ev envelope.Event, answered map[session.ID][]string, mu *sync.Mutex) error {
	if ev.Kind() != "turn.completed" {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range ev.Body.(turnv1.Completed).Answers {
		if slices.Contains(answered[ev.Session], id) {
			return fmt.Errorf("%s: %s was answered twice", ev.Session, id)
		}
		answered[ev.Session] = append(answered[ev.Session], id)
	}
	return nil
}

// deadLetters waits for n of them, and returns why they are there.
func deadLetters(t *testing.T, srv *bustest.Server, n int) (reasons []string) {
	t.Helper()
	dead, err := srv.Admin().JetStream().Stream(t.Context(), subject.Dead)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); len(reasons) < n; {
		m, err := dead.GetMsg(t.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-t.Context().Done():
				t.Fatal(err)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var advisory struct{ Reason string }
		if err := json.Unmarshal(m.Data, &advisory); err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, advisory.Reason)
		seq++
	}
	return reasons
}

// TestPanicIsVisible: the bell of a session over which the machine panics is in the dead letters, with the reason; the
// other session is answered.
func TestPanicIsVisible(t *testing.T) {
	srv := bustest.New(t, spec, outside)
	in := srv.Connect(t, "intake")
	_, die, gone := startWorker(t, srv, machineOf(0))
	defer func() { die(); <-gone }()
	answered := make(chan session.ID, 1)
	if err := srv.Admin().Watch(t.Context(), []string{"turn.completed"}, func(ev envelope.Event) { answered <- ev.Session }); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{poison, "hi"} {
		ev := envelope.Event{Key: "k", Session: sessionID(t, i), Body: messagev1.Received{Text: text}}
		if _, err := in.Journal().AppendFact(t.Context(), ev, 0); err != nil {
			t.Fatal(err)
		}
	}
	if s := <-answered; s != sessionID(t, 1) {
		t.Errorf("%s was answered", s)
	}
	if r := deadLetters(t, srv, 1); !strings.Contains(r[0], "panicked: poison") {
		t.Errorf("dead letter %q", r)
	}
}

// TestServerRestarts: the server is replaced, again and again, while effects run and events are appended. All is answered
// once and in order, and no effect is done a second time for that.
func TestServerRestarts(t *testing.T) {
	srv := bustest.New(t, spec, outside)
	in := srv.Connect(t, "intake")
	const sessions, messages = 6, 5
	m := machineOf(150 * time.Millisecond)
	perform := m.Perform
	var effects atomic.Int64
	m.Perform = func(ctx context.Context, w actor.Work[queue]) (envelope.Body, error) {
		effects.Add(1)
		return perform(ctx, w)
	}
	last, die, gone := startWorker(t, srv, m)
	defer func() { die(); <-gone }()
	for i := range sessions * messages {
		ev := envelope.Event{ID: fmt.Sprint("m", i), Key: fmt.Sprint(i), Session: sessionID(t, i%sessions), Body: messagev1.Received{Text: "hi"}}
		if _, err := in.Journal().AppendFact(t.Context(), ev, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		srv.Restart()
		<-time.After(100 * time.Millisecond)
	}
	limit := time.After(60 * time.Second)
	for s := range sessions {
		for done := false; !done; {
			state, _, err := last.Fold(t.Context(), sessionID(t, s), 0)
			if err != nil {
				t.Fatal(err)
			}
			if done = len(state.Done) == messages; done {
				break
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-limit:
				t.Fatalf("session %d: answered %v, waiting %v", s, state.Done, state.Inbox)
			}
		}
	}
	var events []envelope.Event
	if err := in.Replay(t.Context(), bus.ReplayOptions{}, func(ev envelope.Event) error {
		events = append(events, ev)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for s := range sessions {
		var own []envelope.Event
		for _, e := range events {
			if e.Session == sessionID(t, s) {
				own = append(own, e)
			}
		}
		if err := judge(sessionID(t, s), own, queue{}); err != nil {
			t.Errorf("session %d: %v", s, err)
		}
	}
	if n := effects.Load(); n != sessions*messages {
		t.Errorf("%d effects for %d messages", n, sessions*messages)
	}
}

// TestAMessageThatIsNoEventDoesNotEndItsSession: something without an envelope in the middle of a history is stepped over.
func TestAMessageThatIsNoEventDoesNotEndItsSession(t *testing.T) {
	srv := bustest.New(t, spec, outside)
	in := srv.Connect(t, "intake")
	s := sessionID(t, 0)
	answered := make(chan []string, 4)
	if err := in.Watch(t.Context(), []string{"turn.completed"}, func(ev envelope.Event) {
		answered <- ev.Body.(turnv1.Completed).Answers
	}); err != nil {
		t.Fatal(err)
	}
	say := func(key string) {
		ev := envelope.Event{ID: key, Key: key, Session: s, Body: messagev1.Received{Text: "hi"}}
		if _, err := in.Journal().AppendFact(t.Context(), ev, 0); err != nil {
			t.Fatal(err)
		}
	}
	_, die, gone := startWorker(t, srv, machineOf(time.Millisecond))
	say("before")
	<-answered
	broken := &nats.Msg{Subject: subject.OfEvent(s, "message.received", ""), Header: nats.Header{"x": {"no envelope"}}}
	if _, err := srv.Admin().JetStream().PublishMsg(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	say("after")
	if got := <-answered; len(got) != 1 || got[0] != "after" {
		t.Errorf("answered %v", got)
	}
	die()
	<-gone
	fresh, die, gone := startWorker(t, srv, machineOf(time.Millisecond)) // folds the whole of it
	state, _, err := fresh.Fold(t.Context(), s, 0)
	if err != nil || len(state.Done) != 2 {
		t.Errorf("%+v, %v", state, err)
	}
	die()
	<-gone
}

// TestPartsOnJetStream: the calls of a few sessions on a real server, begun by a worker that is killed in the middle of
// them. Another goes on with all of them at once, without waiting for what the dead one holds.
func TestPartsOnJetStream(t *testing.T) {
	srv := bustest.New(t, callsSpec, outside)
	in := srv.Connect(t, "intake")
	const sessions, each = 3, 12
	var r running
	k := r.watch(tool{takes: 500 * time.Millisecond, retry: true})
	start := func() (a *actor.Actor[calls], die func(), gone chan struct{}) {
		c := srv.Connect(t, "turns")
		a, err := actor.New(k.machine(), c, callsSpec, actor.Options{Drain: time.Millisecond, SnapshotEvery: 4})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone = make(chan struct{})
		go func() {
			defer close(gone)
			if err := a.Run(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("worker: %v", err)
			}
		}()
		return a, func() { cancel(); c.NATS().Close() }, gone
	}
	_, kill, killed := start()
	counts := map[string]int{}
	begun, all := make(chan struct{}), make(chan struct{})
	if err := in.Watch(t.Context(), []string{"turn.started", "turn.completed"}, func(ev envelope.Event) {
		counts[ev.Kind()]++
		switch {
		case ev.Kind() == "turn.started" && counts["turn.started"] == sessions*each:
			close(begun)
		case ev.Kind() == "turn.completed" && counts["turn.completed"] == sessions*each:
			close(all)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for i := range sessions * each {
		text := fmt.Sprint("call c", i)
		ev := envelope.Event{Key: text, Session: sessionID(t, i%sessions), Body: messagev1.Received{Text: text}}
		if _, err := in.Journal().AppendFact(t.Context(), ev, 0); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	kill()
	<-killed
	a, die, gone := start()
	select {
	case <-all:
	case <-time.After(60 * time.Second):
		t.Error("not all calls are closed")
	}
	for s := range sessions {
		state, _, err := a.Fold(t.Context(), sessionID(t, s), 0)
		if err != nil || len(state.Open) > 0 || len(state.Over) != each {
			t.Errorf("session %d: open %v, over %v, %v", s, state.Open, state.Over, err)
		}
	}
	die()
	<-gone
	if r.most <= sessions {
		t.Errorf("%d effects ran at a time in %d sessions", r.most, sessions)
	}
}
