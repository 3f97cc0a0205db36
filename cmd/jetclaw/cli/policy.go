package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func (s *shell) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "See and try what decides about tool calls",
		Long: `What a call may do is decided by its tool's level, by the rules under policy in the configuration, and by what the session
has read: deny wins over ask, ask over allow. Nothing here runs anything.`,
		Example: `  jetclaw policy explain write_file '{"path": "AGENTS.md", "content": "x"}'
  jetclaw policy test policy-tests.yaml
  jetclaw policy dry-run --since 30d`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.policyExplain(), s.policyTest(), s.policyDryRun())
	noCompletion(c)
	return c
}

// explainOptions are the flags of `policy explain`.
type explainOptions struct {
	session string
	agent   string
	taint   string
	config  string
	json    bool
}

const (
	taintHelp  = "what the session has read: untrusted, private, both with a comma, or none"
	configHelp = "the policy of this configuration FILE, not the running one"
)

func (s *shell) policyExplain() *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain TOOL [JSON]",
		Short: "Say what would be decided about a call, and why",
		Long: `Says what the gate would decide about a call of TOOL with the arguments JSON ({} unless given): whether it runs, a person is
asked, or it is denied; by which rule; and what was considered, step by step.

With --session it is a call of that session's agent, with what the session has read and what a person has allowed there for
always; with --agent a call of a fresh session.

Exit code 0: it would run; 3: a person would be asked; 1: it would be denied (or the command failed, and says so on stderr).

With --json it prints one object with effect (run, ask, deny), rule, reason, why, tool, executor, agent, level, arguments, shown,
always (what that would hold for, "" when it is not possible), policy and considered.`,
		Example: `  jetclaw policy explain web_fetch '{"url": "https://example.org"}' --taint untrusted,private
  jetclaw policy explain exec '{"command": "git push"}' --session work
  jetclaw policy explain write_file '{"path": "a.md", "content": "x"}' --agent research --json | jq -r .effect`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%q takes a tool and perhaps its arguments as one JSON object\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			one := policyCase{Tool: args[0], Session: o.session, Agent: o.agent, Args: json.RawMessage("{}")}
			if len(args) == 2 {
				one.Args = json.RawMessage(args[1])
			}
			if !json.Valid(one.Args) {
				return usagef("%q is no JSON; put it in quotes: '{\"path\": \"notes.md\"}'", string(one.Args))
			}
			if c.Flags().Changed("taint") {
				one.Taint = &o.taint
			}
			return s.explainRule(c.Context(), one, o)
		},
	}
	c.Flags().StringVar(&o.session, "session", "", "as a call of this session: "+sessionHelp)
	c.Flags().StringVar(&o.agent, "agent", "", "as a call of this agent (main unless given)")
	c.Flags().StringVar(&o.taint, "taint", "", taintHelp)
	c.Flags().StringVar(&o.config, "config", "", configHelp)
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "session", "agent")
	_ = c.RegisterFlagCompletionFunc("taint", cobra.FixedCompletions(
		[]string{"untrusted", "private", "untrusted,private", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// policyCase is one call to try.
type policyCase struct {
	Tool    string
	Args    json.RawMessage
	Session string
	Agent   string
	Taint   *string // nil: the session's, or none
}

// asCase is the question to the gate. A call of no session in particular is one of a fresh session of the agent.
func (p policyCase) asCase(c *config.Config) (tools.Case, error) {
	out := tools.Case{Tool: p.Tool, Arguments: p.Args}
	if p.Taint != nil {
		t, err := parseTaint(*p.Taint)
		if err != nil {
			return out, err
		}
		out.Taint = &t
	}
	if p.Session != "" {
		if p.Agent != "" {
			return out, usagef("a session has its agent: give one of the two")
		}
		id, err := parseSession(p.Session)
		out.Session = string(id)
		return out, err
	}
	agent := p.Agent
	if agent == "" {
		agent = config.MainAgent
	}
	if _, ok := c.Agents[agent]; !ok && c.Remote.URL == "" {
		return out, usagef("there is no agent %q; %s", agent, suggest.Hint(agent, slices.Sorted(maps.Keys(c.Agents))))
	}
	id, err := session.New(agent, "terminal", "local", "policy")
	if err != nil {
		return out, usagef("agent: %s", err)
	}
	out.Session = string(id)
	if out.Taint == nil {
		out.Taint = &call.Taint{}
	}
	return out, nil
}

func parseTaint(text string) (t call.Taint, err error) {
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(word) {
		case "untrusted":
			t.Untrusted = true
		case "private":
			t.Private = true
		case "none", "":
		default:
			return t, usagef("taint %q: there is no such one; %s", word, suggest.Hint(word, []string{"untrusted", "private", "none"}))
		}
	}
	return t, nil
}

// policyOf is the policy of a configuration file; nil, which is the running one, when none is named.
func policyOf(file string) (*tools.Policy, error) {
	if file == "" {
		return nil, nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) { // a configuration that is missing is the default one elsewhere
		return nil, usagef("--config %s: there is no such file", file)
	}
	c, _, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	p := app.PolicyOf(c.Policy)
	return &p, nil
}

// explained is what `policy explain --json` prints.
type explained struct {
	Effect     call.Effect     `json:"effect"`
	Rule       string          `json:"rule"`
	Reason     string          `json:"reason"`
	Why        []string        `json:"why"`
	Tool       string          `json:"tool"`
	Executor   string          `json:"executor"`
	Agent      string          `json:"agent"`
	Level      toolv1.Level    `json:"level"`
	Arguments  json.RawMessage `json:"arguments"` // canonical; null when they do not fit
	Shown      string          `json:"shown"`
	Always     string          `json:"always"`
	Policy     string          `json:"policy"` // version of all that decides
	Considered []string        `json:"considered"`
}

func explainedOf(agent string, j tools.Judged) explained {
	return explained{
		Effect: j.Effect, Rule: j.Rule, Reason: j.Reason, Why: append([]string{}, j.Why...), Tool: j.Request.Tool, Executor: j.Request.Executor,
		Agent: agent, Level: j.Request.Level, Arguments: j.Request.Arguments, Shown: j.Shown, Always: j.Fixed, Policy: j.Request.Policy,
		Considered: append([]string{}, j.Considered...),
	}
}

func (s *shell) explainRule(ctx context.Context, one policyCase, o explainOptions) error {
	policy, err := policyOf(o.config)
	if err != nil {
		return err
	}
	_, conf, err := s.load(false)
	if err != nil {
		return err
	}
	q, err := one.asCase(conf)
	if err != nil {
		return err
	}
	return s.visit(ctx, "policy explain", func(ctx context.Context, _ app.Env, c app.Client) error {
		answers, err := judge(ctx, c.Conn, policy, []tools.Case{q})
		if err != nil {
			return err
		}
		if answers[0] == nil {
			return fault.New(fault.TooLarge, "the arguments are too large to be judged")
		}
		got := explainedOf(session.ID(q.Session).Agent(), *answers[0])
		if o.json {
			err = s.writeJSON(got)
		} else {
			_, err = fmt.Fprint(s.out, got.text())
		}
		if err != nil {
			return err
		}
		switch got.Effect {
		case call.Run:
			return nil
		case call.Ask:
			return &toldError{exitApproval}
		case call.Deny:
		}
		return &toldError{exitFailed}
	})
}

// text is an explanation for a person.
func (x explained) text() string {
	var b strings.Builder
	line := func(name, text string) {
		if text = flat(text); text != "" {
			fmt.Fprintf(&b, "%-7s %s\n", name, text)
		}
	}
	line("effect", map[call.Effect]string{call.Run: "run", call.Ask: "ask a person", call.Deny: "deny"}[x.Effect])
	line("rule", x.Rule)
	line("reason", x.Reason)
	line("agent", x.Agent)
	if x.Executor != "" {
		line("level", x.Level.String())
	}
	if x.Effect == call.Ask {
		always := "not possible: it is asked about each time"
		if x.Always != "" {
			always = "would hold for " + x.Always
		}
		line("always", always)
		b.WriteString("\nwhy the person is asked:\n")
		for _, why := range x.Why {
			fmt.Fprintf(&b, "- %s\n", flat(why))
		}
		fmt.Fprintf(&b, "\nwhat is shown:\n%s\n", framed(x.Shown))
	}
	b.WriteString("\nwhat was considered:\n")
	for _, step := range x.Considered {
		fmt.Fprintf(&b, "- %s\n", flat(step))
	}
	return b.String()
}
