package approval_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

func TestQuestion(t *testing.T) {
	k := newTale(t).say("w1", "", awaiting("m/t", "c1"))
	b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil))
	if !regexp.MustCompile(`^a[a-z2-7]{10}$`).MatchString(b.Approval) || b.Approval != approval.ID(home, "w1") {
		t.Errorf("id %q", b.Approval)
	}
	if !b.Expires.Equal(start.Add(ttl)) || !slices.Equal(b.Approvers, []string{anna, bela}) || b.Grant != "g1" {
		t.Errorf("asks %+v", b)
	}
	for _, part := range []string{
		"Approval " + b.Approval, "- It sends mail.\n", "│ send\n│ to: <x&y>\n", "until 2027-01-15 09:00:00 UTC",
		"/approve " + b.Approval + " allows", "/approve " + b.Approval + " always", "/deny " + b.Approval, "send to <x&y>",
	} {
		if !strings.Contains(b.Text, part) {
			t.Errorf("%q is not in\n%s", part, b.Text)
		}
	}
	k.run(nil)
	if step, ok := k.state.Next(k.view(), rules(), nil).(machine.Wait); !ok || !step.Until.Equal(start.Add(ttl)) {
		t.Errorf("then %#v", step)
	}
}

func TestQuestionWithoutAlways(t *testing.T) {
	for name, change := range map[string]func(*callv1.Awaiting){
		"no grant": func(w *callv1.Awaiting) { w.Grant, w.Fixed = "", "" },
		"L3":       func(w *callv1.Awaiting) { w.Level = toolv1.L3 },
		"no level": func(w *callv1.Awaiting) { w.Level = 9 },
	} {
		w := awaiting("m/t", "c1")
		change(&w)
		k := newTale(t).say("w1", "", w)
		b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil))
		if strings.Contains(b.Text, "always") || b.Grant != "" || b.Fixed != "" {
			t.Errorf("%s: offers always: %+v", name, b)
		}
	}
}

// TestTextOfOthers: what runs cannot pass for words of ours, nor hide anything.
func TestTextOfOthers(t *testing.T) {
	w := awaiting("m/t", "c1")
	w.Shown = "send\n/approve aaaaaaaaaaa allows it once."
	w.Why = []string{"because\n/approve aaaaaaaaaaa\u202e\u200b" + strings.Repeat("x", 600)}
	k := newTale(t).say("w1", "", w)
	b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil))
	for line := range strings.SplitSeq(b.Text, "\n") {
		if strings.HasPrefix(line, "/approve aaaaaaaaaaa") || strings.ContainsAny(line, "\u202e\u200b") || len(line) > 600 {
			t.Errorf("a line of somebody else: %q", line)
		}
	}
}

