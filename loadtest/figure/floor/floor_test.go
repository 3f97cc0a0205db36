package floor_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var bells = []store.Bell{
	{Stream: subject.Journal, Name: "turns", Filters: []string{subject.OfKind("message.received")}},
	{Stream: subject.Journal, Name: "outbox", Filters: []string{subject.OfKind("turn.completed"), subject.OfKind("turn.failed")}},
	{Stream: subject.Timers, Name: "timers-turns"},
}

// journal is of n plain turns in one session, overlapping: message i+1 comes in before reply i is out.
func journal(t *testing.T, n int) []store.Record {
	t.Helper()
	s, err := session.New("main", "http", "default", "s")
	if err != nil {
		t.Fatal(err)
	}
	var out []store.Record
	add := func(id string, data int, b envelope.Body) {
		e := envelope.Event{ID: id, Session: s, Cursor: uint64(len(out) + 1), Prev: uint64(len(out)), Body: b}
		out = append(out, store.Record{Event: e, Subject: e.Subject(), Header: 300, Data: data})
	}
	sent := func(i string) { add("s"+i, 40, deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "c" + i, Attempt: 1}}) }
	last := ""
	for i := range n {
		k := string(rune('a' + i))
		add("m"+k, 60, messagev1.Received{Text: "x"})
		if last != "" {
			sent(last)
		}
		c := turnv1.Claim{Turn: "m" + k + "/t", Round: 1, Attempt: 1, Messages: []string{"m" + k}}
		add("t"+k, 200, turnv1.Started{Claim: c})
		if i == 1 { // one turn of another shape
			add("r"+k, 200, turnv1.Resumed{Claim: c})
		}
		add("c"+k, 100, turnv1.Completed{Outcome: turnv1.Outcome{Turn: c.Turn}, Answers: c.Messages})
		last = k
	}
	sent(last)
	return out
}

func TestShapeIsTheMostFrequentTurn(t *testing.T) {
	s, err := floor.ShapeOf(journal(t, 4), bells)
	if err != nil {
		t.Fatal(err)
	}
	want := "message.received(300+60 B) rings turns → turn.started(300+200 B) → turn.completed(300+100 B) rings outbox → delivery.sent(300+40 B)"
	if got := s.String(); got != want {
		t.Errorf("shape %s\nwant  %s", got, want)
	}
	if s.Answered != 2 || s.Turns != 4 || s.Share != 0.75 || s.Deliveries() != 2 || len(s.Bells) != 2 || s.Appends["turn.resumed"] != 1 {
		t.Errorf("%+v", s)
	}
	if _, err := floor.ShapeOf(nil, bells); err == nil {
		t.Error("a shape of nothing")
	}
}

func TestReplay(t *testing.T) {
	s, err := floor.ShapeOf(journal(t, 4), bells)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"interval", "always"} {
		r, err := floor.RunBus(t.Context(), floor.Job{
			Sync: mode, Sessions: 4, PerSession: 5, Warmup: 50 * time.Millisecond, Duration: 300 * time.Millisecond, Shape: s,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Answered.N == 0 || r.Settled.N != r.Answered.N || r.PerSecond == 0 || r.CPU == 0 || r.Stored.P50 > r.Answered.P50 || r.Settled.P50 < r.Answered.P50 {
			t.Errorf("%s: %+v", mode, r)
		}
		t.Logf("%s: %+v", mode, r)
	}
}

func TestWebAnswersAsTheProductDoes(t *testing.T) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w, err := floor.StartWeb(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := client.New(w.URL(), "", 1)
	defer c.Close()
	a, err := c.Send(t.Context(), client.Message{Session: "s", Text: "mk-a-0-1", Key: "k"})
	if err != nil || a.ID == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	r, err := c.Wait(t.Context(), a.ID, time.Second)
	if err != nil || r.Status != "completed" || r.Text != "You said: mk-a-0-1" {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestCallsBelongToTheirTurn(t *testing.T) {
	s, err := session.New("main", "http", "default", "s")
	if err != nil {
		t.Fatal(err)
	}
	var list []store.Record
	add := func(id, cause string, b envelope.Body) {
		e := envelope.Event{ID: id, Cause: cause, Session: s, Cursor: uint64(len(list) + 1), Body: b}
		list = append(list, store.Record{Event: e, Subject: e.Subject(), Header: 10, Data: 10})
	}
	out := turnv1.Outcome{Turn: "m/t", Round: 1}
	call := callv1.Request{Turn: "m/t", Call: "c", Executor: "builtin"}
	add("m", "", messagev1.Received{Text: "x"})
	add("a", "", turnv1.Started{Claim: turnv1.Claim{Turn: "m/t", Messages: []string{"m"}}})
	add("b", "", turnv1.Stepped{Outcome: out})
	add("c", "", callv1.Dispatched{Request: call})
	add("d", "", callv1.Started{Executor: "builtin", Turn: "m/t", Call: "c", Attempt: 1})
	add("e", "", callv1.Completed{Executor: "builtin", Turn: "m/t", Call: "c", Attempt: 1, Outcome: callv1.OK})
	add("f", "", turnv1.Continued{Claim: turnv1.Claim{Turn: "m/t", Messages: []string{"m"}, Round: 2}})
	add("g", "", turnv1.Completed{Outcome: out, Answers: []string{"m"}})
	add("h", "", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "g"}})
	shape, err := floor.ShapeOf(list, append([]store.Bell{
		{Stream: subject.Journal, Name: "builtin", Filters: []string{subject.OfKind("call.dispatched.builtin")}},
	}, bells...))
	if err != nil {
		t.Fatal(err)
	}
	if len(shape.Steps) != len(list) || shape.Answered != 7 || len(shape.Steps[3].Rings) != 1 || shape.Steps[5].Suffix != "builtin" {
		t.Errorf("%+v", shape)
	}
}

func TestWebFloorGoesOnWhileTheModelAsksForTools(t *testing.T) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w, err := floor.StartWeb(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := client.New(w.URL(), "", 1)
	defer c.Close()
	for text, calls := range map[string]int64{"!tool now {} hi": 2, "!rounds 3": 3, "hi": 1} {
		before := m.Total()
		a, err := c.Send(t.Context(), client.Message{Session: "s", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Wait(t.Context(), a.ID, time.Second)
		if err != nil || r.Text != "You said: "+text || m.Total()-before != calls {
			t.Errorf("%q: %+v, %v after %d model calls, want %d", text, r, err, m.Total()-before, calls)
		}
	}
}
