package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Next decides about the first call that nothing is decided about, or that a person has decided about; nil when there is
// none.
func (s State) Next(v machine.View, judge Judge) machine.Step {
	for _, c := range s.Calls {
		switch c.Phase {
		case Asked:
			return s.decide(c, judge(s.Question(v.Session, c)))
		case Allowed:
			return s.dispatch(c, judge(s.Question(v.Session, c)))
		case Refused:
			return c.deny(callv1.Denied{Turn: s.Turn, Reason: c.Reason, Rule: "approval", Approval: c.By})
		case Awaiting, Dispatched:
		}
	}
	return nil
}

// Question is what the judge is asked about an open call.
func (s State) Question(id session.ID, c Call) Question {
	q := Question{
		Session: id, Turn: s.Turn, Call: c.ID, Index: c.Index, Tool: c.Tool, Arguments: json.RawMessage(c.Arguments),
		Taint: s.Taint, Always: s.Always,
	}
	if c.Request != nil { // canonical, and perhaps edited
		q.Arguments = c.Request.Arguments
	}
	return q
}

func (s State) decide(c Call, v Verdict) machine.Step {
	switch v.Effect {
	case Run:
		return c.append(callv1.Dispatched{Request: v.Request, Rule: v.Rule, Always: v.Always, Limit: v.Limit, Again: v.Again})
	case Ask:
		return c.append(callv1.Awaiting{Request: v.Request, Rule: v.Rule, Why: v.Why, Shown: v.Shown, Fixed: v.Fixed, Grant: v.Grant})
	case Deny:
	}
	return c.deny(callv1.Denied{Turn: s.Turn, Reason: v.Reason, Rule: v.Rule, Policy: v.Request.Policy})
}

// dispatch hands out what a person has allowed, if that is still what would run.
func (s State) dispatch(c Call, v Verdict) machine.Step {
	denied := callv1.Denied{Turn: s.Turn, Reason: v.Reason, Rule: v.Rule, Policy: v.Request.Policy, Approval: c.Approval.ID}
	if v.Effect != Run && v.Effect != Ask {
		return c.deny(denied)
	}
	if changed := differences(*c.Request, v.Request); len(changed) > 0 {
		denied.Rule = "approval"
		denied.Reason = fmt.Sprintf("what the person has allowed is no longer what would run: %s changed since. You may ask again", strings.Join(changed, ", "))
		return c.deny(denied)
	}
	return c.append(callv1.Dispatched{Request: *c.Request, Rule: "approval", Approval: c.Approval, Limit: v.Limit, Again: v.Again})
}

// differences are the names of what an approval was bound to and what is otherwise now.
func differences(was, is callv1.Request) []string {
	var changed []string
	note := func(same bool, what string) {
		if !same {
			changed = append(changed, what)
		}
	}
	note(was.Tool == is.Tool && was.Executor == is.Executor && was.ToolDigest == is.ToolDigest, "the tool")
	note(was.Digest == is.Digest && was.Sum() == is.Sum(), "the arguments")
	note(was.Level == is.Level, "the level")
	note(was.Policy == is.Policy, callv1.PolicyChange(was.Policy, is.Policy))
	for _, f := range was.Files {
		note(slices.Contains(is.Files, f), "the file "+f.Path)
	}
	note(len(was.Files) == len(is.Files), "the files")
	return changed
}

func (c Call) append(b callv1.Event) machine.Step { return machine.Append{Body: b, Cause: c.Cause} }

func (c Call) deny(b callv1.Denied) machine.Step {
	b.Call = c.ID
	return c.append(b)
}
