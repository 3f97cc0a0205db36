package thread

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const testSession = session.ID("main.http.tester.one")

func received(cursor uint64, id string) envelope.Event {
	return envelope.Event{ID: id, Session: testSession, Cursor: cursor, Body: messagev1.Received{Text: id}}
}

func TestMessageIDIsDerived(t *testing.T) {
	id := MessageID(testSession, "order-17")
	if id != "mu7M09gf5wpzGy6a-ydFJcw" {
		t.Errorf("MessageID = %q: a change breaks the answers to repeated keys", id)
	}
	if MessageID(testSession, "order-18") == id || MessageID("main.http.tester.two", "order-17") == id {
		t.Error("another key or session has the same id")
	}
	if slotOf(id) == slotOf(id[:len(id)-1]+"R") {
		t.Error("two spellings of one slot")
	}
}

func TestApply(t *testing.T) {
	id := MessageID(testSession, "k")
	done := turnv1.Completed{Answers: []string{id}, Text: "hi"}
	at := func(cursor uint64, b envelope.Body) envelope.Event {
		return envelope.Event{ID: fmt.Sprint("e", cursor), Session: testSession, Cursor: cursor, Body: b}
	}
	command := func(cursor uint64, v messagev1.Verb) envelope.Event {
		return envelope.Event{ID: id, Session: testSession, Cursor: cursor, Body: messagev1.Control{Verb: v}}
	}
	decided := func(cursor uint64) envelope.Event {
		return envelope.Event{ID: id, Session: testSession, Cursor: cursor, Body: messagev1.Decision{Decision: callv1.Deny}}
	}
	asked := func(cursor uint64) envelope.Event { return command(cursor, messagev1.Status) }
	notice := func(service string, ids ...string) envelope.Body {
		return noticev1.Posted{Service: service, Answers: ids}
	}
	for _, tc := range []struct {
		name    string
		events  []envelope.Event
		want    Item
		deleted bool
		waits   bool
	}{
		{name: "nobody wrote"},
		{name: "a message waits", events: []envelope.Event{received(3, id)}, want: Item{Cursor: 3, Status: Pending}},
		{
			name:   "the first of a key counts",
			events: []envelope.Event{received(3, id), received(4, id)}, want: Item{Cursor: 3, Status: Pending},
		},
		{
			name:   "completed",
			events: []envelope.Event{received(3, id), at(5, done)}, want: Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "an end stays",
			events: []envelope.Event{received(3, id), at(5, turnv1.Failed{Answers: []string{id}}), at(6, done)},
			want:   Item{Cursor: 3, Status: Failed, Outcome: 5},
		},
		{
			name:   "stopped",
			events: []envelope.Event{received(3, id), at(5, turnv1.Cancelled{Turn: "t", Answers: []string{"other", id}})},
			want:   Item{Cursor: 3, Status: Cancelled, Outcome: 5},
		},
		{
			name: "dropped from the queue of a turn that waits for calls",
			events: []envelope.Event{
				received(3, id), at(4, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}}), at(5, turnv1.Cancelled{Answers: []string{id}}),
			},
			want: Item{Cursor: 3, Status: Cancelled, Outcome: 5}, waits: true,
		},
		{name: "a question waits", events: []envelope.Event{asked(3)}, want: Item{Cursor: 3, Status: Pending}},
		{name: "told", events: []envelope.Event{asked(3), at(5, notice("turns", id))}, want: Item{Cursor: 3, Status: Completed, Outcome: 5}},
		{name: "another service's notice", events: []envelope.Event{asked(3), at(5, notice("tools", id))}, want: Item{Cursor: 3, Status: Pending}},
		{
			name: "told while the turn waits for calls",
			events: []envelope.Event{
				at(1, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}}), asked(3), at(5, notice("turns", id)),
			},
			want: Item{Cursor: 3, Status: Completed, Outcome: 5}, waits: true,
		},
		{
			name:   "configured",
			events: []envelope.Event{asked(3), at(5, turnv1.SessionConfigured{By: id})}, want: Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "compacted",
			events: []envelope.Event{asked(3), at(5, turnv1.SessionCompacted{By: id})}, want: Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "not compacted",
			events: []envelope.Event{asked(3), at(5, turnv1.CompactionFailed{By: id})}, want: Item{Cursor: 3, Status: Failed, Outcome: 5},
		},
		{
			name:   "compacted by itself",
			events: []envelope.Event{asked(3), at(5, turnv1.SessionCompacted{}), at(6, turnv1.CompactionFailed{})}, want: Item{Cursor: 3, Status: Pending},
		},
		{
			name:   "a question is cancelled",
			events: []envelope.Event{asked(3), at(5, turnv1.Cancelled{Answers: []string{id}})}, want: Item{Cursor: 3, Status: Cancelled, Outcome: 5},
		},
		{name: "a question of a deleted session", events: []envelope.Event{asked(3), at(5, turnv1.SessionDeleted{})}, deleted: true},
		{
			name:   "a repeat after the answer keeps the answer",
			events: []envelope.Event{received(3, id), at(5, done), received(9, id)},
			want:   Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "refused",
			events: []envelope.Event{{ID: id, Session: testSession, Cursor: 2, Body: messagev1.Refused{Reason: messagev1.Empty}}},
			want:   Item{Cursor: 2, Status: Refused},
		},
		{
			name:   "an edit",
			events: []envelope.Event{{ID: id, Session: testSession, Cursor: 2, Body: messagev1.Edited{}}, at(3, done)},
			want:   Item{Cursor: 2, Status: Done},
		},
		{name: "a stop waits", events: []envelope.Event{command(3, messagev1.Stop)}, want: Item{Cursor: 3, Status: Pending}},
		{
			name:   "a stop that stops",
			events: []envelope.Event{command(3, messagev1.Stop), at(5, turnv1.Cancelled{Turn: "t", Answers: []string{"other"}, By: id})},
			want:   Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "a message that takes another's place goes on",
			events: []envelope.Event{received(3, id), at(5, turnv1.Cancelled{Turn: "t", By: id, Reason: turnv1.Interrupted})},
			want:   Item{Cursor: 3, Status: Pending},
		},
		{
			name:   "a message that finds no room is cancelled",
			events: []envelope.Event{received(3, id), at(5, turnv1.Cancelled{Answers: []string{id}, By: id, Reason: turnv1.QueueFull})},
			want:   Item{Cursor: 3, Status: Cancelled, Outcome: 5},
		},
		{
			name:   "begins afresh",
			events: []envelope.Event{command(3, messagev1.New), at(5, turnv1.SessionReset{By: id})},
			want:   Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "waits for calls",
			events: []envelope.Event{received(3, id), at(5, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}})},
			want:   Item{Cursor: 3, Status: Pending}, waits: true,
		},
		{
			name: "goes on after the calls",
			events: []envelope.Event{
				received(3, id), at(5, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}}), at(6, turnv1.Continued{}),
			},
			want: Item{Cursor: 3, Status: Pending},
		},
		{name: "a decision waits", events: []envelope.Event{decided(3)}, want: Item{Cursor: 3, Status: Pending}},
		{
			name:   "a decision counts",
			events: []envelope.Event{decided(3), at(5, approvalv1.Decided{Answers: []string{"other", id}})},
			want:   Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "a decision of somebody else counts",
			events: []envelope.Event{decided(3), at(5, approvalv1.Decided{}), at(6, approvalv1.Expired{})},
			want:   Item{Cursor: 3, Status: Pending},
		},
		{
			name:   "a decision comes too late",
			events: []envelope.Event{decided(3), at(5, notice("approvals", id))}, want: Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{
			name:   "a decision comes twice",
			events: []envelope.Event{decided(3), at(5, approvalv1.Decided{Answers: []string{id}}), decided(6), at(7, notice("approvals", id))},
			want:   Item{Cursor: 3, Status: Completed, Outcome: 5},
		},
		{name: "deleted", events: []envelope.Event{received(3, id), at(5, turnv1.SessionDeleted{})}, deleted: true},
		{
			name:   "begun again",
			events: []envelope.Event{received(3, id), at(5, turnv1.SessionDeleted{}), received(6, id)},
			want:   Item{Cursor: 6, Status: Pending},
		},
		{
			name:   "not decodable",
			events: []envelope.Event{received(3, id), at(4, envelope.Unknown{Type: "turn.completed.v9"})},
			want:   Item{Cursor: 3, Status: Pending},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s State
			for _, e := range tc.events {
				s = s.Apply(e)
			}
			got, ok := s.Find(id)
			if got != tc.want || ok != (tc.want != Item{}) {
				t.Errorf("Find = %+v, %v; want %+v", got, ok, tc.want)
			}
			if s.Deleted() != tc.deleted || s.WaitsForCalls() != tc.waits {
				t.Errorf("deleted %v, waits %v", s.Deleted(), s.WaitsForCalls())
			}
		})
	}
}