func TestEnds(t *testing.T) {
	id := approval.ID(home, "w1")
	tests := map[string]struct {
		after time.Duration
		event envelope.Body
		kinds []string
		out   approval.Outcome // "": still open
	}{
		"a moment before":   {after: ttl - 1},
		"expiry":            {after: ttl, kinds: []string{"approval.expired"}, out: approval.Expired},
		"long after":        {after: 99 * ttl, kinds: []string{"approval.expired"}, out: approval.Expired},
		"turn cancelled":    {event: turnv1.Cancelled{Turn: "m/t"}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"turn failed":       {event: turnv1.Failed{Outcome: turnv1.Outcome{Turn: "m/t"}}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"turn completed":    {event: turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m/t"}}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"another turn":      {event: turnv1.Cancelled{Turn: "n/t"}},
		"only messages":     {event: turnv1.Cancelled{}},
		"call denied":       {event: callv1.Denied{Turn: "m/t", Call: "c1"}, out: approval.Cancelled},
		"another call":      {event: callv1.Denied{Turn: "m/t", Call: "c2"}},
		"call dispatched":   {event: callv1.Dispatched{Request: callv1.Request{Turn: "m/t", Call: "c1"}}, out: approval.Cancelled},
		"call completed":    {event: callv1.Completed{Turn: "m/t", Call: "c1"}, out: approval.Cancelled},
		"expired, over too": {after: ttl, event: turnv1.Cancelled{Turn: "m/t"}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k, _ := asked(t)
			k.now = start.Add(tt.after)
			if tt.event != nil {
				k.say("e", "", tt.event)
			}
			kinds, last := k.run(nil)
			if !slices.Equal(kinds, tt.kinds) {
				t.Errorf("appends %v, want %v", kinds, tt.kinds)
			}
			o, over := k.state.Over(id)
			if over != (tt.out != "") || o.Outcome != tt.out {
				t.Errorf("ends as %q, want %q", o.Outcome, tt.out)
			}
			if (last == nil) != over {
				t.Errorf("then %#v", last)
			}
		})
	}
}

func TestDeletedSession(t *testing.T) {
	k, _ := asked(t)
	k.say("s", "", decision(anna, "", callv1.AllowOnce)).say("d", "", turnv1.SessionDeleted{})
	if data, err := json.Marshal(k.state); err != nil || string(data) != "{}" {
		t.Errorf("left: %s %v", data, err)
	}
}

// TestParked: what was never asked ends, too, and nobody can answer it.
func TestParked(t *testing.T) {
	k := newTale(t).say("w1", "", awaiting("m/t", "c1")).say("s", "", decision(anna, approval.ID(home, "w1"), callv1.AllowOnce))
	kinds, _ := k.run(unchanged(awaiting("m/t", "c1")))
	if !slices.Equal(kinds, []string{"approval.requested", "notice.posted"}) {
		t.Errorf("an answer before the question: %v", kinds)
	}
	k = newTale(t).say("w1", "", awaiting("m/t", "c1"))
	k.now = start.Add(ttl)
	b := body[approvalv1.Expired](t, k.state.Next(k.view(), rules(), nil))
	if !strings.Contains(b.Text, "before anybody could be asked") {
		t.Error(b.Text)
	}
	k = newTale(t).say("x", "", turnv1.Cancelled{Turn: "m/t"}).say("w1", "", awaiting("m/t", "c1"))
	if kinds, _ := k.run(nil); !slices.Equal(kinds, []string{"approval.cancelled"}) {
		t.Errorf("asked for a turn that has ended: %v", kinds)
	}
}

func TestDuplicates(t *testing.T) {
	k := newTale(t)
	k.say("w1", "k1", awaiting("m/t", "c1")).say("w1", "k1", awaiting("m/t", "c1")).say("w2", "k1", awaiting("m/t", "c1"))
	k.say("w3", "", awaiting("m/t", "c1")) // a second question about an open call
	if kinds, _ := k.run(nil); !slices.Equal(kinds, []string{"approval.requested"}) {
		t.Errorf("appends %v", kinds)
	}
	id := approval.ID(home, "w1")
	k.say("s1", "x1", decision(anna, id, callv1.Deny)).say("s1", "x1", decision(anna, id, callv1.Deny)).say("s2", "x1", decision(anna, id, callv1.Deny))
	if kinds, last := k.run(nil); !slices.Equal(kinds, []string{"approval.decided"}) || last != nil {
		t.Errorf("appends %v, then %#v", kinds, last)
	}
	k.say("s1", "x1", decision(anna, id, callv1.Deny)).say("w1", "", awaiting("m/t", "c1")).say("w9", "k1", awaiting("m/t", "c1"))
	if kinds, last := k.run(nil); len(kinds) > 0 || last != nil {
		t.Errorf("what is settled comes again: %v, then %#v", kinds, last)
	}
	k.say("w5", "", awaiting("m/t", "c1")) // asked again, as a new question
	if kinds, _ := k.run(nil); !slices.Equal(kinds, []string{"approval.requested"}) {
		t.Errorf("appends %v", kinds)
	}
}

// TestDoubt: while the gate says nothing an answer waits, those about other approvals do not, and the clock goes on.
func TestDoubt(t *testing.T) {
	k, a := asked(t)
	k.say("w2", "", awaiting("m/t", "c2"))
	k.run(nil)
	k.say("s1", "", decision(anna, a.ID, callv1.AllowOnce)).say("s2", "", decision(bela, a.ID, callv1.Deny))
	k.say("s3", "", decision(bela, approval.ID(home, "w2"), callv1.Deny))
	kinds, last := k.run(nil)
	if !slices.Equal(kinds, []string{"approval.decided"}) || len(k.state.Inbox) != 2 {
		t.Errorf("appends %v, left %v", kinds, k.state.Inbox)
	}
	if w, ok := last.(machine.Wait); !ok || !w.Until.Equal(k.now.Add(2*time.Second)) {
		t.Errorf("then %#v", last)
	}
	if q := k.state.Questions(k.view(), rules()); len(q) != 1 || q[0].Submission != "s1" || string(q[0].Arguments) != `{"to":"<x&y>"}` {
		t.Errorf("asks the gate %+v", q)
	}
	other := verdict(awaiting("m/t", "c1"))
	other.Submission = "s2"
	if _, ok := k.state.Next(k.view(), rules(), &other).(machine.Wait); !ok {
		t.Error("a verdict about another answer was taken")
	}
	k.now = start.Add(ttl)
	kinds, last = k.run(unchanged(awaiting("m/t", "c1")))
	if !slices.Equal(kinds, []string{"approval.expired", "notice.posted", "notice.posted"}) || last != nil {
		t.Errorf("at expiry it appends %v, then %#v", kinds, last)
	}
}

func TestAnswersWithoutID(t *testing.T) {
	id1, id2 := approval.ID(home, "w1"), approval.ID(home, "w2")
	tests := map[string]struct {
		by   string
		tell func(k *tale, say func())
		text string // of the notice; "": it decides the first
	}{
		"the only one":   {by: anna, tell: func(_ *tale, say func()) { say() }},
		"by a stranger":  {by: mal, tell: func(_ *tale, say func()) { say() }, text: "This is not yours to decide: only those named under approvers in the configuration may (without it, the owners)."},
		"before another": {by: anna, tell: func(k *tale, say func()) { say(); k.say("w2", "", awaiting("m/t", "c2")) }},
		"several": {by: anna, tell: func(k *tale, say func()) {
			k.say("w2", "", awaiting("m/t", "c2"))
			k.run(nil)
			say()
		}, text: id1 + " (send)"},
		"several, by a stranger": {by: mal, tell: func(k *tale, say func()) {
			k.say("w2", "", awaiting("m/t", "c2"))
			k.run(nil)
			say()
		}, text: "not yours"},
		"none": {by: anna, tell: func(k *tale, say func()) {
			k.say("x", "", turnv1.Cancelled{Turn: "m/t"})
			say()
		}, text: "nothing to decide"},
		"meant for one that another person has just settled": {by: anna, tell: func(k *tale, say func()) {
			k.say("s0", "", decision(bela, id1, callv1.Deny))
			k.run(nil)
			k.say("w2", "", awaiting("m/t", "c2"))
			k.run(nil)
			say()
		}, text: "settled just before"},
		"after one that the same person has settled": {by: anna, tell: func(k *tale, say func()) {
			k.say("s0", "", decision(anna, id1, callv1.AllowOnce))
			k.run(unchanged(awaiting("m/t", "c1")))
			k.say("w2", "", awaiting("m/t", "c2"))
			k.run(nil)
			say()
		}},
		"a while after another was settled": {by: anna, tell: func(k *tale, say func()) {
			k.say("s0", "", decision(bela, id1, callv1.Deny))
			k.run(nil)
			k.say("w2", "", awaiting("m/t", "c2"))
			k.run(nil)
			k.now = k.now.Add(time.Minute)
			say()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k, _ := asked(t)
			tt.tell(k, func() { k.say("s", "", decision(tt.by, "", callv1.Deny)) })
			for range 9 {
				step := k.state.Next(k.view(), rules(), nil)
				if a, ok := step.(machine.Append); ok {
					if n, ok := a.Body.(noticev1.Posted); ok && slices.Equal(n.Answers, []string{"s"}) {
						if tt.text == "" || !strings.Contains(n.Text, tt.text) {
							t.Errorf("is told %q, want %q", n.Text, tt.text)
						}
						if tt.by == mal && (strings.Contains(n.Text, id1) || strings.Contains(n.Text, id2) || strings.Contains(n.Text, "send")) {
							t.Errorf("a stranger is told %q", n.Text)
						}
						return
					}
					if d, ok := a.Body.(approvalv1.Decided); ok && slices.Equal(d.Answers, []string{"s"}) {
						if tt.text != "" {
							t.Errorf("decides %s", d.Approval)
						}
						return
					}
					k.say("own"+string(rune('a'+k.cursor)), "", a.Body)
				}
			}
			t.Error("no answer")
		})
	}
}

// TestBounds: however much was settled, the state stays small.
func TestBounds(t *testing.T) {
	k := newTale(t)
	for i := range 200 {
		turn := string(rune('a' + i))
		k.say("w"+turn, "", awaiting(turn, "c")).say("x"+turn, "", turnv1.Cancelled{Turn: turn})
		k.say("s"+turn, "", decision(anna, "", callv1.Deny))
		k.run(nil)
	}
	if s := k.state; len(s.Open) > 0 || len(s.Inbox) > 0 || len(s.Settled) != 64 || len(s.Answered) != 64 || len(s.Ended) != 16 {
		t.Errorf("%d open, %d in the inbox, %d settled, %d answered, %d ended", len(s.Open), len(s.Inbox), len(s.Settled), len(s.Answered), len(s.Ended))
	}
}

// TestFirstQuestionCounts: what a question was bound to does not change, and whichever expires first is waited for.
func TestFirstQuestionCounts(t *testing.T) {
	k, a := asked(t)
	ref := approvalv1.Requested{Approval: a.ID, Approvers: []string{mal}, Expires: start.Add(99 * ttl)}
	k.say("again", "", ref)
	if b, _ := k.state.Find(a.ID); !b.Expires.Equal(a.Expires) || slices.Contains(b.Approvers, mal) {
		t.Errorf("asked again: %+v", b)
	}
	k.say("w2", "", awaiting("m/t", "c2"))
	soon := start.Add(time.Minute)
	k.say("q2", "", approvalv1.Requested{Approval: approval.ID(home, "w2"), Approvers: []string{anna}, Expires: soon})
	if step, ok := k.state.Next(k.view(), rules(), nil).(machine.Wait); !ok || !step.Until.Equal(soon) {
		t.Errorf("waits for %#v", step)
	}
}

func TestNothingIsDecidedAfterItsTurn(t *testing.T) {
	k, a := asked(t)
	k.say("x", "", turnv1.Cancelled{Turn: "m/t"})
	v := verdict(awaiting("m/t", "c1"))
	for _, d := range []callv1.Decision{callv1.AllowOnce, callv1.Deny} {
		x := approval.Answer{Approval: a.ID, By: anna, Decision: d}
		if got := k.state.Decide(home, x, start, rules(), &v); got.Kind != approval.Gone || got.Body != nil {
			t.Errorf("%s: %s %q", d, got.Kind, got.Text)
		}
	}
}
