package judge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const executor = "builtin"

func outcome(id string, round int) turnv1.Outcome {
	return turnv1.Outcome{Turn: id + "/t", Round: round, Attempt: 1}
}

// stepped asks for one call of a tool, which writes a line when there is one.
func (s *script) stepped(id, tool, line string) *script {
	args := json.RawMessage(`{}`)
	if line != "" {
		args = json.RawMessage(fmt.Sprintf(`{"path":"f","content":%q}`, line+"\n"))
	}
	return s.add(id+"-stepped", "", turnv1.Stepped{Outcome: outcome(id, 1), Calls: []turnv1.Call{{ID: "c", Tool: tool, Arguments: args}}})
}

func (s *script) dispatched(id string) *script {
	return s.add("", "", callv1.Dispatched{Request: callv1.Request{Turn: id + "/t", Call: "c", Executor: executor}})
}

func (s *script) begun(id string, attempt int) *script {
	return s.add("", "", callv1.Started{Executor: executor, Turn: id + "/t", Call: "c", Attempt: attempt})
}

func (s *script) ran(id string, attempt int, o callv1.Outcome) *script {
	return s.add("", "", callv1.Completed{Executor: executor, Turn: id + "/t", Call: "c", Attempt: attempt, Outcome: o})
}

func (s *script) denied(id string) *script {
	return s.add("", "", callv1.Denied{Turn: id + "/t", Call: "c"})
}

// rest answers and delivers.
func (s *script) rest(id string) *script {
	return s.completed(id).delivering(id, 1, false).delivered(id, 1)
}

func (s *script) wrote(line string, n int) *script {
	s.evidence.Lines[line] = n
	return s
}

func newCalls() *script {
	s := newScript()
	s.evidence.Lines, s.evidence.Again = map[string]int{}, map[string]bool{"now": true}
	return s
}

// called is a whole turn with a call that writes a line.
func called(s *script, id string, o callv1.Outcome) *script {
	return s.sent(id).started(id).stepped(id, "write_file", "line "+id).dispatched(id).begun(id, 1).ran(id, 1, o).continued(2, id).rest(id)
}