// TestTableIsPersistent keeps every version of a table and looks at all of them again after the last change.
func TestTableIsPersistent(t *testing.T) {
	const n = 600
	versions := make([]State, 1, 2*n+1)
	id := func(i int) string { return MessageID(testSession, fmt.Sprint(i)) }
	for i := range n {
		versions = append(versions, versions[len(versions)-1].Apply(received(uint64(i+1), id(i))))
	}
	for i := range n {
		e := envelope.Event{Cursor: uint64(n + i + 1), Body: turnv1.Completed{Answers: []string{id(i)}}}
		versions = append(versions, versions[len(versions)-1].Apply(e))
	}
	for v, s := range versions {
		if s.Len() != min(v, n) {
			t.Fatalf("version %d has %d items", v, s.Len())
		}
		for i := range n {
			want := Item{}
			if i < v {
				want = Item{Cursor: uint64(i + 1), Status: Pending}
			}
			if v >= n+i+1 {
				want = Item{Cursor: uint64(i + 1), Status: Completed, Outcome: uint64(n + i + 1)}
			}
			if got, _ := s.Find(id(i)); got != want {
				t.Fatalf("version %d, message %d: %+v, want %+v", v, i, got, want)
			}
		}
	}
}

func TestDamagedSnapshots(t *testing.T) {
	s := State{}.Apply(received(1, "a")).Apply(received(2, "b"))
	good, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var st stored
	if err := json.Unmarshal(good, &st); err != nil {
		t.Fatal(err)
	}
	for n := range len(st.Rows) {
		cut, err := json.Marshal(stored{Rows: st.Rows[:n]})
		if err != nil {
			t.Fatal(err)
		}
		before := s
		if err := json.Unmarshal(cut, &before); (err == nil) != (n == 0 || n == len(st.Rows)/2) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	b, err := json.Marshal(State{}.Apply(received(7, "a")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s State
		if json.Unmarshal(data, &s) == nil {
			s.Find("a")
		}
	})
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("session of %d", n), func(b *testing.B) {
			var s State
			for i := range n {
				s = s.Apply(received(uint64(i+1), MessageID(testSession, fmt.Sprint(i))))
			}
			e := received(uint64(n+1), MessageID(testSession, "next"))
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(e)
			}
		})
	}
}
