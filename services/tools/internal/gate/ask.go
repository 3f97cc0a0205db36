package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// cause is what makes a call ask, and so what can lift it.
type cause int

const (
	byRule     cause = iota // policy.ask: a person's "always" lifts it
	byLook                  // something looks like a secret: nothing lifts it
	byTrifecta              // nothing lifts it
	byCommand               // it is not known what a command runs: nothing lifts it
	byLevel                 // policy.allow and "always" lift L2, nothing lifts L3
)

// ask is one reason to ask a person. rank orders what the person is told, the most important first.
type ask struct {
	rule  string
	cause cause
	rank  int
	why   string
}

func only(asks []ask, causes ...cause) bool {
	return !slices.ContainsFunc(asks, func(a ask) bool { return !slices.Contains(causes, a.cause) })
}

// asks are all reasons to ask about a call, in the order of the steps.
func (g *Gate) asks(c *subject, kinds []string, note journal) []ask {
	var out []ask
	add := func(a ask) {
		out = append(out, a)
		note("%s: %s", a.rule, a.why)
	}
	for i, r := range g.config.Policy.Ask {
		if r.hits(c) != no {
			add(ask{fmt.Sprintf("policy.ask[%d]", i), byRule, 3, reason(r, "A rule asks about calls like this.")})
		}
	}
	if len(out) == 0 {
		note("policy.ask: none of %d rules holds", len(g.config.Policy.Ask))
	}
	for i, r := range g.config.Policy.Deny {
		if r.hits(c) == might {
			add(ask{fmt.Sprintf("policy.deny[%d]", i), byCommand, 2, "Depending on what its expansions become, a rule denies this command: " +
				reason(r, "it has no reason")})
		}
	}
	if len(kinds) > 0 {
		add(ask{"secret-like", byLook, 1, "The arguments hold what looks like " + strings.Join(kinds, " and ") + "."})
	} else {
		note("secret-like: nothing looks like a secret")
	}
	chosen := c.tool.Egress != toolv1.NoEgress && c.tool.Egress != toolv1.Fixed // one that is not known is the worst
	switch {
	case !chosen:
		note("trifecta: the model does not choose where it goes")
	case c.taint.Untrusted && c.taint.Private:
		add(ask{"trifecta", byTrifecta, 0, fmt.Sprintf(
			"The model has seen text from outside and private notes (the person's own files count), and it chose where this goes%s.", c.destination())})
	default:
		note("trifecta: untrusted text %t, private data %t", c.taint.Untrusted, c.taint.Private)
	}
	if c.command != nil && c.command.unclear != "" {
		add(ask{"shell", byCommand, 2, "It cannot be told what this command runs: " + visible(cut(c.command.unclear, 200), false) + "."})
	}
	switch c.level {
	case toolv1.L0, toolv1.L1: // runs by itself
	case toolv1.L2:
		why := "It changes something outside of this conversation (level L2)."
		if c.tool.Level != toolv1.L2 {
			why = "It changes a file that every prompt begins with: whoever writes it tells the model what to do from now on (level L2)."
		}
		add(ask{"level L2", byLevel, 4, strings.TrimSpace(why + " " + visible(c.tool.Warning, false))})
	default:
		add(ask{"level L3", byLevel, 4, strings.TrimSpace("It is dangerous: it is asked about each time (level L3). " + visible(c.tool.Warning, false))})
	}
	return out
}

// why is what a person is told.
func why(c *subject, asks []ask) []string {
	sorted := slices.Clone(asks)
	slices.SortStableFunc(sorted, func(a, b ask) int { return a.rank - b.rank })
	var out []string
	for _, a := range sorted {
		out = append(out, a.why)
	}
	if slices.ContainsFunc(asks, func(a ask) bool { return a.cause == byTrifecta }) {
		return out
	}
	switch {
	case c.taint.Untrusted && c.taint.Private:
		out = append(out, "The model has seen text from outside, which may have asked for this, and private notes.")
	case c.taint.Untrusted:
		out = append(out, "The model has read text from outside, which may have asked for this.")
	}
	return out
}

// destination is where a call goes, as far as its arguments name an address.
func (c *subject) destination() string {
	for _, l := range c.leaves {
		if !l.whole && strings.Contains(l.text, "://") && !strings.ContainsAny(l.text, " \n") {
			return ": " + cut(visible(l.text, false), 200)
		}
	}
	return ""
}

// reason is what a rule says for itself.
func reason(r Rule, otherwise string) string {
	if r.Reason != "" {
		return r.Reason
	}
	return otherwise
}
