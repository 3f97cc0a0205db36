package intake

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestWaitersAreWoken(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour }) // so that only news can wake
	for _, tc := range []struct {
		name         string
		end          func(id string) any
		status, text string
	}{
		{"completed", func(id string) any { return turnv1.Completed{Answers: []string{id}, Text: "hi"} }, "completed", "hi"},
		{"long", func(id string) any {
			return turnv1.Completed{Answers: []string{id}, Text: strings.Repeat("x", 100<<10)}
		}, "completed", strings.Repeat("x", 100<<10)},
		{"failed", func(id string) any { return turnv1.Failed{Answers: []string{id}, Text: "no model"} }, "failed", "no model"},
		{"cancelled", func(id string) any { return turnv1.Cancelled{Answers: []string{id}} }, "cancelled", cancelledText},
		{"made way", func(id string) any {
			return turnv1.Cancelled{Answers: []string{id}, Reason: turnv1.QueueFull, Text: "Too many wait."}
		}, "cancelled", "Too many wait."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := s.send(post{"default", "hello", ""})
			if r := s.reply(m.MessageID, ""); r.Status != "pending" || r.Text != "" || r.MessageID != m.MessageID {
				t.Fatalf("before: %+v", r)
			}
			id := eventID(t, m.MessageID)
			body, ok := tc.end(id).(turnv1.Event)
			if !ok {
				t.Fatal("not an event")
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if r := s.reply(m.MessageID, "60s"); r.Status != tc.status || r.Text != tc.text {
						t.Errorf("waited: %.200v", r)
					}
				})
			}
			s.awaitWaiters(topic{appSession, id}, 3)
			appendAs(t, turns, appSession, body)
			wg.Wait()
			if r := s.reply(m.MessageID, "60s"); r.Status != tc.status || r.Text != tc.text {
				t.Errorf("afterwards: %.200v", r)
			}
		})
	}
}

func TestWaitersLookThemselves(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, m.MessageID)}, Text: "hi"})
	// Another process's message whose news was lost: the board knows nothing of it.
	s.board.mu.Lock()
	clear(s.board.notes)
	s.board.mu.Unlock()
	if r := s.reply(m.MessageID, "60s"); r.Status != "completed" || r.Text != "hi" {
		t.Errorf("%+v", r)
	}
}

func TestOpenCallsStayPending(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	appendAs(t, turns, appSession, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c"}}})
	if r := s.reply(m.MessageID, "10ms"); r.Status != "pending" {
		t.Errorf("%+v", r)
	}
}
