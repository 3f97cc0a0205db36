package approvals

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// ask lets a call ask something, and waits for the question. Its name begins with "i" if it cannot be answered as it is.
func (h *house) ask(t *testing.T, call string) string {
	t.Helper()
	id := approval.ID(talk, post(t, h.tools, talk, "asked "+call, wanted("m/t", call, time.Now().Add(time.Hour).UTC().Round(0))))
	h.until(t, func(e []envelope.Event) bool { return has(e, "approval.requested", id) })
	return id
}

// TestQuestionsInCalls: neither the gate nor the policy has a say in them, and what does not fit is told.
func TestQuestionsInCalls(t *testing.T) {
	h := newHouse(t)
	h.run(t, Config{SweepEvery: 20 * time.Millisecond})
	one, two, call := h.ask(t, "i1"), h.ask(t, "f2"), h.park(t, talk, "c1")
	if v := h.get(t, one); v.Status != Open || v.Always || !strings.Contains(string(v.Schema), "required") {
		t.Errorf("%+v", v)
	}
	h.rule("p2", "")
	h.event(t, "approval.voided", call)
	h.rule("", "") // the gate is not to be asked any more
	decide := func(id, args string) (DecideAnswer, error) {
		return h.decide(t.Context(), DecideRequest{Approval: id, Decision: callv1.AllowOnce, Arguments: json.RawMessage(args)})
	}
	for args, why := range map[string]string{"": "x is missing", `{"x":1}`: "x has to be a text", `{"x":"a","y":1}`: "no field y"} {
		if _, err := decide(one, args); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if got, err := decide(one, `{"x":"a"}`); err != nil || got.Status != approval.Allowed {
		t.Errorf("%+v %v", got, err)
	}
	b := h.event(t, "approval.decided", one).Body.(approvalv1.Decided)
	if b.Edited == nil || string(b.Edited.Arguments) != `{"x":"a"}` || b.Answer.Decision != callv1.AllowOnce {
		t.Errorf("%+v", b)
	}
	post(t, h.tools, talk, "done", callv1.Completed{Turn: "m/t", Call: "f2", Executor: "mcp-mail", Attempt: 1, Outcome: callv1.OK})
	if _, err := decide(two, ""); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("of a call that is over: %v", err)
	}
	h.ask(t, "f3") // whatever rings next tells the end of the other
	h.event(t, "approval.cancelled", two)
}
