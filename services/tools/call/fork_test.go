package call_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// fork is the first event of a session with a past of these bodies, as fold numbers them.
func fork(t *testing.T, bodies ...envelope.Body) turnv1.Forked {
	t.Helper()
	f := turnv1.Forked{From: "main.telegram.bot.1", At: uint64(len(bodies)), By: "cli"}
	for i, b := range bodies {
		line, err := envelope.LineOf(envelope.Event{
			ID: fmt.Sprint("e", i+1), Session: f.From, Cursor: uint64(i + 1), Prev: uint64(i), Body: b,
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Events = append(f.Events, line)
	}
	return f
}

// TestFork: what was read in the past is known in the fork; what was allowed there is not allowed here, and nothing of it runs.
func TestFork(t *testing.T) {
	step := turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c", Tool: "x", Arguments: []byte(`{}`)}}}
	ref := approvalv1.Ref{Approval: "a", Turn: "t", Call: "c"}
	awaiting := callv1.Awaiting{Request: request()}
	always := approvalv1.Decided{Ref: ref, Answer: callv1.Approval{ID: "a", Decision: callv1.AllowAlways, Grant: "g"}}
	read := callv1.Completed{Turn: "t", Call: "c", Outcome: callv1.OK, Untrusted: true, Private: true}
	foreign := messagev1.Received{Text: "see this", Forwarded: "Grace"}
	both := call.Taint{Untrusted: true, Private: true}
	for name, c := range map[string]struct {
		past []envelope.Body
		want call.State
	}{
		"nothing":                {nil, call.State{}},
		"a call is open":         {[]envelope.Body{step}, call.State{}},
		"a question is open":     {[]envelope.Body{step, awaiting}, call.State{}},
		"allowed for always":     {[]envelope.Body{step, awaiting, always}, call.State{}},
		"something was read":     {[]envelope.Body{step, awaiting, always, read}, call.State{Taint: both}},
		"words of others wait":   {[]envelope.Body{foreign}, call.State{Taint: call.Taint{Untrusted: true}, Foreign: []string{"e1"}}},
		"they have their answer": {[]envelope.Body{foreign, turnv1.Completed{Answers: []string{"e1"}}}, call.State{Taint: call.Taint{Untrusted: true}}},
		"a new beginning":        {[]envelope.Body{step, read, turnv1.SessionReset{}}, call.State{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fork(t, c.past...)
			got := call.State{}.Apply(envelope.Event{ID: "f", Session: "main.terminal.local.f", Cursor: 100, Body: f})
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			judge := func(q call.Question) call.Verdict {
				t.Errorf("asked about %+v", q)
				return call.Verdict{Effect: call.Run}
			}
			if step := got.Next(machine.View{}, judge); step != nil {
				t.Errorf("it wants %+v", step)
			}
			lost := fold(step).Apply(envelope.Event{ID: "f", Cursor: 100, Prev: 1, Body: f})
			if !reflect.DeepEqual(lost, fold(step)) {
				t.Errorf("a fork in the middle of a session changes it: %+v", lost)
			}
		})
	}
	if got := (call.State{}).Apply(envelope.Event{ID: "f", Body: turnv1.Forked{Events: []json.RawMessage{json.RawMessage(`{}`)}}}); got.Taint != both {
		t.Errorf("a line that cannot be read leaves %+v", got)
	}
}

// TestForkOfAFork: the mark of the fork in between takes the authority of the first past away, and what came after it counts.
func TestForkOfAFork(t *testing.T) {
	step := turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c", Tool: "x", Arguments: []byte(`{}`)}}}
	f := fork(t, step, callv1.Completed{Turn: "t", Call: "c", Private: true}, turnv1.Forked{From: "main.http.a.b"}, callv1.Completed{Turn: "t2", Untrusted: true})
	mark, err := envelope.LineOf(envelope.Event{ID: "e3", Session: f.From, Cursor: 3, Body: turnv1.Forked{From: "main.http.a.b"}})
	if err != nil {
		t.Fatal(err)
	}
	f.Events[2] = mark
	got := call.State{}.Apply(envelope.Event{ID: "f", Cursor: 100, Body: f})
	if want := (call.State{Taint: call.Taint{Untrusted: true, Private: true}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
