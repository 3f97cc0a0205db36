package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
)

func asking(id string) callv1.Request {
	return callv1.Request{Turn: id + "/t", Call: "c", Executor: executor}
}

// parked asks for a call that waits for a person.
func (s *script) parked(id string) *script {
	s.sent(id).started(id).stepped(id, "write_file", "line "+id)
	return s.add("", "", callv1.Awaiting{Request: asking(id)}).requested(id)
}

func (s *script) requested(id string) *script {
	return s.add("", "", approvalv1.Requested{Approval: "ap-" + id, Request: asking(id)}).quiet()
}

func refTo(id string) approvalv1.Ref {
	return approvalv1.Ref{Approval: "ap-" + id, Turn: id + "/t", Call: "c"}
}

func (s *script) decided(id string, d callv1.Decision) *script {
	return s.add("", "", approvalv1.Decided{Ref: refTo(id), Answer: callv1.Approval{ID: "ap-" + id, Decision: d}}).quiet()
}

// quiet delivers the event before.
func (s *script) quiet() *script {
	e := &s.evidence.Journal[len(s.evidence.Journal)-1]
	e.ID = fmt.Sprintf("shown-%d", e.Cursor)
	s.evidence.Pushed[""]++
	r := deliveryv1.Ref{Delivery: e.ID, Attempt: 1}
	return s.add("", "", deliveryv1.Started{Ref: r}).add("", "", deliveryv1.Sent{Ref: r})
}

func (s *script) permitted(id, by string) *script {
	return s.add("", "", callv1.Dispatched{Request: asking(id), Approval: &callv1.Approval{ID: "ap-" + by}})
}

func (s *script) said(id string, d callv1.Decision, entitled, won bool) *script {
	s.evidence.Decisions = append(s.evidence.Decisions, judge.Decision{Approval: "ap-" + id, Decision: d, Entitled: entitled, Won: won})
	return s
}

// ends runs the call and answers.
func (s *script) ends(id string) *script {
	return s.begun(id, 1).ran(id, 1, callv1.OK).continued(2, id).rest(id).wrote("line "+id, 1)
}

func newApprovals() *script {
	s := newCalls()
	s.evidence.Decisions = []judge.Decision{}
	return s
}

func TestApprovalsThatKeepTheirPromises(t *testing.T) {
	s := newApprovals()
	s.said("a1", callv1.AllowOnce, true, true).said("a1", callv1.Deny, true, false).said("a1", callv1.Deny, false, false)
	s.parked("a1").decided("a1", callv1.AllowOnce).permitted("a1", "a1").ends("a1")
	s.said("a2", callv1.Deny, true, true).parked("a2").decided("a2", callv1.Deny).denied("a2").continued(2, "a2").rest("a2")
	v := judge.Judge(s.evidence)
	if len(v.Violations) != 0 {
		t.Fatalf("violations: %+v", v.Violations)
	}
	if c := v.Counts; c.Approvals != 2 || c.Answers["approval.decided"] != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestEachBrokenPromiseOfAnApprovalIsFound(t *testing.T) {
	yes := func() *script { return newApprovals().said("a", callv1.AllowOnce, true, true).parked("a") }
	for _, c := range []struct {
		name string
		want judge.Kind
		text string
		run  *script
	}{
		{"it runs and nobody was asked", judge.Wrong, "which nobody has asked for", newApprovals().sent("a").started("a").stepped("a", "write_file", "line a").permitted("a", "a").ends("a")},
		{"it runs undecided", judge.Wrong, "which nobody has given", yes().permitted("a", "a").ends("a")},
		{"it runs without waiting", judge.Wrong, "runs without one", yes().decided("a", callv1.AllowOnce).dispatched("a").ends("a")},
		{"it runs though it was denied", judge.Wrong, "which nobody has given", yes().said("a", callv1.Deny, true, false).decided("a", callv1.Deny).permitted("a", "a").ends("a")},
		{"decided twice", judge.Doubled, "which has ended by approval.decided", yes().decided("a", callv1.AllowOnce).decided("a", callv1.AllowOnce).permitted("a", "a").ends("a")},
		{"asked twice", judge.Doubled, "asked for again", yes().requested("a").decided("a", callv1.AllowOnce).permitted("a", "a").ends("a")},
		{"executed twice", judge.Doubled, "has let 2 calls run", yes().decided("a", callv1.AllowOnce).permitted("a", "a").permitted("a", "a").ends("a")},
		{"by the approval of another call", judge.Wrong, "which is about call", yes().parked("b").decided("a", callv1.AllowOnce).permitted("b", "a").ends("b")},
		{"nobody has decided", judge.Wrong, "nobody who may", newApprovals().parked("a").decided("a", callv1.AllowOnce).permitted("a", "a").ends("a")},
		{"another has decided", judge.Wrong, "nobody who may", newApprovals().said("a", callv1.AllowOnce, false, false).parked("a").decided("a", callv1.AllowOnce).permitted("a", "a").ends("a")},
		{"the answer is lost", judge.Lost, "is not in the journal", yes().denied("a").continued(2, "a").rest("a")},
		{"told another answer", judge.Wrong, "the journal has deny", yes().said("a", callv1.Deny, true, false).decided("a", callv1.Deny).denied("a").continued(2, "a").rest("a")},
		{"two have won", judge.Doubled, "two who decided", yes().said("a", callv1.Deny, true, true).decided("a", callv1.AllowOnce).permitted("a", "a").ends("a")},
		{"decided and never asked", judge.Wrong, "which nobody has asked for", newApprovals().sent("a").started("a").decided("a", callv1.AllowOnce).rest("a")},
		{"it waits for ever", judge.Stuck, "and its turn has ended", yes().denied("a").continued(2, "a").rest("a")},
	} {
		found := false
		v := judge.Judge(c.run.evidence).Violations
		for _, x := range v {
			found = found || x.Kind == c.want && strings.Contains(x.Text, c.text)
		}
		if !found {
			t.Errorf("%s: not found in %+v", c.name, v)
		}
	}
}
