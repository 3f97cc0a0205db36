package approval_test

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

func TestDecide(t *testing.T) {
	edited := request("m/t", "c1", `{"to":"z"}`)
	edited.Files, edited.Level = nil, toolv1.L1
	heard := func(change func(*approval.Verdict)) *approval.Verdict {
		v := verdict(awaiting("m/t", "c1"))
		if change != nil {
			change(&v)
		}
		return &v
	}
	other := func(change func(*approval.Verdict)) *approval.Verdict {
		return heard(func(v *approval.Verdict) {
			v.Request, v.Shown, v.Grant = edited, "send\nto: z", "g2"
			if change != nil {
				change(v)
			}
		})
	}
	always, once, deny := callv1.AllowAlways, callv1.AllowOnce, callv1.Deny
	args := json.RawMessage(` {"to": "z"} `)
	tests := []struct {
		name  string
		by    string
		say   callv1.Decision
		args  json.RawMessage
		heard *approval.Verdict
		after time.Duration
		want  approval.Kind
		text  string
	}{
		{"allow", anna, once, nil, heard(nil), 0, approval.Wins, "allowed once by telegram:1"},
		{"allow by the other", bela, once, nil, heard(nil), 0, approval.Wins, "telegram:2"},
		{"always", anna, always, nil, heard(nil), 0, approval.Wins, "allowed always"},
		{"deny needs no gate", anna, deny, nil, nil, 0, approval.Wins, "denied by telegram:1. Reason: no, thanks"},
		{"a moment before it expires", anna, deny, nil, nil, ttl - 1, approval.Wins, ""},
		{"at expiry", anna, deny, nil, nil, ttl, approval.Late, "expired"},
		{"after expiry", anna, once, nil, heard(nil), ttl + 1, approval.Late, "expired"},
		{"stranger", mal, once, nil, heard(nil), 0, approval.Stranger, "not yours"},
		{"stranger denies", mal, deny, nil, nil, 0, approval.Stranger, "not yours"},
		{"nobody", "", once, nil, heard(nil), 0, approval.Stranger, "not yours"},
		{"no decision", anna, "yes", nil, heard(nil), 0, approval.Wrong, "allow-once"},
		{"without the gate", anna, once, nil, nil, 0, approval.Unheard, "doubt"},
		{"the gate denies", anna, once, nil, heard(func(v *approval.Verdict) { v.Effect, v.Reason = approval.Deny, "no mail today" }), 0, approval.Voids, "no mail today"},
		{"the gate would run it now", anna, once, nil, heard(func(v *approval.Verdict) { v.Effect, v.Shown, v.Grant = approval.Run, "", "" }), 0, approval.Wins, ""},
		{"the gate would run it, always", anna, always, nil, heard(func(v *approval.Verdict) { v.Effect, v.Shown, v.Grant = approval.Run, "", "" }), 0, approval.Wins, "always"},
		{"the gate says nothing", anna, once, nil, heard(func(v *approval.Verdict) { v.Effect = "" }), 0, approval.Unheard, ""},
		{"the gate says maybe", anna, once, nil, heard(func(v *approval.Verdict) { v.Effect = "allow" }), 0, approval.Unheard, ""},
		{"an empty verdict", anna, once, nil, &approval.Verdict{Effect: approval.Run}, 0, approval.Unheard, ""},
		{"of another call", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Call = "c2" }), 0, approval.Unheard, ""},
		{"of another turn", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Turn = "n/t" }), 0, approval.Unheard, ""},
		{"of another tool", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Tool = "wipe" }), 0, approval.Unheard, ""},
		{"of other arguments", anna, once, nil, heard(func(v *approval.Verdict) { v.Request = edited }), 0, approval.Unheard, ""},
		{"arguments and digest differ", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Digest = "x" }), 0, approval.Unheard, ""},
		{"policy changed", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Policy = "p2" }), 0, approval.Voids, "the policy"},
		{"tool changed", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.ToolDigest = "t2" }), 0, approval.Voids, "the tool"},
		{"executor changed", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Executor = "evil" }), 0, approval.Voids, "the tool"},
		{"level changed", anna, always, nil, heard(func(v *approval.Verdict) { v.Request.Level = toolv1.L3 }), 0, approval.Voids, "the level"},
		{"file changed", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Files = []callv1.File{{Path: "a", Digest: "e"}} }), 0, approval.Voids, "the files"},
		{"file gone", anna, once, nil, heard(func(v *approval.Verdict) { v.Request.Files = nil }), 0, approval.Voids, "the files"},
		{"shown otherwise", anna, once, nil, heard(func(v *approval.Verdict) { v.Shown = "send: nothing" }), 0, approval.Voids, "what is shown"},
		{"always, for another grant", anna, always, nil, heard(func(v *approval.Verdict) { v.Grant = "g2" }), 0, approval.Wrong, "always"},
		{"always, for no grant any more", anna, always, nil, heard(func(v *approval.Verdict) { v.Grant = "" }), 0, approval.Wrong, "always"},
		{"edit", anna, once, args, other(nil), 0, approval.Wins, "│ to: z"},
		{"edit, always", anna, always, args, other(nil), 0, approval.Wins, "allowed always with other arguments"},
		{"edit, always, L3", anna, always, args, other(func(v *approval.Verdict) { v.Request.Level = toolv1.L3 }), 0, approval.Wrong, "always"},
		{"edit, always, no grant", anna, always, args, other(func(v *approval.Verdict) { v.Grant = "" }), 0, approval.Wrong, "always"},
		{"edit, denied by the gate", anna, once, args, other(func(v *approval.Verdict) { v.Effect, v.Reason = approval.Deny, "not to z" }), 0, approval.Wrong, "not to z"},
		{"edit, judged for what was asked", anna, once, args, heard(nil), 0, approval.Unheard, ""},
		{"edit, policy changed", anna, once, args, other(func(v *approval.Verdict) { v.Request.Policy = "p2" }), 0, approval.Voids, "the policy"},
		{"edit without the gate", anna, once, args, nil, 0, approval.Unheard, ""},
		{"edit by a stranger", mal, once, args, other(nil), 0, approval.Stranger, ""},
		{"edit, no object", anna, once, json.RawMessage(`[1]`), other(nil), 0, approval.Wrong, "object"},
		{"edit, no JSON", anna, once, json.RawMessage(`{"to"`), other(nil), 0, approval.Wrong, "arguments"},
		{"edit, a key twice", anna, once, json.RawMessage(`{"to":1,"to":2}`), other(nil), 0, approval.Wrong, "to"},
		{"deny with arguments", anna, deny, args, nil, 0, approval.Wrong, "leave them out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, a := asked(t)
			x := approval.Answer{Approval: a.ID, By: tt.by, Decision: tt.say, Arguments: tt.args, Reason: "no,\nthanks\u202e"}
			got := k.state.Decide(home, x, start.Add(tt.after), rules(), tt.heard)
			if got.Kind != tt.want || !strings.Contains(got.Text, tt.text) {
				t.Fatalf("%s %q, want %s %q", got.Kind, got.Text, tt.want, tt.text)
			}
			if (got.Body != nil) != (tt.want == approval.Wins || tt.want == approval.Voids) {
				t.Errorf("appends %#v", got.Body)
			}
			if tt.want == approval.Stranger && strings.Contains(got.Text, "send") {
				t.Errorf("a stranger is told %q", got.Text)
			}
			if b, ok := got.Body.(approvalv1.Decided); ok {
				checkSigned(t, a, x, b)
			}
		})
	}
}

