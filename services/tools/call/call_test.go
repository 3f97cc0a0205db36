package call_test

import (
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func request(files ...string) callv1.Request {
	args := []byte(`{}`)
	r := callv1.Request{Turn: "t", Call: "c", Tool: "x", Executor: "e", Arguments: args, Digest: canonical.Digest(args), Policy: "p"}
	for _, f := range files {
		r.Files = append(r.Files, callv1.File{Path: f, Digest: "d"})
	}
	return r
}

// brief is a step in a word or two.
func brief(step machine.Step) string {
	a, ok := step.(machine.Append)
	if !ok {
		return "nothing"
	}
	switch b := a.Body.(type) {
	case callv1.Denied:
		return fmt.Sprintf("denied by %s: %s", b.Rule, b.Reason)
	case callv1.Dispatched:
		return "dispatched by " + b.Rule
	case callv1.Awaiting:
		return "awaiting"
	}
	return a.Body.EventType()
}

func fold(bodies ...envelope.Body) call.State {
	var s call.State
	for i, b := range bodies {
		s = s.Apply(envelope.Event{ID: fmt.Sprint("e", i+1), Cursor: uint64(i + 1), Body: b})
	}
	return s
}

// TestNext: phases only go forward, whatever comes late or twice, and what was allowed is compared in all its parts.
func TestNext(t *testing.T) {
	step := turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c", Tool: "x", Arguments: []byte(`{}`)}}}
	ref := approvalv1.Ref{Approval: "a", Turn: "t", Call: "c"}
	awaiting, dispatched := callv1.Awaiting{Request: request("f")}, callv1.Dispatched{Request: request("f")}
	allowed := approvalv1.Decided{Ref: ref, Answer: callv1.Approval{ID: "a", Decision: callv1.AllowOnce}}
	denied := approvalv1.Decided{Ref: ref, Answer: callv1.Approval{ID: "a", Decision: callv1.Deny}, Reason: "no"}
	const changed = "denied by approval: what the person has allowed is no longer what would run: the files changed since. You may ask again"
	for _, c := range []struct {
		name   string
		bodies []envelope.Body
		now    callv1.Request
		want   string
	}{
		{"asked", []envelope.Body{step}, request("f"), "awaiting"},
		{"awaiting", []envelope.Body{step, awaiting}, request("f"), "nothing"},
		{"allowed", []envelope.Body{step, awaiting, allowed}, request("f"), "dispatched by approval"},
		{"with a file more", []envelope.Body{step, awaiting, allowed}, request("f", "g"), changed},
		{"refused", []envelope.Body{step, awaiting, denied}, request("f"), "denied by approval: the person said no: no"},
		{"refused, then allowed", []envelope.Body{step, awaiting, denied, allowed}, request("f"), "denied by approval: the person said no: no"},
		{"allowed, then refused", []envelope.Body{step, awaiting, allowed, denied}, request("f"), "dispatched by approval"},
		{"allowed, then expired", []envelope.Body{step, awaiting, allowed, approvalv1.Expired{Ref: ref}}, request("f"), "dispatched by approval"},
		{"refused before it was asked about", []envelope.Body{step, denied}, request("f"), "awaiting"},
		{"parked once more when dispatched", []envelope.Body{step, awaiting, allowed, dispatched, awaiting}, request("f"), "nothing"},
		{"decided once more when dispatched", []envelope.Body{step, awaiting, allowed, dispatched, awaiting, allowed}, request("f"), "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			judge := func(call.Question) call.Verdict { return call.Verdict{Effect: call.Ask, Request: c.now} }
			if got := brief(fold(c.bodies...).Next(machine.View{}, judge)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestReset: a new beginning clears what was read and what was allowed for always; a summary of the past does not.
func TestReset(t *testing.T) {
	always := approvalv1.Decided{
		Ref:    approvalv1.Ref{Approval: "a", Turn: "t", Call: "c"},
		Answer: callv1.Approval{ID: "a", Decision: callv1.AllowAlways, Grant: "g"},
	}
	past := []envelope.Body{
		turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c", Tool: "x", Arguments: []byte(`{}`)}}},
		callv1.Awaiting{Request: request()},
		always,
		callv1.Completed{Executor: "e", Turn: "t", Call: "c", Outcome: callv1.OK, Untrusted: true, Private: true},
		callv1.Completed{Executor: "e", Turn: "t", Call: "d", Outcome: callv1.OK},
		turnv1.SessionCompacted{},
	}
	if s := fold(past...); !s.Taint.Untrusted || !s.Taint.Private || len(s.Always) != 1 {
		t.Errorf("before: %+v", s)
	}
	if s := fold(append(past, turnv1.SessionReset{})...); s.Taint != (call.Taint{}) || len(s.Always) != 0 {
		t.Errorf("after: %+v", s)
	}
}

// TestWhatPeoplePassOn taints the session, until a new beginning that comes after it was answered.
func TestWhatPeoplePassOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		message messagev1.Received
		want    bool
	}{
		{"plain", messagev1.Received{Text: "hi"}, false},
		{"in a group", messagev1.Received{Text: "hi", Group: true}, false},
		{"forwarded", messagev1.Received{Text: "hi", Forwarded: "News"}, true},
		{"a file", messagev1.Received{Files: []messagev1.File{{Kind: messagev1.Photo, Digest: "d"}}}, true},
		{"a quote of somebody", messagev1.Received{Text: "hi", Quote: &messagev1.Quote{From: "Bob", Text: "obey"}}, true},
		{"a quote of the agent", messagev1.Received{Text: "hi", Quote: &messagev1.Quote{Own: true, Text: "yes"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fold(c.message).Taint; got != (call.Taint{Untrusted: c.want}) {
				t.Errorf("got %+v", got)
			}
			waits := fold(c.message, turnv1.SessionReset{}) // /new came before it, and is carried out after it
			if waits.Taint.Untrusted != c.want {
				t.Errorf("it waits at a reset: %+v", waits)
			}
			for _, end := range []envelope.Body{
				turnv1.Completed{Answers: []string{"e1"}}, turnv1.Failed{Answers: []string{"e1"}}, turnv1.Cancelled{Answers: []string{"e1"}},
			} {
				if s := fold(c.message, end); s.Taint.Untrusted != c.want || len(s.Foreign) != 0 {
					t.Errorf("answered: %+v", s)
				}
				if s := fold(c.message, end, turnv1.SessionReset{}); s.Taint != (call.Taint{}) {
					t.Errorf("answered, and begun afresh: %+v", s)
				}
			}
		})
	}
	if s := fold(messagev1.Reacted{Native: "1", Emoji: []string{"x"}}, messagev1.Edited{Message: "m", Text: "x"}); s.Taint != (call.Taint{}) {
		t.Errorf("information only: %+v", s)
	}
}
