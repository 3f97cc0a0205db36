package conversation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// world is a session whose services do what they should, and a model of what each of them still owes.
type world struct {
	t     *rapid.T
	s     conversation.State
	n     int
	owed  map[string]bool // "<kind> <id>"
	turn  string
	round int
	asked []string // messages that the turn answers
	calls map[string]string
	tries map[string]int
}

// add appends an event, with what it makes somebody owe, and what it settles.
func (w *world) add(b envelope.Body, owes, settles []string) string {
	w.n++
	ev := event(w.n, b)
	w.s, _ = w.s.Apply(ev)
	for _, o := range owes {
		w.owed[o] = true
	}
	for _, o := range settles {
		delete(w.owed, o)
	}
	w.check()
	return ev.ID
}

// shown is add for what the outbox owes, too.
func (w *world) shown(b envelope.Body, settles ...string) {
	w.add(b, []string{fmt.Sprint("delivery e", w.n+1)}, settles)
}

// check: all that is owed is open, and what was written is what is read.
func (w *world) check() {
	open := map[string]bool{}
	for _, o := range w.s.Open() {
		open[o.Kind+" "+o.ID] = true
	}
	for o := range w.owed {
		if !open[o] {
			w.t.Fatalf("%s is owed and not open: %s", o, kinds(w.s))
		}
	}
	data, err := json.Marshal(w.s)
	if err != nil {
		w.t.Fatal(err)
	}
	var back conversation.State
	if err := json.Unmarshal(data, &back); err != nil {
		w.t.Fatal(err)
	}
	if !reflect.DeepEqual(back, w.s) {
		w.t.Fatalf("written %+v\nread    %+v", w.s, back)
	}
}

func (w *world) outcome() turnv1.Outcome {
	return turnv1.Outcome{Turn: w.turn, Round: w.round, Attempt: 1, Model: "m"}
}

func (w *world) waiting(kind string) (ids []string) {
	for o := range w.owed {
		if len(o) > len(kind) && o[:len(kind)+1] == kind+" " {
			ids = append(ids, o[len(kind)+1:])
		}
	}
	slices.Sort(ids)
	return ids
}

// modelTurns says whether a model call is under way.
func (w *world) thinks() bool { return w.turn != "" && len(w.calls) == 0 }

// ended settles the turn. What runs for it ends by itself.
func (w *world) ended() []string {
	settled := []string{"turn " + w.turn}
	for _, m := range w.asked {
		settled = append(settled, "message "+m)
	}
	for c, phase := range w.calls {
		if phase != "started" {
			settled = append(settled, "call "+c)
			delete(w.calls, c)
		}
	}
	w.turn, w.asked = "", nil
	return settled
}

func (w *world) actions() map[string]func(*rapid.T) {
	some := func(t *rapid.T, ids []string) string {
		if len(ids) == 0 {
			t.Skip("nothing of that kind")
		}
		return rapid.SampledFrom(ids).Draw(t, "which")
	}
	need := func(t *rapid.T, ok bool) {
		if !ok {
			t.Skip("not now")
		}
	}
	in := func(t *rapid.T, phases ...string) string {
		var ids []string
		for _, c := range slices.Sorted(maps.Keys(w.calls)) {
			if slices.Contains(phases, w.calls[c]) {
				ids = append(ids, c)
			}
		}
		return some(t, ids)
	}
	request := func(c string) callv1.Request { return callv1.Request{Turn: w.callTurn(c), Call: c} }
	return map[string]func(*rapid.T){
		"message": func(*rapid.T) { w.add(messagev1.Received{Text: "hi"}, []string{fmt.Sprint("message e", w.n+1)}, nil) },
		"control": func(*rapid.T) {
			w.add(messagev1.Control{Verb: messagev1.Status}, []string{fmt.Sprint("control e", w.n+1)}, nil)
		},
		"told": func(t *rapid.T) {
			c := some(t, w.waiting("control"))
			w.shown(noticev1.Posted{Service: "turns", Text: "ok", Answers: []string{c}}, "control "+c)
		},
		"start": func(t *rapid.T) {
			need(t, w.turn == "" && len(w.calls) == 0)
			w.asked = []string{some(t, w.waiting("message"))}
			w.turn, w.round = w.asked[0]+"/t", 1
			w.add(turnv1.Started{Claim: turnv1.Claim{Turn: w.turn, Round: 1, Attempt: 1, Messages: w.asked}}, []string{"turn " + w.turn}, nil)
		},
		"step": func(t *rapid.T) {
			need(t, w.thinks())
			var calls []turnv1.Call
			var owes []string
			for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
				c := fmt.Sprintf("%s|c%d.%d", w.turn, w.n, i)
				calls, owes = append(calls, turnv1.Call{ID: c}), append(owes, "call "+c)
				w.calls[c] = "asked"
			}
			w.add(turnv1.Stepped{Outcome: w.outcome(), Text: "well", Calls: calls}, owes, nil)
			w.round++
		},
		"park": func(t *rapid.T) {
			c := in(t, "asked")
			w.calls[c] = "parked"
			w.add(callv1.Awaiting{Request: request(c)}, nil, nil)
			w.shown(approvalv1.Requested{Approval: "a" + c, Request: request(c), Text: "May it?"})
			w.owed["approval a"+c] = true
		},
		"decide": func(t *rapid.T) {
			c := in(t, "parked")
			w.calls[c] = "asked"
			w.shown(approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a" + c, Turn: w.callTurn(c), Call: c}, Text: "yes"}, "approval a"+c)
		},
		"dispatch": func(t *rapid.T) {
			c := in(t, "asked")
			w.calls[c] = "dispatched"
			w.add(callv1.Dispatched{Request: request(c)}, nil, nil)
		},
		"run": func(t *rapid.T) {
			c := in(t, "dispatched", "started")
			w.calls[c] = "started"
			w.tries[c]++
			w.add(callv1.Started{Turn: w.callTurn(c), Call: c, Attempt: w.tries[c]}, nil, nil)
		},
		"result": func(t *rapid.T) {
			c := in(t, "started")
			delete(w.calls, c)
			w.add(callv1.Completed{Turn: w.callTurn(c), Call: c, Attempt: w.tries[c]}, nil, []string{"call " + c})
			if w.turn != "" && len(w.calls) == 0 {
				w.add(turnv1.Continued{Claim: turnv1.Claim{Turn: w.turn, Round: w.round, Attempt: 1, Messages: w.asked}}, nil, nil)
			}
		},
		"complete": func(t *rapid.T) {
			need(t, w.thinks())
			b := turnv1.Completed{Outcome: w.outcome(), Answers: w.asked, Text: "done"}
			w.shown(b, w.ended()...)
		},
		"cancel": func(t *rapid.T) {
			need(t, w.turn != "")
			var parked []string
			for c, phase := range w.calls {
				if phase == "parked" {
					parked = append(parked, c)
				}
			}
			turn := w.turn
			b := turnv1.Cancelled{Turn: w.turn, Answers: w.asked}
			w.shown(b, w.ended()...)
			for _, c := range slices.Sorted(slices.Values(parked)) { // owed until approvals has seen it
				before := len(w.s.Open())
				w.add(approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "a" + c, Turn: turn, Call: c}}, nil, []string{"approval a" + c})
				if len(w.s.Open()) >= before { // its question is shown, or was about to be
					w.owed[fmt.Sprint("delivery e", w.n)] = true
				}
			}
		},
		"deliver": func(t *rapid.T) {
			d := some(t, w.waiting("delivery"))
			w.tries[d]++
			r := deliveryv1.Ref{Delivery: d, Attempt: w.tries[d]}
			w.add(deliveryv1.Started{Ref: r}, nil, nil)
			switch rapid.IntRange(0, 3).Draw(t, "outcome") {
			case 0:
				w.add(deliveryv1.Deferred{Ref: r}, nil, nil)
			case 1:
				w.add(deliveryv1.Unknown{Ref: r, Resend: true}, nil, nil)
			case 2:
				w.add(deliveryv1.Failed{Ref: r}, nil, []string{"delivery " + d})
			default:
				w.add(deliveryv1.Sent{Ref: r, Receipt: "r"}, nil, []string{"delivery " + d})
			}
		},
		"": func(t *rapid.T) {
			if len(w.owed) == 0 && len(w.s.Open()) > 0 {
				t.Fatalf("nothing is owed, and open is %s", kinds(w.s))
			}
		},
	}
}

