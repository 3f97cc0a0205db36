package actor_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var outside = bus.Spec{Name: "intake", Appends: []string{"message.received"}, Follows: true}

// startWorker runs an actor on a connection of its own. die cuts the connection in the middle of whatever goes on, as a
// killed process does; the returned channel closes when no goroutine of it is left.
func startWorker(t *testing.T, srv *bustest.Server, work time.Duration) (a *actor.Actor[queue], die func(), gone <-chan struct{}) {
	t.Helper()
	c := srv.Connect(t, "turns")
	a, err := actor.New(machineOf(work), c, spec, actor.Options{Drain: time.Millisecond, SnapshotEvery: 4})
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
		_, die, gone := startWorker(t, srv, 30*time.Millisecond)
		_, die2, gone2 := startWorker(t, srv, 30*time.Millisecond)
		select {
		case <-time.After(120 * time.Millisecond):
		case <-all:
		}
		die()
		<-gone
		die2()
		<-gone2
	}
	last, die, gone := startWorker(t, srv, time.Millisecond)
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
