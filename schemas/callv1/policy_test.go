package callv1_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
)

func TestPolicyChange(t *testing.T) {
	was := callv1.Policy{Rules: "r", Tools: "t", Prompts: "p"}
	for want, is := range map[string]string{
		"":                       callv1.Policy{Rules: "r", Prompts: "p"}.Version(),
		"the policy (the rules)": callv1.Policy{Rules: "x", Tools: "t", Prompts: "p"}.Version(),
		"the policy (the rules, the tool, the files that every prompt begins with)": callv1.Policy{Rules: "x", Tools: "y", Prompts: "z"}.Version(),
		"the policy": "p0-1",
	} {
		if got := callv1.PolicyChange(was.Version(), is); got != want {
			t.Errorf("%s: got %q, want %q", is, got, want)
		}
	}
}
