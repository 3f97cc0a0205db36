package approval_test

import (
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// wants is a question in the middle of a call: with a default for its name, or without.
func wants(turn, call string, complete bool) callv1.Asked {
	schema, content := `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"age":{"type":"integer","default":7}}}`, `{"age":7}`
	if complete {
		schema, content = `{"type":"object","required":["name"],"properties":{"name":{"type":"string","default":"<Ada>"}}}`, `{"name":"<Ada>"}`
	}
	b := callv1.Asked{
		Request: request(turn, call, content), Attempt: 1, Question: turn + "/" + call + "/1/1", Message: "Who?", Schema: json.RawMessage(schema),
		Why: []string{"The MCP server mail asks, in the middle of send: \"Who?\""}, Shown: "name = \"<Ada>\"", Expires: start.Add(10 * time.Minute),
	}
	b.Files = nil
	b.ToolDigest = callv1.QuestionDigest(b.ToolDigest, b.Question, b.Message, b.Schema)
	return b
}

func put(t *testing.T, complete bool) (*tale, approval.Approval) {
	t.Helper()
	k := newTale(t).say("q1", "", wants("m/t", "c1", complete))
	k.run(nil)
	a, ok := k.state.Find(approval.ID(home, "q1"))
	if !ok || !a.Asked || a.Form == nil {
		t.Fatalf("not asked: %+v", k.state)
	}
	return k, a
}

func TestQuestionInACall(t *testing.T) {
	for _, complete := range []bool{true, false} {
		k := newTale(t).say("q1", "", wants("m/t", "c1", complete))
		b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil))
		if !b.Expires.Equal(start.Add(10*time.Minute)) || b.Grant != "" || b.Fixed != "" || len(b.Schema) == 0 {
			t.Errorf("asks %+v", b)
		}
		parts := []string{"a question from send, while it runs", "- The MCP server mail asks", "│ name = \"<Ada>\"", "/deny " + b.Approval + " sends nothing"}
		if complete {
			parts = append(parts, "/approve "+b.Approval+" sends it")
		} else {
			parts = append(parts, "name is missing", "jetclaw approvals approve "+b.Approval+" --edit FILE")
		}
		for _, part := range parts {
			if !strings.Contains(b.Text, part) {
				t.Errorf("%q is not in\n%s", part, b.Text)
			}
		}
		if strings.Contains(b.Text, "always") || strings.Contains(b.Text, "would run") || strings.Contains(b.Ways, "/approve") != complete {
			t.Errorf("asks\n%s", b.Text)
		}
	}
	w := wants("m/t", "c1", true)
	w.Expires = start.Add(99 * ttl)
	k := newTale(t).say("q1", "", w)
	if b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil)); !b.Expires.Equal(start.Add(ttl)) {
		t.Errorf("it is open until %s", b.Expires)
	}
}

