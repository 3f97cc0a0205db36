package intake

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// press posts a command to the session "default".
func (r *running) press(verb messagev1.Verb, argument, key string) (answer, int) {
	r.t.Helper()
	var a answer
	body := map[string]string{"verb": string(verb), "argument": argument, "idempotency_key": key}
	got := r.call(http.MethodPost, "/v1/sessions/default/control", appToken, body, &a)
	return a, got.status
}

// TestCommandsAreAnswered: whoever waits for a command's answer is told it at once, and anybody later.
func TestCommandsAreAnswered(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour }) // so that only news can wake
	s.send(post{"default", "hello", ""})
	for _, tc := range []struct {
		text                string
		end                 func(id string) envelope.Body
		status, told, cause string
	}{
		{"/status", func(id string) envelope.Body {
			return noticev1.Posted{Service: "turns", Text: "All is well.", Answers: []string{"x", id}}
		}, "completed", "All is well.", ""},
		{"/model a/b", func(id string) envelope.Body {
			return turnv1.SessionConfigured{By: id, Text: "The model is a/b."}
		}, "completed", "The model is a/b.", ""},
		{"/compact", func(id string) envelope.Body {
			return turnv1.SessionCompacted{By: id, Summary: "s", Text: "Compacted."}
		}, "completed", "Compacted.", ""},
		{"/compact", func(id string) envelope.Body {
			return turnv1.CompactionFailed{By: id, Cause: turnv1.TimedOut, Text: "It took too long."}
		}, "failed", "It took too long.", "timed_out"},
		{"/new", func(id string) envelope.Body {
			return turnv1.SessionReset{By: id, Text: "All is new."}
		}, "completed", "All is new.", ""},
		{"/reset", func(id string) envelope.Body { return turnv1.SessionReset{By: id} }, "completed", resetText, ""},
		{"/new keep", func(id string) envelope.Body {
			return turnv1.SessionCompacted{By: id, Summary: "s", Text: "A new beginning with a summary."}
		}, "completed", "A new beginning with a summary.", ""},
		{"/stop", func(id string) envelope.Body {
			return noticev1.Posted{Service: "turns", Text: "There is nothing to stop.", Answers: []string{id}}
		}, "completed", "There is nothing to stop.", ""},
		{"/stop", func(id string) envelope.Body {
			return turnv1.Cancelled{Answers: []string{"x"}, By: id}
		}, "completed", cancelledText, ""},
		{"/queue", func(id string) envelope.Body {
			return turnv1.Cancelled{Answers: []string{id}, Reason: turnv1.Stopped}
		}, "cancelled", cancelledText, "stopped"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			m := s.send(post{"default", tc.text, ""})
			if r := s.reply(m.MessageID, ""); r.Status != "pending" || r.Text != "" {
				t.Fatalf("before: %+v", r)
			}
			want := answer{MessageID: m.MessageID, Session: appSession, Status: tc.status, Text: tc.told, Cause: tc.cause}
			var wg sync.WaitGroup
			wg.Go(func() {
				r := s.reply(m.MessageID, "60s")
				if want.Cursor = r.Cursor; r != want {
					t.Errorf("waited: %+v, want %+v", r, want)
				}
			})
			s.awaitWaiters(topic{appSession, eventID(t, m.MessageID)}, 1)
			at := appendAs(t, turns, appSession, tc.end(eventID(t, m.MessageID)))
			wg.Wait()
			s.board.forget(appSession) // as another process, or after a restart
			if r := s.reply(m.MessageID, ""); r != want || r.Cursor != at {
				t.Errorf("afterwards: %+v, want %+v at %d", r, want, at)
			}
		})
	}
}

// TestStopAnswersItself: one event cancels messages and completes the stop, whoever tells it: news, notes that are too
// long to keep, or the journal.
func TestStopAnswersItself(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour })
	for _, text := range []string{"Stopped, and 1 waiting message dropped.", strings.Repeat("x", boardText+1)} {
		first, second := s.send(post{"default", "hello", ""}), s.send(post{"default", "and more", ""})
		var stop answer
		if got := s.call(http.MethodPost, "/v1/sessions/default/stop", appToken, nil, &stop); got.status != http.StatusAccepted {
			t.Fatalf("%d %+v", got.status, stop)
		}
		if r := s.reply(stop.MessageID, ""); r.Status != "pending" {
			t.Fatalf("before: %+v", r)
		}
		check := func(m answer, wait, status, cause string) {
			if r := s.reply(m.MessageID, wait); r.Status != status || r.Text != text || r.Cause != cause {
				t.Errorf("%.200v, want %s", r, status)
			}
		}
		all := func(wait string) {
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { check(stop, wait, "completed", "") })
			wg.Go(func() { check(first, wait, "cancelled", "stopped") })
			wg.Go(func() { check(second, wait, "cancelled", "stopped") })
		}
		var wg sync.WaitGroup
		wg.Go(func() { all("60s") })
		for _, m := range []answer{first, second, stop} {
			s.awaitWaiters(topic{appSession, eventID(t, m.MessageID)}, 1)
		}
		appendAs(t, turns, appSession, turnv1.Cancelled{
			Turn: "t", Answers: []string{eventID(t, first.MessageID), eventID(t, second.MessageID)},
			By: eventID(t, stop.MessageID), Reason: turnv1.Stopped, Text: text,
		})
		wg.Wait()
		all("") // from the notes
		s.board.forget(appSession)
		all("") // from the journal
	}
}