// checkSigned: the signature is for exactly what was decided about, and for nothing else.
func checkSigned(t *testing.T, a approval.Approval, x approval.Answer, b approvalv1.Decided) {
	t.Helper()
	public := key.Public().(ed25519.PublicKey)
	bound, shown := a.Request(), a.Parked.Shown
	if len(x.Arguments) > 0 {
		bound, shown = *b.Edited, "send\nto: z"
	} else if b.Edited != nil {
		t.Errorf("edited: %+v", b.Edited)
	}
	if b.Answer.Verify(public, home, bound) != x.Decision.Allows() {
		t.Errorf("the signature of %+v", b.Answer)
	}
	if b.Answer.Shown != canonical.Digest([]byte(shown)) || b.Answer.By != x.By || !b.Answer.At.Before(b.Answer.Expires) {
		t.Errorf("signs %+v", b.Answer)
	}
	if (b.Answer.Grant != "") != (x.Decision == callv1.AllowAlways) {
		t.Errorf("grant %q", b.Answer.Grant)
	}
	if (b.Reason != "") != (x.Decision == callv1.Deny) {
		t.Errorf("reason %q", b.Reason)
	}
	for name, change := range map[string]func(*callv1.Request){
		"call": func(r *callv1.Request) { r.Call = "c2" }, "policy": func(r *callv1.Request) { r.Policy = "p2" },
		"index": func(r *callv1.Request) { r.Index++ }, "tool": func(r *callv1.Request) { r.Tool = "x" },
		"files":     func(r *callv1.Request) { r.Files = append([]callv1.File{{Path: "b"}}, r.Files...) },
		"arguments": func(r *callv1.Request) { r.Arguments = json.RawMessage(`{"to":"q"}`) },
	} {
		forged := bound
		change(&forged)
		if b.Answer.Verify(public, home, forged) {
			t.Errorf("the signature holds for another %s", name)
		}
	}
	if b.Answer.Verify(public, "main.telegram.bot.2", bound) {
		t.Error("the signature holds in another session")
	}
}

