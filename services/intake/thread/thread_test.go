package thread

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

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
	asked := func(cursor uint64) envelope.Event {
		return envelope.Event{ID: id, Session: testSession, Cursor: cursor, Body: messagev1.Control{Verb: messagev1.Status}}
	}
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
			name:   "a command",
			events: []envelope.Event{{ID: id, Session: testSession, Cursor: 2, Body: messagev1.Control{Verb: messagev1.Stop}}, at(3, done)},
			want:   Item{Cursor: 2, Status: Done},
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

// TestStateMachine drives random histories against a map: whatever comes, in whatever order, the first event of an id
// counts, the first end of a message counts, and a snapshot taken anywhere continues to the same state.
func TestStateMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			s      State
			cursor uint64
			model  = map[string]Item{}
			gone   bool
			ids    = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 40, rapid.ID[string]).Draw(t, "keys")
			old    State
			oldRow map[string]Item
		)
		for i, k := range ids {
			if i%3 > 0 { // ids of another origin as well
				ids[i] = MessageID(testSession, k)
			}
		}
		came := func(body envelope.Body, status Status) {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			s = s.Apply(envelope.Event{ID: id, Session: testSession, Cursor: cursor, Body: body})
			if _, ok := model[id]; !ok {
				model[id] = Item{Cursor: cursor, Status: status}
			}
		}
		ended := func(status Status, body func([]string) envelope.Body) {
			answers := rapid.SliceOfN(rapid.SampledFrom(ids), 0, 4).Draw(t, "answers")
			s = s.Apply(envelope.Event{ID: fmt.Sprint(cursor), Session: testSession, Cursor: cursor, Body: body(answers)})
			for _, id := range answers {
				if it, ok := model[id]; ok && it.Status == Pending {
					it.Status, it.Outcome = status, cursor
					model[id] = it
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				cursor += uint64(rapid.IntRange(1, 300).Draw(t, "gap"))
				check(t, s, model, ids)
				if s.Deleted() != gone {
					t.Fatalf("deleted = %v", s.Deleted())
				}
				if oldRow != nil {
					check(t, old, oldRow, ids)
				}
			},
			"receive": func(*rapid.T) { came(messagev1.Received{}, Pending); gone = false },
			"refuse":  func(*rapid.T) { came(messagev1.Refused{}, Refused) },
			"control": func(t *rapid.T) {
				v := rapid.SampledFrom([]messagev1.Verb{messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status}).Draw(t, "verb")
				status := Pending
				if v == messagev1.Stop || v == messagev1.New {
					status = Done
				}
				came(messagev1.Control{Verb: v}, status)
			},
			"notice": func(*rapid.T) {
				ended(Completed, func(a []string) envelope.Body { return noticev1.Posted{Service: "turns", Answers: a} })
			},
			"foreign notice": func(t *rapid.T) {
				s = s.Apply(envelope.Event{Cursor: cursor, Body: noticev1.Posted{Service: "tools", Answers: ids}})
			},
			"complete": func(*rapid.T) {
				ended(Completed, func(a []string) envelope.Body { return turnv1.Completed{Answers: a} })
			},
			"fail": func(*rapid.T) {
				ended(Failed, func(a []string) envelope.Body { return turnv1.Failed{Answers: a} })
			},
			"cancel": func(*rapid.T) {
				ended(Cancelled, func(a []string) envelope.Body { return turnv1.Cancelled{Answers: a} })
			},
			"delete": func(*rapid.T) {
				s = s.Apply(envelope.Event{Cursor: cursor, Body: turnv1.SessionDeleted{}})
				model, gone = map[string]Item{}, true
			},
			"remember": func(*rapid.T) {
				old, oldRow = s, maps.Clone(model)
			},
			"restart": func(t *rapid.T) {
				b, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				var again State
				if err := json.Unmarshal(b, &again); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(again, s) {
					t.Fatalf("a snapshot brings back another state: %s", b)
				}
				s = again
			},
		})
	})
}

func check(t *rapid.T, s State, model map[string]Item, ids []string) {
	if s.Len() != len(model) {
		t.Fatalf("%d items, want %d", s.Len(), len(model))
	}
	for _, id := range ids {
		want, wantOK := model[id]
		if got, ok := s.Find(id); got != want || ok != wantOK {
			t.Fatalf("%s: %+v, want %+v", id, got, want)
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