func TestControlOverHTTP(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	first, status := s.press(messagev1.Model, " a/b ", "k1") // a session may begin with it
	if status != http.StatusAccepted {
		t.Fatalf("%d %+v", status, first)
	}
	if again, _ := s.press(messagev1.Model, "c/d", "k1"); again != first {
		t.Errorf("again: %+v, first %+v", again, first)
	}
	e, err := srv.Admin().Journal().Get(t.Context(), first.Cursor)
	if want := (messagev1.Control{From: messagev1.Sender{ID: "http:app"}, Verb: messagev1.Model, Argument: "a/b"}); err != nil || e.Body != want {
		t.Errorf("%+v, %v", e.Body, err)
	}
	appendAs(t, turns, appSession, turnv1.SessionConfigured{By: eventID(t, first.MessageID), Text: "yes"})
	if r := s.reply(first.MessageID, "10s"); r.Status != "completed" || r.Text != "yes" {
		t.Errorf("%+v", r)
	}
	kept, status := s.press(messagev1.New, "keep", "")
	if status != http.StatusAccepted {
		t.Fatalf("%d %+v", status, kept)
	}
	if r := s.reply(kept.MessageID, "10ms"); r.Status != "pending" {
		t.Errorf("new keep is done when it is done: %+v", r)
	}
	for _, tc := range []struct {
		verb     messagev1.Verb
		argument string
		status   int
		want     string
	}{
		{"", "", 400, "want stop"},
		{"dance", "", 400, "want stop"},
		{messagev1.New, "hello", 400, "stands alone"},
		{messagev1.Model, "a\nb", 400, "one line"},
		{messagev1.Queue, strings.Repeat("x", 201), 400, "too long"},
	} {
		if a, status := s.press(tc.verb, tc.argument, ""); status != tc.status || !strings.Contains(a.Error, tc.want) {
			t.Errorf("%s %.10q: %d %+v", tc.verb, tc.argument, status, a)
		}
	}
	var a answer
	if got := s.call(http.MethodPost, "/v1/sessions/main.http.other.x/control", appToken, map[string]string{"verb": "status"}, &a); got.status != http.StatusForbidden {
		t.Errorf("another token's session: %d %+v", got.status, a)
	}
}

func TestControlEndpoint(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	cli := srv.Connect(t, "cli")
	ctx := within(t, 10*time.Second)
	s.send(post{"default", "hello", ""})
	for _, verb := range []messagev1.Verb{
		messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status,
	} {
		req := Request{Session: string(appSession), Verb: verb, Key: string(verb)}
		for range 2 {
			if r, err := bus.Ask[Receipt](ctx, cli, "intake", "control", req); err != nil || r.Status != wire.Pending {
				t.Errorf("%s: %+v, %v", verb, r, err)
			}
		}
	}
	if _, err := bus.Ask[Receipt](ctx, cli, "intake", "control", Request{Session: string(appSession), Verb: "dance"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	if _, err := bus.Ask[Receipt](ctx, cli, "intake", "control", Request{Session: "main.terminal.local.never", Verb: messagev1.New}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if got := history(t, srv, appSession); len(got) != 7 || slices.Contains(got, "message.refused.v1") {
		t.Errorf("journal: %v", got)
	}
}

// TestReplyOfADeletedSession: nobody waits for what is gone.
func TestReplyOfADeletedSession(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour })
	answered, waits := s.send(post{"default", "hello", ""}), s.send(post{"default", "/status", ""})
	appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, answered.MessageID)}, Text: strings.Repeat("x", boardText+1)})
	if r := s.reply(answered.MessageID, "10s"); r.Status != "completed" {
		t.Fatalf("%+v", r)
	}
	get := func(id string) int {
		var a answer
		return s.call(http.MethodGet, "/v1/messages/"+id+"/reply?wait=60s", appToken, nil, &a).status
	}
	begun := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		if status := get(waits.MessageID); status != http.StatusNotFound {
			t.Errorf("a waiter is told %d", status)
		}
	})
	s.awaitWaiters(topic{appSession, eventID(t, waits.MessageID)}, 1)
	stone := appendAs(t, turns, appSession, turnv1.SessionDeleted{By: "retention"})
	if _, err := bus.PurgeSession(t.Context(), srv.Admin(), appSession, stone); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if d := time.Since(begun); d > 30*time.Second {
		t.Errorf("a waiter is told after %s", d)
	}
	for _, m := range []answer{answered, waits} {
		if status := get(m.MessageID); status != http.StatusNotFound {
			t.Errorf("asked later: %d", status)
		}
	}
	if a, status := s.press(messagev1.Status, "", ""); status != http.StatusNotFound {
		t.Errorf("a question to a deleted session: %d %+v", status, a)
	}
	s.send(post{"default", "hello again", ""})
	if a, status := s.press(messagev1.Status, "", ""); status != http.StatusAccepted {
		t.Errorf("a question to one that begins again: %d %+v", status, a)
	}
}