func TestNoAlways(t *testing.T) {
	for name, change := range map[string]func(*callv1.Awaiting){
		"no grant": func(w *callv1.Awaiting) { w.Grant = "" }, "L3": func(w *callv1.Awaiting) { w.Level = toolv1.L3 },
	} {
		w := awaiting("m/t", "c1")
		change(&w)
		k := newTale(t).say("w1", "", w)
		k.run(nil)
		v := verdict(w)
		x := approval.Answer{Approval: approval.ID(home, "w1"), By: anna, Decision: callv1.AllowAlways}
		if got := k.state.Decide(home, x, start, rules(), &v); got.Kind != approval.Wrong {
			t.Errorf("%s: %s %q", name, got.Kind, got.Text)
		}
	}
}

// TestApproversOfToday: neither who was an approver only then, nor who is one only now.
func TestApproversOfToday(t *testing.T) {
	k, a := asked(t)
	r := rules()
	r.Approvers = []string{bela, mal}
	for by, want := range map[string]approval.Kind{anna: approval.Stranger, mal: approval.Stranger, bela: approval.Wins} {
		x := approval.Answer{Approval: a.ID, By: by, Decision: callv1.Deny}
		if got := k.state.Decide(home, x, start, r, nil); got.Kind != want {
			t.Errorf("%s: %s", by, got.Kind)
		}
	}
}