// TestFill: no gate is asked, and nothing is sent that the form does not take.
func TestFill(t *testing.T) {
	once, always, deny := callv1.AllowOnce, callv1.AllowAlways, callv1.Deny
	for _, tt := range []struct {
		name     string
		complete bool
		by       string
		say      callv1.Decision
		args     string
		after    time.Duration
		want     approval.Kind
		text     string
		sent     string
	}{
		{"as shown", true, anna, once, "", 0, approval.Wins, "answered by telegram:1", `{"name":"<Ada>"}`},
		{"other values", true, anna, once, `{"name": "Bo"}`, 0, approval.Wins, "answered with other values by telegram:1. This is sent:\n│ name = \"Bo\"", `{"name":"Bo"}`},
		{"what is left out has its default", false, anna, once, `{"name":"Bo"}`, 0, approval.Wins, "age = 7", `{"age":7,"name":"Bo"}`},
		{"denied", false, anna, deny, "", 0, approval.Wins, "denied by telegram:1", ""},
		{"not as it is", false, anna, once, "", 0, approval.Wrong, "name is missing. Fill it in with", ""},
		{"not with this", true, anna, once, `{"name":1}`, 0, approval.Wrong, "name has to be a text", ""},
		{"not with more", true, anna, once, `{"name":"Bo","to":"x"}`, 0, approval.Wrong, "there is no field to", ""},
		{"no object", true, anna, once, `[1]`, 0, approval.Wrong, "has to be a JSON object", ""},
		{"a key twice", true, anna, once, `{"name":"a","name":"b"}`, 0, approval.Wrong, "cannot be taken", ""},
		{"never for always", true, anna, always, "", 0, approval.Wrong, "cannot be given for always", ""},
		{"nor with other values", true, anna, always, `{"name":"Bo"}`, 0, approval.Wrong, "always", ""},
		{"denied with values", true, anna, deny, `{"name":"Bo"}`, 0, approval.Wrong, "leave them out", ""},
		{"by a stranger", true, mal, once, "", 0, approval.Stranger, "not yours", ""},
		{"too late", true, anna, once, "", 10 * time.Minute, approval.Late, "Nothing was sent", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, a := put(t, tt.complete)
			x := approval.Answer{Approval: a.ID, By: tt.by, Decision: tt.say}
			if tt.args != "" {
				x.Arguments = json.RawMessage(tt.args)
			}
			got := k.state.Decide(home, x, start.Add(tt.after), rules(), nil)
			if got.Kind != tt.want || !strings.Contains(got.Text, tt.text) {
				t.Fatalf("%s %q, want %s %q", got.Kind, got.Text, tt.want, tt.text)
			}
			b, ok := got.Body.(approvalv1.Decided)
			if ok != (tt.want == approval.Wins) {
				t.Fatalf("appends %#v", got.Body)
			}
			if tt.sent == "" {
				return
			}
			bound := a.Request()
			if b.Edited != nil {
				bound = *b.Edited
			}
			public := key.Public().(ed25519.PublicKey)
			if string(bound.Arguments) != tt.sent || bound.Digest != canonical.Digest(bound.Arguments) || !b.Answer.Verify(public, home, bound) {
				t.Errorf("sends %s: %+v", bound.Arguments, b)
			}
			call := bound
			call.ToolDigest = "t1"
			if b.Answer.Verify(public, home, call) {
				t.Error("the answer allows a call")
			}
			k.say("d", "", b)
			if again := k.state.Decide(home, x, start, rules(), nil); tt.args == "" && again.Kind != approval.Same {
				t.Errorf("again: %s %q", again.Kind, again.Text)
			}
		})
	}
}

// TestAnswersToQuestionsInCalls come through a channel, too, while the gate cannot be asked.
func TestAnswersToQuestionsInCalls(t *testing.T) {
	k, a := put(t, true)
	k.say("s1", "", decision(anna, "", callv1.AllowOnce))
	if q := k.state.Questions(k.view(), rules()); len(q) > 0 {
		t.Errorf("the gate is asked %+v", q)
	}
	if kinds, last := k.run(nil); !slices.Equal(kinds, []string{"approval.decided"}) || last != nil {
		t.Errorf("appends %v, then %#v", kinds, last)
	}
	if o, _ := k.state.Over(a.ID); o.Outcome != approval.Allowed || !o.Form {
		t.Errorf("%+v", o)
	}
	k, _ = put(t, false)
	k.say("s1", "", decision(anna, "", callv1.AllowOnce))
	kinds, last := k.run(nil)
	if _, waits := last.(machine.Wait); !slices.Equal(kinds, []string{"notice.posted"}) || !waits {
		t.Errorf("appends %v, then %#v", kinds, last)
	}
}

