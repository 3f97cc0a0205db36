package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func (s *shell) policyTest() *cobra.Command {
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "test FILE",
		Short: "Check the policy against calls that have to run, to be asked about, or to be denied",
		Long: `Reads a list of calls from FILE, YAML or JSON (- is stdin), and says which of them would be decided otherwise than they want:

  - name: prompts are protected        # for people
    tool: write_file
    args: {path: AGENTS.md, content: x}
    want: ask                          # run, ask, deny
    rule: level L2                     # optional: what has to decide
  - tool: web_fetch
    args: {url: "https://example.org/?q=x"}
    agent: research                    # or session: NAME; main unless given
    taint: [untrusted, private]        # what the session has read; nothing unless given
    want: ask

Exit code 1: a call is decided otherwise, or FILE has none; 2: FILE cannot be read, or something in it is wrong.

With --json it prints one object with cases, failed and results: case (from 1), name, tool, ok, want, got, want_rule, rule, reason.`,
		Example: "  jetclaw policy test policy-tests.yaml\n  jetclaw policy test policy-tests.yaml --config new.yaml --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes one file\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return s.testPolicy(c.Context(), args[0], file, asJSON) },
	}
	c.Flags().StringVar(&file, "config", "", configHelp)
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// testCase is one call of the file.
type testCase struct {
	Name    string      `json:"name"    yaml:"name"`
	Tool    string      `json:"tool"    yaml:"tool"`
	Args    anyJSON     `json:"args"    yaml:"args"`
	Agent   string      `json:"agent"   yaml:"agent"`
	Session string      `json:"session" yaml:"session"`
	Taint   words       `json:"taint"   yaml:"taint"`
	Want    call.Effect `json:"want"    yaml:"want"`
	Rule    string      `json:"rule"    yaml:"rule"`
}

// anyJSON is a value as JSON, also when it was written in YAML.
type anyJSON []byte

// UnmarshalJSON keeps it as it is.
func (a *anyJSON) UnmarshalJSON(data []byte) error {
	*a = bytes.Clone(data)
	return nil
}

// UnmarshalYAML turns it into JSON.
func (a *anyJSON) UnmarshalYAML(read func(any) error) error {
	var v any
	if err := read(&v); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	*a = data
	return err
}

// words are a list of words, or a text with commas; nil when there is none.
type words []string

func (w *words) take(read func(any) error) error {
	var text string
	if read(&text) == nil {
		*w = strings.Split(text, ",")
		return nil
	}
	list := []string{}
	err := read(&list)
	*w = list
	return err
}

// UnmarshalJSON reads either form.
func (w *words) UnmarshalJSON(data []byte) error {
	return w.take(func(v any) error { return json.Unmarshal(data, v) })
}

// UnmarshalYAML reads either form.
func (w *words) UnmarshalYAML(read func(any) error) error { return w.take(read) }

// testCases reads the file strictly: a key that was misspelt would make a test of something else.
func (s *shell) testCases(file string) ([]testCase, error) {
	in := s.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("%s", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
	if err == nil && len(data) > maxStdin {
		err = fmt.Errorf("larger than %d bytes", maxStdin)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var list []testCase
	if json.Valid(data) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&list)
	} else {
		err = yaml.UnmarshalWithOptions(data, &list, yaml.Strict())
	}
	var y yaml.Error
	switch {
	case errors.As(err, &y) && y.GetToken() != nil:
		at := y.GetToken().Position
		return nil, usagef("%s:%d:%d: %s", file, at.Line, at.Column, y.GetMessage())
	case err != nil:
		return nil, usagef("%s: %s", file, err)
	}
	return list, nil
}

// tested is what `policy test --json` prints.
type tested struct {
	Cases   int          `json:"cases"`
	Failed  int          `json:"failed"`
	Results []testResult `json:"results"`
}

type testResult struct {
	Case     int         `json:"case"`
	Name     string      `json:"name"`
	Tool     string      `json:"tool"`
	OK       bool        `json:"ok"`
	Want     call.Effect `json:"want"`
	Got      call.Effect `json:"got"`
	WantRule string      `json:"want_rule,omitempty"`
	Rule     string      `json:"rule"`
	Reason   string      `json:"reason,omitempty"`
}

func (s *shell) testPolicy(ctx context.Context, file, configFile string, asJSON bool) error {
	list, err := s.testCases(file)
	if err != nil {
		return err
	}
	policy, err := policyOf(configFile)
	if err != nil {
		return err
	}
	_, conf, err := s.load(false)
	if err != nil {
		return err
	}
	cases := make([]tools.Case, len(list))
	for i, t := range list {
		if cases[i], err = t.asCase(conf); err != nil {
			return fmt.Errorf("%s: case %d: %w", file, i+1, err)
		}
	}
	if len(cases) == 0 {
		return fmt.Errorf("%s has no cases", file)
	}
	return s.visit(ctx, "policy test", func(ctx context.Context, _ app.Env, c app.Client) error {
		answers, err := judge(ctx, c.Conn, policy, cases)
		if err != nil {
			return err
		}
		res := tested{Cases: len(list)}
		for i, t := range list {
			r := t.result(i+1, answers[i])
			if !r.OK {
				res.Failed++
			}
			res.Results = append(res.Results, r)
		}
		if asJSON {
			err = s.writeJSON(res)
		} else {
			err = s.showTested(res)
		}
		if err == nil && res.Failed > 0 {
			return &toldError{exitFailed}
		}
		return err
	})
}

// asCase is the question to the gate.
func (t testCase) asCase(c *config.Config) (tools.Case, error) {
	switch {
	case t.Tool == "":
		return tools.Case{}, usagef("tool is missing")
	case t.Want != call.Run && t.Want != call.Ask && t.Want != call.Deny:
		return tools.Case{}, usagef("want: %q has to be run, ask or deny", t.Want)
	}
	one := policyCase{Tool: t.Tool, Session: t.Session, Agent: t.Agent, Args: json.RawMessage(t.Args)}
	if t.Args == nil {
		one.Args = json.RawMessage("{}")
	}
	if t.Taint != nil {
		text := strings.Join(t.Taint, ",")
		one.Taint = &text
	}
	return one.asCase(c)
}

func (t testCase) result(n int, got *tools.Judged) testResult {
	r := testResult{Case: n, Name: t.Name, Tool: t.Tool, Want: t.Want, WantRule: t.Rule, Reason: "the arguments are too large to be judged"}
	if got != nil {
		r.Got, r.Rule, r.Reason = got.Effect, got.Rule, got.Reason
	}
	r.OK = r.Got == r.Want && (t.Rule == "" || r.Rule == t.Rule)
	return r
}

func (s *shell) showTested(res tested) error {
	var b strings.Builder
	for _, r := range res.Results {
		if r.OK {
			continue
		}
		name := flat(r.Tool)
		if r.Name != "" {
			name = flat(r.Name) + ": " + name
		}
		want, got := string(r.Want), string(r.Got)
		if r.WantRule != "" {
			want += " by " + flat(r.WantRule)
		}
		if r.Rule != "" {
			got += " by " + flat(r.Rule)
		}
		fmt.Fprintf(&b, "case %d, %s\n  want %s\n  got  %s\n", r.Case, name, want, got)
		if r.Reason != "" {
			fmt.Fprintf(&b, "       %s\n", flat(r.Reason))
		}
	}
	fmt.Fprintf(&b, "%s, %d failed\n", counted(res.Cases, "case"), res.Failed)
	_, err := io.WriteString(s.out, b.String())
	return err
}
