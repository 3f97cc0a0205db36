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
				if s.Deleted() != gone {
					t.Fatalf("deleted = %v", s.Deleted())
				}
				if oldRow != nil {
					check(t, old, oldRow, ids)
				}
			},
			"receive": func(*rapid.T) { came(messagev1.Received{}, Pending); gone = false },
			"refuse":  func(*rapid.T) { came(messagev1.Refused{}, Refused) },
			"edit":    func(*rapid.T) { came(messagev1.Edited{}, Done) },
			"control": func(t *rapid.T) {
				v := rapid.SampledFrom([]messagev1.Verb{messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status}).Draw(t, "verb")
				came(messagev1.Control{Verb: v}, Pending)
			},
			"notice": func(*rapid.T) {
				ended(Completed, func(a []string) envelope.Body { return noticev1.Posted{Service: "turns", Answers: a} })
			},
			"foreign notice": func(t *rapid.T) {
				apply(noticev1.Posted{Service: "tools", Answers: ids})
			},
			"complete": func(*rapid.T) {
				ended(Completed, func(a []string) envelope.Body { return turnv1.Completed{Answers: a} })
			},
			"fail": func(*rapid.T) {
				ended(Failed, func(a []string) envelope.Body { return turnv1.Failed{Answers: a} })
			},
			"cancel": func(t *rapid.T) {
				b := turnv1.Cancelled{Answers: drawn(), By: by()}
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