func TestLateAnswers(t *testing.T) {
	id := approval.ID(home, "w1")
	answer := func(by string, d callv1.Decision) approval.Answer {
		return approval.Answer{Approval: id, By: by, Decision: d}
	}
	won := func(d callv1.Decision) func(*tale) {
		return func(k *tale) {
			k.say("s", "", decision(anna, id, d))
			k.run(unchanged(awaiting("m/t", "c1")))
		}
	}
	withArgs := answer(bela, callv1.AllowOnce)
	withArgs.Arguments = json.RawMessage(`{"to":"z"}`)
	tests := map[string]struct {
		end  func(*tale)
		x    approval.Answer
		want approval.Kind
		text string
	}{
		"the same":              {won(callv1.Deny), answer(anna, callv1.Deny), approval.Same, "denied by telegram:1"},
		"the same by another":   {won(callv1.AllowOnce), answer(bela, callv1.AllowOnce), approval.Same, "allowed once by telegram:1"},
		"another":               {won(callv1.AllowOnce), answer(bela, callv1.Deny), approval.Lost, "allowed once by telegram:1 at 2027-01-15 08:00:00 UTC"},
		"more":                  {won(callv1.AllowOnce), answer(anna, callv1.AllowAlways), approval.Lost, "allowed once"},
		"with other arguments":  {won(callv1.AllowOnce), withArgs, approval.Lost, "allowed once"},
		"a stranger":            {won(callv1.AllowOnce), answer(mal, callv1.AllowOnce), approval.Stranger, "not yours"},
		"after expiry":          {func(k *tale) { k.now = start.Add(ttl); k.run(nil) }, answer(anna, callv1.AllowOnce), approval.Late, "has expired at 2027-01-15 09:00:00 UTC"},
		"after it was voided":   {func(k *tale) { a, _ := k.state.Find(id); k.say("v", "", a.Void("so")) }, answer(anna, callv1.AllowOnce), approval.Gone, "void since 2027-01-15 08:00:00 UTC: so"},
		"after its turn":        {func(k *tale) { k.say("d", "", callv1.Denied{Turn: "m/t", Call: "c1"}) }, answer(anna, callv1.AllowOnce), approval.Gone, "cancelled"},
		"to something unknown":  {func(*tale) {}, approval.Answer{Approval: "abbbbbbbbbb", By: anna, Decision: callv1.Deny}, approval.Missing, "no approval abbbbbbbbbb"},
		"to something invented": {func(*tale) {}, approval.Answer{Approval: "\n/approve x\u202e", By: anna, Decision: callv1.Deny}, approval.Missing, "no approval /approve x here"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k, _ := asked(t)
			tt.end(k)
			v := verdict(awaiting("m/t", "c1"))
			got := k.state.Decide(home, tt.x, k.now, rules(), &v)
			if got.Kind != tt.want || !strings.Contains(got.Text, tt.text) || got.Body != nil {
				t.Errorf("%s %q, want %s %q", got.Kind, got.Text, tt.want, tt.text)
			}
		})
	}
}

// TestVoidedWhileAnswered: the one who has answered learns of it by an answer of their own.
func TestVoidedWhileAnswered(t *testing.T) {
	k, a := asked(t)
	k.say("s", "", decision(anna, strings.ToUpper(a.ID), callv1.AllowOnce))
	kinds, last := k.run(func(approval.Question) *approval.Verdict {
		v := verdict(awaiting("m/t", "c1"))
		v.Request.Policy = "p2"
		return &v
	})
	if strings.Join(kinds, " ") != "approval.voided notice.posted" || last != nil || len(k.state.Inbox) > 0 {
		t.Errorf("appends %v, then %#v", kinds, last)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		approvers []string
		ok        bool
	}{
		{[]string{"local", "telegram:12345", "http:laptop"}, true},
		{nil, false},
		{[]string{"telegram:@anna"}, false},
		{[]string{"telegram:"}, false},
		{[]string{"anna"}, false},
		{[]string{"telegram:12 "}, false},
		{[]string{":1"}, false},
		{[]string{""}, false},
	}
	for _, tt := range tests {
		r := rules()
		r.Approvers = tt.approvers
		if err := r.Validate(); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.approvers, err)
		}
	}
	for _, r := range []approval.Rules{{TTL: 0, Approvers: []string{"local"}, Sign: rules().Sign}, {TTL: 1, Approvers: []string{"local"}}} {
		if r.Validate() == nil {
			t.Errorf("%+v is valid", r)
		}
	}
}
