package thread

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

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
			now    turnModel
			oldNow turnModel
			clock  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			asks   = map[string]time.Time{} // open questions of programs
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
		settled := func(status Status, ids ...string) {
			for _, id := range ids {
				if it, ok := model[id]; ok && it.Status == Pending {
					it.Status, it.Outcome = status, cursor
					model[id] = it
				}
			}
		}
		apply := func(b envelope.Body) {
			s = s.Apply(envelope.Event{ID: fmt.Sprint(cursor), Session: testSession, Cursor: cursor, Body: b})
		}
		drawn := func() []string { return rapid.SliceOfN(rapid.SampledFrom(ids), 0, 4).Draw(t, "answers") }
		by := func() string {
			return rapid.OneOf(rapid.Just(""), rapid.SampledFrom(ids), rapid.SampledFrom(ids)).Draw(t, "by")
		}
		ended := func(status Status, body func([]string) envelope.Body) {
			answers := drawn()
			apply(body(answers))
			settled(status, answers...)
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				cursor += uint64(rapid.IntRange(1, 300).Draw(t, "gap"))
				check(t, s, model, ids)
				now.check(t, s, ids)
				clock = clock.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "minutes")) * time.Minute)
				for _, r := range requests {
					if got, want := s.Waits(r, clock) != "", clock.Before(asks[r]); got != want {
						t.Fatalf("%s is waited for: %t, want %t", r, got, want)
					}
				}
				if s.Deleted() != gone {
					t.Fatalf("deleted = %v", s.Deleted())
				}
				if oldRow != nil {
					check(t, old, oldRow, ids)
					oldNow.check(t, old, ids)
				}
			},
			"receive": func(*rapid.T) { came(messagev1.Received{}, Pending); gone = false },
			"refuse":  func(*rapid.T) { came(messagev1.Refused{}, Refused) },
			"edit":    func(*rapid.T) { came(messagev1.Edited{}, Done) },
			"control": func(t *rapid.T) {
				v := rapid.SampledFrom([]messagev1.Verb{messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status}).Draw(t, "verb")
				came(messagev1.Control{Verb: v}, Pending)
			},
			"program asks": func(t *rapid.T) {
				p := noticev1.Permission{Request: rapid.SampledFrom(requests).Draw(t, "request"), Expires: clock.Add(5 * time.Minute)}
				s = s.Apply(envelope.Event{
					ID: fmt.Sprint(cursor), Session: testSession, Cursor: cursor, Time: clock, Body: noticev1.Posted{Service: "outbox", Permission: &p},
				})
				asks[p.Request] = p.Expires
			},
			"permit": func(t *rapid.T) {
				r := rapid.SampledFrom(requests).Draw(t, "request")
				came(messagev1.PermissionAnswer{Request: r}, Done)
				delete(asks, r)
			},
			"decide": func(*rapid.T) { came(messagev1.Decision{}, Pending) },
			"notice": func(t *rapid.T) {
				by := rapid.SampledFrom([]string{"turns", "approvals"}).Draw(t, "service")
				ended(Completed, func(a []string) envelope.Body { return noticev1.Posted{Service: by, Answers: a} })
			},
			"claim": func(t *rapid.T) {
				c := turnv1.Claim{Turn: turnID(t), Messages: drawn()}
				apply(rapid.SampledFrom([]envelope.Body{
					turnv1.Started{Claim: c}, turnv1.Continued{Claim: c}, turnv1.Resumed{Claim: c},
				}).Draw(t, "claim"))
				now = turnModel{turn: c.Turn, messages: c.Messages}
			},
			"ask": func(t *rapid.T) {
				id, turn := approvalID(t), turnID(t)
				apply(approvalv1.Requested{Approval: id, Request: callv1.Request{Turn: turn, Call: "call-" + id}})
				now = now.asked(turn, Approval{ID: id, Call: "call-" + id, Cursor: cursor})
			},
			"settle": func(t *rapid.T) {
				ref := approvalv1.Ref{Approval: approvalID(t), Turn: turnID(t)}
				decided := approvalv1.Decided{Ref: ref}
				if rapid.Bool().Draw(t, "by a decision") {
					decided.Answers = drawn()
				}
				b := rapid.SampledFrom([]envelope.Body{
					decided,
					approvalv1.Expired{Ref: ref},
					approvalv1.Cancelled{Ref: ref},
					approvalv1.Voided{Ref: ref},
					callv1.Denied{Turn: ref.Turn, Call: "call-" + ref.Approval},
					callv1.Dispatched{Request: callv1.Request{Turn: ref.Turn, Call: "call-" + ref.Approval}},
				}).Draw(t, "how")
				apply(b)
				now = now.settled(ref)
				if _, ok := b.(approvalv1.Decided); ok {
					settled(Completed, decided.Answers...)
				}
			},
			"foreign notice": func(t *rapid.T) {
				apply(noticev1.Posted{Service: "tools", Answers: ids})
			},
			"complete": func(*rapid.T) {
				ended(Completed, func(a []string) envelope.Body { return turnv1.Completed{Answers: a} })
				now = turnModel{}
			},
			"fail": func(*rapid.T) {
				ended(Failed, func(a []string) envelope.Body { return turnv1.Failed{Answers: a} })
				now = turnModel{}
			},
			"cancel": func(t *rapid.T) {
				b := turnv1.Cancelled{Answers: drawn(), By: by()}
				if rapid.Bool().Draw(t, "the turn as well") {
					b.Turn, now = "t", turnModel{}
				}
				b.Reason = rapid.SampledFrom([]turnv1.Reason{"", turnv1.Stopped, turnv1.Interrupted, turnv1.QueueFull}).Draw(t, "reason")
				apply(b)
				settled(Cancelled, b.Answers...)
				if b.Reason == "" || b.Reason == turnv1.Stopped {
					settled(Completed, b.By)
				}
			},
			"answer": func(t *rapid.T) {
				id := by()
				apply(rapid.SampledFrom([]envelope.Body{
					turnv1.SessionReset{By: id}, turnv1.SessionConfigured{By: id}, turnv1.SessionCompacted{By: id},
				}).Draw(t, "answer"))
				settled(Completed, id)
			},
			"not compacted": func(*rapid.T) {
				id := by()
				apply(turnv1.CompactionFailed{By: id})
				settled(Failed, id)
			},
			"delete": func(*rapid.T) {
				apply(turnv1.SessionDeleted{})
				model, gone, now, asks = map[string]Item{}, true, turnModel{}, map[string]time.Time{}
			},
			"remember": func(*rapid.T) {
				old, oldRow, oldNow = s, maps.Clone(model), now
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

var requests = []string{"abcde", "fghij", "kmnop"}

// turnModel is the turn at work and what it waits for, told in the simplest way.
type turnModel struct {
	turn     string
	messages []string
	open     []Approval
}

func turnID(t *rapid.T) string { return rapid.SampledFrom([]string{"", "t1", "t2"}).Draw(t, "turn") }

func approvalID(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a1", "a2", "a3"}).Draw(t, "approval")
}

func (m turnModel) asked(turn string, a Approval) turnModel {
	known := slices.ContainsFunc(m.open, func(o Approval) bool { return o.ID == a.ID })
	if turn != "" && turn == m.turn && !known {
		m.open = append(slices.Clone(m.open), a)
	}
	return m
}

func (m turnModel) settled(ref approvalv1.Ref) turnModel {
	if ref.Turn == m.turn {
		m.open = slices.DeleteFunc(slices.Clone(m.open), func(a Approval) bool { return a.ID == ref.Approval })
	}
	return m
}

func (m turnModel) check(t *rapid.T, s State, ids []string) {
	if s.Asks() != (len(m.open) > 0) {
		t.Fatalf("asks = %v, open are %v", s.Asks(), m.open)
	}
	for _, id := range ids {
		var want []Approval
		if slices.Contains(m.messages, id) {
			want = m.open
		}
		if got := s.Approvals(id); !slices.Equal(got, want) {
			t.Fatalf("%s waits for %v, want %v", id, got, want)
		}
	}
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
