package delivery_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// The worlds are cheap, and the rare ones are the interesting ones: 2,000 take half a second. -rapid.checks is heeded.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("2000"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

func drawFact(t *rapid.T) envelope.Body {
	return rapid.SampledFrom([]envelope.Body{
		completed("an answer"), completed("an answer"), completed("another"), completed(""),
		turnv1.Failed{Text: "the model is gone"},
		turnv1.Cancelled{Answers: []string{"m1"}},
		turnv1.Cancelled{Answers: []string{"m1"}, Text: "too many wait"},
		turnv1.Cancelled{Turn: "t"},
		turnv1.SessionConfigured{By: "m2", Text: "the model is x"},
		turnv1.SessionCompacted{By: "m2", Text: "compacted"},
		turnv1.SessionCompacted{Text: "by itself"},
		turnv1.CompactionFailed{By: "m2", Text: "not compacted"},
		messagev1.Received{Text: "hello"},
		approvalv1.Requested{Approval: "a1", Text: "may it run?"},
		approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a1"}, Answers: []string{"d1"}, Text: "allowed"},
		approvalv1.Expired{Ref: approvalv1.Ref{Approval: "a1"}, Text: "too late"},
		approvalv1.Voided{Ref: approvalv1.Ref{Approval: "a1"}, Text: "void"},
		approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "a1"}},
		turnv1.SessionReset{By: "m3"},
		turnv1.SessionReset{By: "m3", Text: "a new beginning"},
	}).Draw(t, "fact")
}

// drawTalk is what happens while a model speaks: turns that begin, drafts, steps. Rounds go up, as those of a turn do.
func (w *world) drawTalk(t *rapid.T) envelope.Body {
	speaks := w.full().Speaks
	if speaks == "" {
		w.turn++
		return turnv1.Started{Claim: turnv1.Claim{Turn: fmt.Sprint("t", w.turn), Round: 1, Attempt: 1}}
	}
	drafts := w.full().Drafts
	kind := rapid.SampledFrom([]string{"drafting", "drafting", "drafted", "not drafted", "step", "end"}).Draw(t, "talk")
	switch {
	case kind == "end":
		return turnv1.Completed{Outcome: turnv1.Outcome{Turn: speaks}, Text: "the end", Answers: []string{"m"}}
	case kind == "step":
		return turnv1.Stepped{Outcome: turnv1.Outcome{Turn: speaks, Round: max(1, w.round-rapid.IntRange(0, 1).Draw(t, "back"))}, Text: "I look it up"}
	case kind == "drafting" && len(drafts) < 5:
		w.round++
		return deliveryv1.Drafting{Turn: speaks, Round: w.round, Worker: "w", Deadline: w.now.Add(8 * time.Second)}
	case len(drafts) == 0:
		return deliveryv1.Drafted{Turn: speaks, Round: 1, Receipt: "77"}
	}
	d := rapid.SampledFrom(drafts).Draw(t, "draft")
	receipt := "77"
	if kind == "not drafted" {
		receipt = ""
	}
	if d.Receipt != "" {
		return deliveryv1.Drafted{Turn: "another", Round: d.Round, Receipt: receipt}
	}
	return deliveryv1.Drafted{Turn: d.Turn, Round: d.Round, Receipt: receipt}
}

func TestMachineUnderFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Bool().Draw(t, "zombies"), rapid.Bool().Draw(t, "resend"), rapid.IntRange(1, 4).Draw(t, "attempts"))
		who := rapid.IntRange(0, 1)
		anyEnd := func() outcome { return outcome(rapid.IntRange(0, int(outcomes)-1).Draw(t, "outcome")) }
		t.Repeat(map[string]func(*rapid.T){
			"":     func(t *rapid.T) { w.check(t, false) },
			"fact": func(t *rapid.T) { w.fact(drawFact(t)) },
			"talk": func(t *rapid.T) { w.fact(w.drawTalk(t)) },
			"delete": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					w.fact(turnv1.SessionDeleted{})
				}
			},
			"crash": func(t *rapid.T) { w.crash(who.Draw(t, "worker")) },
			"tick": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 20, 31, 40, 600}).Draw(t, "seconds")) * time.Second)
			},
			"stale load": func(t *rapid.T) {
				i := who.Draw(t, "worker")
				w.load(i, rapid.IntRange(w.workers[i].seen, len(w.journal)).Draw(t, "upto"))
			},
			"act": func(t *rapid.T) {
				w.act(who.Draw(t, "worker"), rapid.Bool().Draw(t, "suspect"), anyEnd)
			},
			"load and act": func(t *rapid.T) {
				i := who.Draw(t, "worker")
				w.load(i, len(w.journal))
				w.act(i, rapid.Bool().Draw(t, "suspect"), anyEnd)
			},
			"overtake": func(t *rapid.T) { // the other one looks while this one pauses, and this one goes on
				i := who.Draw(t, "worker")
				w.load(i, len(w.journal))
				w.act(i, false, anyEnd)
				w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 31, 36}).Draw(t, "pause")) * time.Second)
				for range rapid.IntRange(1, 3).Draw(t, "steps") {
					w.load(1-i, len(w.journal))
					w.act(1-i, rapid.Bool().Draw(t, "suspect"), anyEnd)
				}
				w.act(i, false, anyEnd)
			},
			"run": func(t *rapid.T) { // far enough for a whole delivery
				i := who.Draw(t, "worker")
				for range rapid.IntRange(2, 6).Draw(t, "steps") {
					w.load(i, len(w.journal))
					w.act(i, false, anyEnd)
				}
			},
		})
		// A channel that never has room holds an item up for as long as MaxAge: that is too long to watch.
		last := rapid.SampledFrom([]outcome{sent, sentMore, refused, failed, cutAfter, cutBefore}).Draw(t, "at last")
		w.settle(t, func() outcome { return last })
		w.check(t, true)
		w.checkStates(t)
	})
}

// checkStates: states are values (folding on, also into other futures, changes none), and JSON keeps them.
func (w *world) checkStates(t *rapid.T) {
	for n, s := range w.states {
		if s2 := s.Apply(event(n+1, "branch", completed("another future"))); len(s2.Queue) != len(s.Queue)+1 {
			t.Fatalf("state %d took no item: %+v", n, s2)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if string(data) != w.jsons[n] {
			t.Fatalf("state %d was changed by a later fold:\n%s\n%s", n, w.jsons[n], data)
		}
		var back delivery.State
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, s) {
			t.Fatalf("state %d is not what JSON keeps:\n%+v\n%+v", n, s, back)
		}
	}
}
