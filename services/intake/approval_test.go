package intake

import (
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// TestDecisionsAreAnswered: whoever waits for what became of a decision is told at once, and anybody later.
func TestDecisionsAreAnswered(t *testing.T) {
	srv := newBus(t)
	approvals := srv.Connect(t, "approvals")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour }) // so that only news can wake
	s.send(post{"default", "hello", ""})
	ref := approvalv1.Ref{Approval: "abcdefgh234", Turn: "t", Call: "c"}
	for _, tc := range []struct {
		text string
		want messagev1.Decision
		end  func(id string) envelope.Body
		told string
	}{
		{
			"/approve ABCDEFGH234",
			messagev1.Decision{Approval: ref.Approval, Decision: callv1.AllowOnce},
			func(id string) envelope.Body {
				return approvalv1.Decided{Ref: ref, Answer: callv1.Approval{Decision: callv1.AllowOnce}, Answers: []string{id}, Text: "Allowed."}
			}, "Allowed.",
		},
		{
			"/approve always",
			messagev1.Decision{Decision: callv1.AllowAlways},
			func(id string) envelope.Body {
				return noticev1.Posted{Service: "approvals", Answers: []string{"x", id}, Text: "Too late."}
			}, "Too late.",
		},
		{
			"/deny abcdefgh234 not so fast",
			messagev1.Decision{Approval: ref.Approval, Decision: callv1.Deny, Reason: "not so fast"},
			func(id string) envelope.Body {
				return approvalv1.Decided{Ref: ref, Answer: callv1.Approval{Decision: callv1.Deny}, Answers: []string{id}, Text: "Denied."}
			}, "Denied.",
		},
	} {
		t.Run(tc.text, func(t *testing.T) {
			m := s.send(post{"default", tc.text, ""})
			e, err := srv.Admin().Journal().Get(t.Context(), m.Cursor)
			tc.want.From.ID = "http:app"
			if err != nil || e.Body != tc.want {
				t.Fatalf("journal: %#v, %v", e.Body, err)
			}
			if r := s.reply(m.MessageID, ""); r.Status != "pending" {
				t.Fatalf("before: %+v", r)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if r := s.reply(m.MessageID, "60s"); r.Status != "completed" || r.Text != tc.told {
					t.Errorf("waited: %+v", r)
				}
			})
			s.awaitWaiters(topic{appSession, eventID(t, m.MessageID)}, 1)
			appendAs(t, approvals, appSession, tc.end(eventID(t, m.MessageID)))
			wg.Wait()
			s.board.forget(appSession) // as another process, or after a restart
			if r := s.reply(m.MessageID, ""); r.Status != "completed" || r.Text != tc.told {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

func TestDecisionsByControl(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	cli := srv.Connect(t, "cli")
	s.send(post{"default", "hello", ""})
	a, status := s.press(messagev1.Approve, "abcdefgh234 always", "k1")
	if status != http.StatusAccepted {
		t.Fatalf("%d %+v", status, a)
	}
	if again, _ := s.press(messagev1.Deny, "abcdefgh234", "k1"); again != a {
		t.Errorf("the same key: %+v, first %+v", again, a)
	}
	e, err := srv.Admin().Journal().Get(t.Context(), a.Cursor)
	want := messagev1.Decision{From: messagev1.Sender{ID: "http:app"}, Approval: "abcdefgh234", Decision: callv1.AllowAlways}
	if err != nil || e.Body != want {
		t.Errorf("%#v, %v", e.Body, err)
	}
	ctx := within(t, 10*time.Second)
	r, err := bus.Ask[Receipt](ctx, cli, "intake", "control", Request{Session: string(appSession), Verb: messagev1.Deny, Argument: "no, thanks"})
	if err != nil || r.Status != wire.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	e, err = srv.Admin().Journal().Get(t.Context(), r.Cursor)
	want = messagev1.Decision{From: messagev1.Sender{ID: local}, Decision: callv1.Deny, Reason: "no, thanks"}
	if err != nil || e.Body != want {
		t.Errorf("%#v, %v", e.Body, err)
	}
	for name, tc := range map[string]struct {
		session string
		req     Request
		want    fault.Kind
	}{
		"no such session": {"main.terminal.local.never", Request{Verb: messagev1.Approve}, fault.NotFound},
		"an unclear yes":  {string(appSession), Request{Verb: messagev1.Approve, Argument: "yes"}, fault.Invalid},
		"a long reason":   {string(appSession), Request{Verb: messagev1.Deny, Argument: Text(strings.Repeat("x", 501))}, fault.Invalid},
		"as somebody":     {string(appSession), Request{Verb: messagev1.Approve, From: messagev1.Sender{ID: "telegram:1"}}, fault.Denied},
	} {
		tc.req.Session = tc.session
		if _, err := bus.Ask[Receipt](ctx, cli, "intake", "control", tc.req); fault.KindOf(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// TestDecisionsInAFullJournal: a decision lets a running turn go on, and is taken where one waits for it.
func TestDecisionsInAFullJournal(t *testing.T) {
	srv := newBus(t)
	turns, approvals := srv.Connect(t, "turns"), srv.Connect(t, "approvals")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	id := eventID(t, m.MessageID)
	s.send(post{"other", "hello", ""})
	appendAs(t, turns, appSession, turnv1.Started{Claim: turnv1.Claim{Turn: id + "/t", Messages: []string{id}}})
	appendAs(t, approvals, appSession, requested("abcdefgh234", id+"/t", "May it run?"))
	for range 20 { // so that a decision fits into the last 8 %
		s.send(post{"other", "hello", ""})
	}
	nearlyFill(t, srv, s)
	if a, status := s.press(messagev1.Approve, "", ""); status != http.StatusAccepted {
		t.Errorf("one that is waited for: %d %+v", status, a)
	}
	var a answer
	if got := s.call(http.MethodPost, "/v1/messages", appToken, post{"other", "/approve", ""}, &a); got.status != http.StatusInsufficientStorage {
		t.Errorf("one that nobody waits for: %d %+v", got.status, a)
	}
}

func requested(id, turn, text string) approvalv1.Requested {
	return approvalv1.Requested{
		Approval: id, Request: callv1.Request{Turn: turn, Call: "call-" + id}, Text: text,
		Approvers: []string{"local"}, Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// awaiting is a reply with its questions.
type awaiting struct {
	answer
	Approvals []wire.Question `json:"approvals"`
}

func (r *running) awaits(id, query string) awaiting {
	r.t.Helper()
	var a awaiting
	if got := r.call(http.MethodGet, "/v1/messages/"+id+"/reply?"+query, appToken, nil, &a); got.status != http.StatusOK {
		r.t.Fatalf("reply to %s: %d %+v", id, got.status, a)
	}
	return a
}

// TestRepliesThatAwaitAnApproval: who waits for an answer is told at once that a person has to decide first.
func TestRepliesThatAwaitAnApproval(t *testing.T) {
	srv := newBus(t)
	turns, approvals, cli := srv.Connect(t, "turns"), srv.Connect(t, "approvals"), srv.Connect(t, "cli")
	s := startWith(t, srv, func(*Config) {}, func(s *Service) { s.recheck = time.Hour })
	first, second, later := s.send(post{"default", "hello", ""}), s.send(post{"default", "and more", ""}), s.send(post{"default", "later", ""})
	id := eventID(t, first.MessageID)
	turn := id + "/t"
	appendAs(t, turns, appSession, turnv1.Started{Claim: turnv1.Claim{Turn: turn, Messages: []string{id, eventID(t, second.MessageID)}}})
	appendAs(t, turns, appSession, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: turn}, Calls: []turnv1.Call{{ID: "call-abcdefgh234"}}})
	one := wire.Question{ID: "abcdefgh234", Expires: requested("", "", "").Expires, Text: "May it run?"}
	var asked, wg sync.WaitGroup
	for _, m := range []answer{first, second} {
		asked.Go(func() {
			if a := s.awaits(m.MessageID, "wait=60s"); a.Status != "awaiting_approval" || a.Text != one.Text || !reflect.DeepEqual(a.Approvals, []wire.Question{one}) {
				t.Errorf("waited: %+v", a)
			}
		})
	}
	wg.Go(func() { // knows that somebody is asked, and wants the answer
		if a := s.awaits(first.MessageID, "wait=60s&until=answer"); a.Status != "completed" || a.Text != "done" || a.Approvals != nil {
			t.Errorf("waited for the answer: %+v", a)
		}
	})
	wg.Go(func() { // is not of this turn
		if a := s.awaits(later.MessageID, "wait=60s"); a.Status != "failed" || a.Approvals != nil {
			t.Errorf("a message of another turn: %+v", a)
		}
	})
	s.awaitWaiters(topic{appSession, id}, 2)
	s.awaitWaiters(topic{appSession, eventID(t, second.MessageID)}, 1)
	s.awaitWaiters(topic{appSession, eventID(t, later.MessageID)}, 1)
	appendAs(t, approvals, appSession, requested(one.ID, turn, one.Text))
	asked.Wait()
	two := wire.Question{ID: "abcdefgh235", Expires: one.Expires, Text: "And this?"}
	appendAs(t, approvals, appSession, requested(two.ID, turn, two.Text))
	for _, query := range []string{"", "wait=60s", "wait=10ms&until=answer"} {
		s.board.asked(appSession) // as if the news had come: only it is awaited, and lossy
		a := s.awaits(second.MessageID, query)
		if a.Status != "awaiting_approval" || a.Text != "May it run?\n\nAnd this?" || !reflect.DeepEqual(a.Approvals, []wire.Question{one, two}) || a.Cursor != 0 {
			t.Errorf("%q: %+v", query, a)
		}
	}
	r, err := bus.Ask[Reply](within(t, 10*time.Second), cli, "intake", "reply", ReplyRequest{Session: string(appSession), MessageID: id, WaitMS: 60_000})
	if err != nil || r.Status != wire.AwaitingApproval || len(r.Approvals) != 2 || r.Text == "" {
		t.Errorf("at the bus: %+v, %v", r, err)
	}
	ref := approvalv1.Ref{Approval: one.ID, Turn: turn, Call: "call-" + one.ID}
	appendAs(t, approvals, appSession, approvalv1.Decided{Ref: ref, Answer: callv1.Approval{Decision: callv1.Deny}, Text: "Denied."})
	if a := s.awaits(first.MessageID, ""); a.Text != two.Text || len(a.Approvals) != 1 {
		t.Errorf("one is left: %+v", a)
	}
	ref.Approval = two.ID
	appendAs(t, approvals, appSession, approvalv1.Expired{Ref: ref, Text: "Too late."})
	if a := s.awaits(first.MessageID, ""); a.Status != "pending" || a.Text != "" || a.Approvals != nil {
		t.Errorf("nobody is asked any more: %+v", a)
	}
	appendAs(t, turns, appSession, turnv1.Completed{Outcome: turnv1.Outcome{Turn: turn}, Answers: []string{id, eventID(t, second.MessageID)}, Text: "done"})
	appendAs(t, turns, appSession, turnv1.Failed{Answers: []string{eventID(t, later.MessageID)}, Text: "no"})
	wg.Wait()
	var a answer
	if got := s.call(http.MethodGet, "/v1/messages/"+first.MessageID+"/reply?until=dawn", appToken, nil, &a); got.status != http.StatusBadRequest || !strings.Contains(a.Error, "until") {
		t.Errorf("%d %+v", got.status, a)
	}
}

// TestQuestionsThatDoNotFit: what is shown is whole or not at all.
func TestQuestionsThatDoNotFit(t *testing.T) {
	srv := newBus(t)
	turns, approvals := srv.Connect(t, "turns"), srv.Connect(t, "approvals")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	id := eventID(t, m.MessageID)
	appendAs(t, turns, appSession, turnv1.Started{Claim: turnv1.Claim{Turn: "t", Messages: []string{id}}})
	long := strings.Repeat("x", maxAsked)
	for i, text := range []string{"small", long, "also small"} {
		appendAs(t, approvals, appSession, requested("abcdefgh23"+string(rune('a'+i)), "t", text))
	}
	s.board.asked(appSession)
	a := s.awaits(m.MessageID, "")
	if len(a.Approvals) != 3 || a.Approvals[0].Text != "small" || a.Approvals[1].Text != "" || a.Approvals[2].Text != "also small" {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(a.Text, "abcdefgh23b is asked for, too") || strings.Contains(a.Text, "xxx") {
		t.Errorf("text %.200q", a.Text)
	}
}
