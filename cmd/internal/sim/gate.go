package sim

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// tool is what there is to call.
type tool struct {
	executor string
	level    toolv1.Level
	again    bool // it may be carried out twice
	denied   bool
}

var toolTable = map[string]tool{
	"read":   {executor: builtin.Executor, level: toolv1.L0, again: true},
	"write":  {executor: builtin.Executor, level: toolv1.L1},
	"exec":   {executor: builtin.Executor, level: toolv1.L3},
	"fetch":  {executor: files, level: toolv1.L0, again: true},
	"post":   {executor: files, level: toolv1.L1},
	"pay":    {executor: files, level: toolv1.L2},
	"forbid": {executor: files, level: toolv1.L2, denied: true},
}

var toolNames = slices.Sorted(keys(toolTable))

// toolLimit bounds a call.
const toolLimit = 15 * time.Second

func (t tool) asks() bool { return t.level >= toolv1.L2 && !t.denied }

// judge is the gate's: by levels, and by what was allowed for always.
func (w *world) judge(q call.Question) call.Verdict {
	t, ok := toolTable[q.Tool]
	args, err := canonical.JSON(q.Arguments)
	v := call.Verdict{Rule: "level " + t.level.String(), Limit: toolLimit, Again: t.again, Effect: call.Run, Request: callv1.Request{
		Turn: q.Turn, Call: q.Call, Index: q.Index, Tool: q.Tool, Executor: t.executor, Arguments: args, Digest: canonical.Digest(args),
		ToolDigest: "t-" + q.Tool, Level: t.level, Policy: callv1.Policy{Rules: fmt.Sprint("r", w.rules.Load()), Tools: "t", Prompts: "p"}.Version(),
	}}
	switch {
	case !ok || err != nil || t.denied:
		v.Effect, v.Reason = call.Deny, "it is not allowed"
	case t.asks():
		v.Effect, v.Why, v.Shown = call.Ask, []string{"it changes the outside"}, q.Tool+" "+string(args)
		if t.level == toolv1.L2 {
			v.Fixed, v.Grant = "all calls of "+q.Tool, canonical.Digest([]byte(q.Tool))
			for _, a := range q.Always {
				if a.Grant == v.Grant {
					v.Effect, v.Always = call.Run, &a
				}
			}
		}
	}
	return v
}

// admits is an executor's own look at what it is to carry out.
func (w *world) admits(s session.ID, d callv1.Dispatched) string {
	key, ok := w.key.Public().(ed25519.PublicKey)
	t := toolTable[d.Tool]
	switch {
	case !ok || t.executor != d.Executor:
		return "there is no such tool"
	case !t.asks():
		return ""
	case d.Approval != nil && d.Approval.Verify(key, s, d.Request):
		return ""
	case d.Always != nil && d.Always.VerifyGrant(key, s, d.ToolDigest):
		return ""
	}
	return "nobody has allowed it"
}