func TestCallsThatKeepTheirPromises(t *testing.T) {
	s := called(newCalls(), "a1", callv1.OK).wrote("line a1", 1)
	called(s, "a2", callv1.Unknown).wrote("line a2", 1) // it had run
	called(s, "a3", callv1.Unknown)                     // it had not
	s.sent("a4").started("a4").stepped("a4", "now", "").dispatched("a4").begun("a4", 1).begun("a4", 2).ran("a4", 2, callv1.OK).continued(2, "a4").rest("a4")
	s.sent("a5").started("a5").stepped("a5", "exec", "line a5").denied("a5").continued(2, "a5").rest("a5")
	called(s, "a6", callv1.Refused)
	s.sent("a7").started("a7").stepped("a7", "write_file", "line a7").dispatched("a7").ran("a7", 0, callv1.Refused).continued(2, "a7").rest("a7") // its server is gone
	v := judge.Judge(s.evidence)
	if len(v.Violations) != 0 {
		t.Fatalf("violations: %+v", v.Violations)
	}
	c := v.Counts
	if c.Calls != 7 || c.Again != 1 || c.Outcomes["ok"] != 2 || c.Outcomes["unknown"] != 2 || c.Outcomes["denied"] != 1 || c.Outcomes["refused"] != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestEachBrokenPromiseOfACallIsFound(t *testing.T) {
	asked := func(tool string) *script { return newCalls().sent("a").started("a").stepped("a", tool, "line a") }
	for _, c := range []struct {
		name string
		want judge.Kind
		text string // part of one violation
		run  *script
	}{
		{"its effect came twice", judge.Doubled, "written 2 times, and 1 calls", called(newCalls(), "a", callv1.OK).wrote("line a", 2)},
		{"its effect came twice behind an unknown outcome", judge.Doubled, "written 2 times", called(newCalls(), "a", callv1.Unknown).wrote("line a", 2)},
		{"it has succeeded and done nothing", judge.Lost, "written 0 times, and 1 calls of it have succeeded", called(newCalls(), "a", callv1.OK)},
		{"it was refused and has run", judge.Doubled, "0 calls of it have begun", called(newCalls(), "a", callv1.Refused).wrote("line a", 1)},
		{"it was denied and has run", judge.Doubled, "0 calls of it have begun", asked("exec").denied("a").continued(2, "a").rest("a").wrote("line a", 1)},
		{"nobody asked for what was written", judge.Wrong, "no call has it", newCalls().whole("a").wrote("x", 1)},
		{"claimed again", judge.Doubled, "may not be repeated", asked("write_file").dispatched("a").begun("a", 1).begun("a", 2).ran("a", 2, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"claimed undecided", judge.Wrong, "nobody has decided", asked("write_file").begun("a", 1).ran("a", 1, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"an attempt left out", judge.Wrong, "attempt 2 of call c is claimed after 0", asked("now").dispatched("a").begun("a", 2).ran("a", 2, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"an outcome of another attempt", judge.Wrong, "the outcome of attempt 2", asked("now").dispatched("a").begun("a", 1).ran("a", 2, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"an outcome without a claim", judge.Wrong, "the outcome of attempt 0", asked("now").dispatched("a").ran("a", 0, callv1.OK).continued(2, "a").rest("a")},
		{"two outcomes", judge.Doubled, "which is done", asked("now").dispatched("a").begun("a", 1).ran("a", 1, callv1.OK).ran("a", 1, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"dispatched twice", judge.Doubled, "dispatched again", asked("now").dispatched("a").dispatched("a").begun("a", 1).ran("a", 1, callv1.OK).continued(2, "a").rest("a").wrote("line a", 1)},
		{"nobody asked", judge.Wrong, "nobody has asked for", newCalls().sent("a").started("a").dispatched("a").rest("a")},
		{"the turn goes on without its outcome", judge.Wrong, "has no outcome", asked("now").dispatched("a").continued(2, "a").rest("a")},
		{"dispatched after the end", judge.Wrong, "dispatched after the turn's end", asked("now").rest("a").dispatched("a")},
		{"never an outcome", judge.Stuck, "of write_file has no outcome", asked("write_file").dispatched("a").begun("a", 1)},
	} {
		found := false
		for _, v := range judge.Judge(c.run.evidence).Violations {
			found = found || v.Kind == c.want && strings.Contains(v.Text, c.text)
		}
		if !found {
			t.Errorf("%s: not found in %+v", c.name, judge.Judge(c.run.evidence).Violations)
		}
	}
}

func TestATurnThatEndsLeavesCallsThatNobodyHasBegun(t *testing.T) {
	s := newCalls().sent("a").started("a").stepped("a", "write_file", "line a").dispatched("a")
	for _, v := range judge.Judge(s.add("", "", turnv1.Failed{Outcome: outcome("a", 1), Answers: []string{"a"}, Cause: turnv1.Exhausted}).evidence).Violations {
		if v.Kind == judge.Stuck && strings.Contains(v.Text, "call") {
			t.Errorf("%+v", v)
		}
	}
}

func TestKillsThatMetCalls(t *testing.T) {
	s := newCalls().sent("a").started("a").stepped("a", "write_file", "x").dispatched("a").begun("a", 1).ran("a", 1, callv1.OK).continued(2, "a").completed("a")
	at := func(cursor int) []time.Time { return []time.Time{epoch.Add(time.Duration(cursor) * time.Second)} }
	for cursor, want := range map[int][2]int{2: {0, 0}, 3: {1, 0}, 4: {1, 0}, 5: {1, 1}, 6: {0, 0}, 8: {0, 0}} {
		m := judge.MomentsOf(s.evidence.Journal, "followup", at(cursor))
		if got := [2]int{m.Calls, m.Claims}; got != want {
			t.Errorf("at %d: %v, want %v", cursor, got, want)
		}
	}
}