func TestEndsOfQuestionsInCalls(t *testing.T) {
	id := approval.ID(home, "q1")
	second := wants("m/t", "c1", true)
	second.Question = "m/t/c1/1/2"
	started := func(call string) envelope.Body { return callv1.Started{Turn: "m/t", Call: call, Attempt: 2} }
	for name, tt := range map[string]struct {
		after time.Duration
		event envelope.Body
		kinds []string
		out   approval.Outcome
	}{
		"a moment before":          {after: 10*time.Minute - 1},
		"expiry":                   {after: 10 * time.Minute, kinds: []string{"approval.expired"}, out: approval.Expired},
		"its turn ends":            {event: turnv1.Cancelled{Turn: "m/t"}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"its call ends":            {event: callv1.Completed{Turn: "m/t", Call: "c1"}, kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"another call ends":        {event: callv1.Completed{Turn: "m/t", Call: "c2"}},
		"its call begins anew":     {event: started("c1"), kinds: []string{"approval.cancelled"}, out: approval.Cancelled},
		"another call begins anew": {event: started("c2")},
		"its call asks again":      {event: second, kinds: []string{"approval.cancelled", "approval.requested"}, out: approval.Cancelled},
		"another call is parked":   {event: awaiting("m/t", "c2"), kinds: []string{"approval.requested"}},
		"another call asks":        {event: wants("m/t", "c2", true), kinds: []string{"approval.requested"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := put(t, true)
			k.now = start.Add(tt.after)
			if tt.event != nil {
				k.say("e", "", tt.event)
			}
			kinds, _ := k.run(nil)
			if !slices.Equal(kinds, tt.kinds) {
				t.Errorf("appends %v, want %v", kinds, tt.kinds)
			}
			o, over := k.state.Over(id)
			if over != (tt.out != "") || o.Outcome != tt.out {
				t.Errorf("ends as %q, want %q", o.Outcome, tt.out)
			}
			if over {
				got := k.state.Decide(home, approval.Answer{Approval: id, By: anna, Decision: callv1.AllowOnce}, k.now, rules(), nil)
				if got.Body != nil || got.Kind != approval.Gone && got.Kind != approval.Late {
					t.Errorf("a late answer: %s %q", got.Kind, got.Text)
				}
			}
		})
	}
}

// TestDuplicateQuestionsInCalls: the same fact twice is one question, also when it is settled.
func TestDuplicateQuestionsInCalls(t *testing.T) {
	k, a := put(t, true)
	k.say("q1", "", wants("m/t", "c1", true))
	if kinds, _ := k.run(nil); len(kinds) > 0 {
		t.Errorf("appends %v", kinds)
	}
	k.say("s", "", decision(anna, a.ID, callv1.Deny))
	k.run(nil)
	k.say("q1", "", wants("m/t", "c1", true))
	if kinds, last := k.run(nil); len(kinds) > 0 || last != nil {
		t.Errorf("what is settled comes again: %v, then %#v", kinds, last)
	}
}

// TestFormsThatCannotBeRead are denied at most, whatever wrote them.
func TestFormsThatCannotBeRead(t *testing.T) {
	w := wants("m/t", "c1", true)
	w.Schema = json.RawMessage(`{"type":"object","properties":{"x":{"type":"object"}}}`)
	k := newTale(t).say("q1", "", w)
	b := body[approvalv1.Requested](t, k.state.Next(k.view(), rules(), nil))
	if !strings.Contains(b.Text, "cannot be answered") || strings.Contains(b.Text, "/approve") {
		t.Error(b.Text)
	}
	k.run(nil)
	x := approval.Answer{Approval: b.Approval, By: anna, Decision: callv1.AllowOnce, Arguments: json.RawMessage(`{}`)}
	if got := k.state.Decide(home, x, start, rules(), nil); got.Kind != approval.Wrong {
		t.Errorf("%s %q", got.Kind, got.Text)
	}
	x = approval.Answer{Approval: b.Approval, By: anna, Decision: callv1.Deny}
	if got := k.state.Decide(home, x, start, rules(), nil); got.Kind != approval.Wins {
		t.Errorf("%s %q", got.Kind, got.Text)
	}
}
