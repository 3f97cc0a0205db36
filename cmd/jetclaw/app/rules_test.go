package app

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

func TestRulesThatNeverHold(t *testing.T) {
	for text, want := range map[string]string{
		`policy: {deny: [{tool: exce}]}`:                                    `c.yaml:1:17: policy.deny[0]: no built-in tool is called exce: this holds for nothing unless a server offers one; did you mean "exec"?`,
		`policy: {ask: [{tool: exec, args: {comand: "rm *"}}]}`:             `c.yaml:1:16: policy.ask[0]: exec has no argument comand: this rule never holds; did you mean "command"?`,
		`policy: {allow: [{tool: remember, agent: mian}]}`:                  `c.yaml:1:18: policy.allow[0]: there is no agent mian: this rule never holds; did you mean "main"?`,
		`agents: {main: {tools: {deny: ["wrte_file"]}}}`:                    `c.yaml:1:32: agents.main.tools.deny[0]: no built-in tool is called wrte_file`,
		`policy: {deny: [{tool: "*", args: {x: "1"}}, {tool: web_search}]}`: "",
		`policy: {deny: [{tool: exec, args: {command: "rm *"}}]}`:           "",
		`agents: {main: {tools: {allow: ["read_*", now], deny: [recall]}}}`: "",
	} {
		c, _, err := config.Parse("c.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range ruleWarnings(c, "c.yaml") {
			got += w.String()
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
