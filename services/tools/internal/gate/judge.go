package gate

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// subject is the call that is being judged.
type subject struct {
	agent     string
	workspace string
	tool      toolv1.Tool
	names     []string // of all arguments that the tool knows, sorted
	args      map[string]any
	leaves    []leaf
	command   *command // nil when there is none
	places    []place  // that the call names
	taint     call.Taint
	level     toolv1.Level
}

// at are the values that a rule's name leads to.
func (c *subject) at(name string) []leaf {
	var out []leaf
	for _, l := range c.leaves {
		if l.under(name) {
			out = append(out, l)
		}
	}
	return out
}

// journal takes one line for each step.
type journal func(format string, args ...any)

func (g *Gate) judge(v *view, q call.Question, note journal) call.Verdict {
	agent := q.Session.Agent()
	o, offered := v.offers[q.Tool]
	verdict := call.Verdict{Request: callv1.Request{Turn: q.Turn, Call: q.Call, Index: q.Index, Tool: q.Tool, Policy: g.version(agent, o.version())}}
	deny := func(rule, format string, args ...any) call.Verdict {
		verdict.Effect, verdict.Rule, verdict.Reason = call.Deny, rule, fmt.Sprintf(format, args...)
		note("%s: denied: %s", rule, verdict.Reason)
		return verdict
	}

	switch {
	case !offered:
		return deny("unknown tool", "there is no tool %s%s", quote(q.Tool), instead(q.Tool, g.usable(agent, v.names)))
	case o.twice:
		return deny("unknown tool", "two executors offer a tool %s; it is not run until one of them is renamed", quote(q.Tool))
	}
	verdict.Request.Executor, verdict.Request.ToolDigest, verdict.Request.Level = o.executor, o.digest, o.tool.Level
	verdict.Limit, verdict.Again = o.tool.Timeout, o.tool.Again
	note("tool %s: offered by %s", q.Tool, o.executor)
	if rule, ok := g.agent(agent).may(q.Tool); !ok {
		return deny(rule, "this agent may not use %s; do it with another tool, or say that it cannot be done", q.Tool)
	}
	note("tools.deny, tools.allow: agent %s may use it", agent)

	s := g.schema(o)
	text, args, err := arguments(s, q.Arguments)
	if err != nil {
		return deny("arguments", "%v", err)
	}
	verdict.Request.Arguments, verdict.Request.Digest = text, canonical.Digest(text)
	if s.unread == nil {
		note("arguments: fit the tool's schema")
	} else {
		note("arguments: fit the outline of the tool's schema, the rest of which is left to the tool: %s", visible(cut(s.unread.Error(), maxHint), false))
	}
	c := g.subject(agent, o.tool, args, q.Taint)
	c.names = s.names()
	verdict.Request.Level = c.level

	for i, r := range g.config.Policy.Deny {
		if r.hits(c) == yes {
			return deny(fmt.Sprintf("policy.deny[%d]", i), "%s", reason(r, "the operator's rules do not allow this call"))
		}
	}
	note("policy.deny: none of %d rules holds", len(g.config.Policy.Deny))
	if !o.tool.Level.Known() {
		return deny("level", "the tool has the level %d, which does not exist", int(o.tool.Level))
	}
	certain, kinds := secrets(c.texts(), g.known)
	if certain {
		return deny("secret", "an argument holds a secret of this installation, which never goes to a tool; do it without, or tell the person")
	}
	note("secret: no known secret in the arguments")
	files, err := c.bind()
	if err != nil {
		return deny("files", "%v", err)
	}
	verdict.Request.Files = files

	asks := g.asks(c, kinds, note)
	return g.settle(c, o, q, verdict, asks, note)
}

// settle decides among what asks, what lifts it, and the level.
func (g *Gate) settle(c *subject, o offer, q call.Question, verdict call.Verdict, asks []ask, note journal) call.Verdict {
	run := func(rule string) call.Verdict {
		verdict.Effect, verdict.Rule = call.Run, rule
		note("%s: runs", rule)
		return verdict
	}
	if len(asks) == 0 {
		return run("level " + c.level.String())
	}
	if only(asks, byLevel) && c.level == toolv1.L2 {
		rule, ok := g.allowed(c)
		if ok {
			return run(rule)
		}
		note("policy.allow: %s", rule)
	}
	if only(asks, byLevel, byRule) && c.level != toolv1.L3 {
		names, inWords := fixed(c, c.level != o.tool.Level)
		grant, err := grant(o, c, names)
		if err == nil {
			verdict.Fixed, verdict.Grant = inWords, grant
			for _, a := range q.Always {
				if a.Grant == grant && a.Decision == callv1.AllowAlways {
					verdict.Fixed, verdict.Grant, verdict.Always = "", "", &a
					return run("always")
				}
			}
			note("always: no earlier decision holds for %s", inWords)
		}
	} else {
		note("always: cannot hold for this call")
	}
	verdict.Effect, verdict.Rule, verdict.Shown = call.Ask, asks[0].rule, shown(c.tool, c.args)
	if len(verdict.Shown) > maxShown {
		verdict = call.Verdict{Effect: call.Deny, Request: verdict.Request, Rule: verdict.Rule, Reason: "a person has to allow this call, " +
			"and it is too long to be shown whole; do it in smaller parts"}
		note("%s: denied: %s", verdict.Rule, verdict.Reason)
		return verdict
	}
	verdict.Why = why(c, asks)
	note("%s: asks", verdict.Rule)
	return verdict
}

