package callv1

import (
	"slices"
	"strings"
)

// Policy is the version of all that decides about an agent's calls: digests of its parts, each by itself, so that people can
// be told which has changed.
type Policy struct {
	Rules   string // the operator's rules, what the agent may use, its workspace
	Tools   string // the tool of the call, and where it runs; "" in a version that is about no call
	Prompts string // the files that every prompt begins with
}

const policyDomain = "p1"

// Version is p as events carry it.
func (p Policy) Version() string {
	return strings.Join([]string{policyDomain, p.Rules, p.Tools, p.Prompts}, "-")
}

// PolicyChange says, for people, what differs between two versions of a policy; "" when nothing does. What one of them says nothing
// about does not differ.
func PolicyChange(was, is string) string {
	if was == is {
		return ""
	}
	a, b := strings.Split(was, "-"), strings.Split(is, "-")
	parts := []string{"", "the rules", "the tool", "the files that every prompt begins with"}
	if len(a) != len(parts) || len(b) != len(parts) || a[0] != b[0] {
		return "the policy"
	}
	var changed []string
	for i, name := range parts {
		if name != "" && a[i] != "" && b[i] != "" && a[i] != b[i] {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return "the policy (" + strings.Join(slices.Compact(changed), ", ") + ")"
}