// callTurn is the turn of a call, which its id begins with.
func (w *world) callTurn(c string) string {
	for i := range len(c) {
		if c[i] == '|' {
			return c[:i]
		}
	}
	return ""
}

// TestOpenIsASuperset: whatever the services do, what they owe is open; and when they owe nothing, nothing is.
func TestOpenIsASuperset(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, owed: map[string]bool{}, calls: map[string]string{}, tries: map[string]int{}}
		rt.Repeat(w.actions())
	})
}

// TestApplyAcceptsEverything: events in any order, of any content, also those that make no sense.
func TestApplyAcceptsEverything(t *testing.T) {
	types := registry.All()
	words := []string{"", "e1", "e2", "t", "c1", "a1", "x"}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, owed: map[string]bool{}}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			typ := rapid.SampledFrom(types).Draw(rt, "type")
			word := func(name string) string { return rapid.SampledFrom(words).Draw(rt, name) }
			small := func(name string) int { return rapid.IntRange(0, 2).Draw(rt, name) }
			data, err := json.Marshal(map[string]any{
				"turn": word("turn"), "call": word("call"), "text": word("text"), "by": word("by"), "approval": word("approval"),
				"delivery": word("delivery"), "message": word("message"), "compaction": word("compaction"), "verb": "new",
				"answers": []string{word("answer")}, "messages": []string{word("one")}, "calls": []map[string]string{{"id": word("id")}},
				"round": small("round"), "attempt": small("attempt"), "part": small("part"), "more": small("more") == 1, "resend": small("resend") == 1,
			})
			if err != nil {
				rt.Fatal(err)
			}
			body, err := registry.Decode(typ.Name, data)
			if err != nil {
				body = envelope.Unknown{Type: typ.Name, Err: err}
			}
			before, err := json.Marshal(w.s)
			if err != nil {
				rt.Fatal(err)
			}
			old := w.s
			w.add(body, nil, nil)
			if after, err := json.Marshal(old); err != nil || !bytes.Equal(after, before) {
				rt.Fatalf("%s has written through the state before it", typ.Name)
			}
		}
	})
}

// TestBounded: a state does not grow with what was said.
func TestBounded(t *testing.T) {
	var s conversation.State
	for n := range 5000 {
		ev := event(n+1, messagev1.Received{From: messagev1.Sender{ID: fmt.Sprint("telegram:", n), Name: "N"}, Text: "hi"})
		ev.Key = fmt.Sprint("k", n)
		s, _ = s.Apply(ev)
	}
	open := s.Open()
	if len(open) != 1001 || open[1000].Kind != conversation.OpenMore || len(s.People) != 32 || len(s.Seen) != 16 {
		t.Errorf("%d open, %d people, %d keys", len(open), len(s.People), len(s.Seen))
	}
}