// subject reads a call whose arguments fit.
func (g *Gate) subject(agent string, tool toolv1.Tool, args map[string]any, taint call.Taint) *subject {
	c := &subject{agent: agent, workspace: g.agent(agent).Workspace, tool: tool, args: args, taint: taint, level: tool.Level}
	c.leaves = leaves(args, nil)
	for i := range c.leaves {
		l := &c.leaves[i]
		l.full = strings.Join(l.path, ".")
		if tool.Shell != "" && !l.whole && l.under(tool.Shell) {
			if c.command == nil {
				c.command = read("")
			}
			l.shell = true
			c.command.read(l.text, 0)
			continue
		}
		l.forms, l.strict = spellings(l.text), []string{strings.ReplaceAll(l.text, string(hole), "\uFFFD")}
		if l.whole || !slices.ContainsFunc(tool.Paths, l.under) {
			continue
		}
		p := locate(c.workspace, l.text)
		c.places = append(c.places, p)
		l.strict = []string{p.clean}
		if p.inside && p.resolved != p.clean {
			l.strict = append(l.strict, p.resolved) // "" when it leads outside: only `*` allows that
		}
		l.forms = append(l.forms, l.strict...)
		if p.inside { // a rule may name a place of the workspace by where that is
			for _, name := range l.strict {
				l.forms = append(l.forms, path.Join(filepath.ToSlash(c.workspace), name))
			}
		}
		if tool.Writes && tool.Level.Known() && p.prompts(c.workspace) {
			c.level = max(c.level, toolv1.L2)
		}
	}
	if g.Client(agent) { // what a program outside has read nobody here knows, and a new session does not make it forget
		c.taint = call.Taint{Untrusted: true, Private: true}
	}
	if !c.taint.Private {
		c.taint.Private = g.prompts.private(c.workspace) || slices.ContainsFunc(c.places, g.private)
	}
	return c
}

// private says whether a place is one of the configured private ones, or one of those that are about the person.
func (g *Gate) private(p place) bool {
	for _, name := range []string{p.clean, p.resolved} {
		if p.inside && toolv1.IsPrivateFile(name) {
			return true
		}
		for at := name; at != "." && at != "/" && at != ""; at = path.Dir(at) {
			if slices.ContainsFunc(g.config.Private, func(pattern string) bool { return glob(strings.TrimSuffix(pattern, "/"), at) }) {
				return true
			}
		}
	}
	return false
}

// may says whether an agent may use a tool, and what decides it.
func (a Agent) may(tool string) (rule string, ok bool) {
	holds := func(pattern string) bool { return glob(pattern, tool) }
	switch {
	case slices.ContainsFunc(a.Deny, holds):
		return "tools.deny", false
	case (len(a.Allow) > 0 || a.Client) && !slices.ContainsFunc(a.Allow, holds):
		return "tools.allow", false
	}
	return "", true
}

// usable are the tools among names that an agent may use.
func (g *Gate) usable(agent string, names []string) []string {
	a := g.agent(agent)
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := a.may(n); return !ok })
}

// allowed says which rules allow a call: one, or for a command as many as its parts need.
func (g *Gate) allowed(c *subject) (rule string, ok bool) {
	var names []string
	covered := map[string]bool{}
	for i, r := range g.config.Policy.Allow {
		holds, commands := r.allows(c)
		if !holds {
			continue
		}
		name := fmt.Sprintf("policy.allow[%d]", i)
		if c.command == nil {
			return name, true
		}
		for _, p := range c.command.parts {
			if !p.loose && commands(p.text) && !covered[p.text] {
				covered[p.text] = true
				names = append(names, name)
			}
		}
	}
	if c.command == nil {
		return fmt.Sprintf("none of %d rules holds", len(g.config.Policy.Allow)), false
	}
	for _, p := range c.command.parts {
		if !p.loose && !covered[p.text] {
			return fmt.Sprintf("no rule allows %s", quote(strings.ReplaceAll(p.text, string(hole), "…"))), false
		}
	}
	if len(names) == 0 {
		return "there is no command", false
	}
	return strings.Join(slices.Compact(names), ", "), true
}

// grant identifies what "always" holds for: the tool as it is and where it runs, the level of the call, and the arguments
// that stay.
func grant(o offer, c *subject, names []string) (string, error) {
	raw, err := json.Marshal(struct {
		Domain   string          `json:"domain"`
		Tool     string          `json:"tool"`
		Executor string          `json:"executor"`
		Endpoint string          `json:"endpoint"`
		Agent    string          `json:"agent"`
		Level    int             `json:"level"`
		Fixed    json.RawMessage `json:"fixed"`
	}{"jetclaw grant v1", o.digest, o.executor, o.endpoint, c.agent, int(c.level), named(c.args, names)})
	if err != nil {
		return "", err
	}
	if raw, err = canonical.JSON(raw); err != nil {
		return "", err
	}
	return canonical.Digest(raw), nil
}
