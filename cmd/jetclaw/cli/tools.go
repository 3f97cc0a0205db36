package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools"
)

func (s *shell) toolsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "tools",
		Short:   "Show what agents can do",
		Long:    "Agents act through tools. Each tool has a level, which decides whether a person is asked before it runs.",
		Example: "  jetclaw tools list",
		Args:    noSuchCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.toolsList())
	noCompletion(c)
	return c
}

func (s *shell) toolsList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tools that there are",
		Long: `Lists the tools of all executors. agents.NAME.tools in the configuration says which of them an agent is offered.

level    L0 reads, L1 changes what is the session's own: they run. L2 changes the outside, or what every prompt begins with: a
         person is asked. L3 is dangerous: it has to be enabled, and a person is asked each time. What a call names can raise it.
egress   whether data can leave: fixed, to a place that the configuration names; chosen, to one that the model chooses
repeat   whether a call whose process died is carried out again; else its outcome is unknown, and the model is told
taints   what a result can be: untrusted, text from outside; private, about the person
executor who carries calls out: builtin, or an MCP server (mcp-NAME). While it is paused, calls are answered at once that it is

With --json it prints one object with tools: name, executor, level, egress, repeatable, untrusted, private, timeout_seconds,
description and schema of each, and paused_until where it is.`,
		Example: "  jetclaw tools list\n  jetclaw tools list --json | jq -r '.tools[] | select(.level > 1).name'",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.visit(c.Context(), "tools list", func(ctx context.Context, _ app.Env, c app.Client) error {
				all, err := catalogues(ctx, c.Conn)
				if err != nil {
					return err
				}
				list := toolsOf(all, time.Now())
				if asJSON {
					return s.writeJSON(toolList{list})
				}
				return s.showTools(list)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

// catalogues are what all executors offer.
func catalogues(ctx context.Context, conn *bus.Conn) ([]toolv1.Catalogue, error) {
	var all []toolv1.Catalogue
	for after := ""; ; after = all[len(all)-1].Executor {
		got, err := bus.Ask[tools.Explained](ctx, conn, "tools", "explain", tools.ExplainRequest{After: after})
		if err != nil {
			return nil, err
		}
		if all = append(all, got.Tools...); !got.More || len(got.Tools) == 0 {
			return all, nil
		}
	}
}

// toolList is what `tools list --json` prints.
type toolList struct {
	Tools []toolEntry `json:"tools"`
}

type toolEntry struct {
	Name        string          `json:"name"`
	Executor    string          `json:"executor"`
	Level       toolv1.Level    `json:"level"`
	Egress      toolv1.Egress   `json:"egress"` // "", fixed, chosen
	Repeatable  bool            `json:"repeatable"`
	Untrusted   bool            `json:"untrusted"`
	Private     bool            `json:"private"`
	Timeout     float64         `json:"timeout_seconds"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	// Paused is until when the executor is left alone: calls are answered at once that it is so.
	Paused *time.Time `json:"paused_until,omitempty"`
}

func toolsOf(catalogues []toolv1.Catalogue, now time.Time) []toolEntry {
	list := []toolEntry{}
	for _, c := range catalogues {
		var paused *time.Time
		if c.Paused != nil && c.Paused.Until.After(now) {
			paused = &c.Paused.Until
		}
		for _, t := range c.Tools {
			list = append(list, toolEntry{
				Name: t.Name, Executor: c.Executor, Level: t.Level, Egress: t.Egress, Repeatable: t.Again, Untrusted: t.Untrusted,
				Private: t.Private, Timeout: t.Timeout.Seconds(), Description: t.Description, Schema: t.Schema, Paused: paused,
			})
		}
	}
	slices.SortStableFunc(list, func(a, b toolEntry) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (s *shell) showTools(list []toolEntry) error {
	if len(list) == 0 {
		fmt.Fprintln(s.err, "note: no executor offers any tool")
		return nil
	}
	var t columns
	t.row("tool", "level", "egress", "repeat", "taints", "executor", "what it does")
	for _, e := range list {
		executor := flat(e.Executor)
		if e.Paused != nil {
			executor += ", paused until " + e.Paused.UTC().Format("15:04:05Z")
		}
		first, _, _ := strings.Cut(strings.TrimSpace(e.Description), "\n")
		t.row(flat(e.Name), e.Level.String(), orDash(string(e.Egress)), map[bool]string{true: "yes", false: "no"}[e.Repeatable],
			orDash(taints(e.Untrusted, e.Private)), executor, oneLine(first))
	}
	return t.print(s.out)
}

func taints(untrusted, private bool) string {
	var names []string
	if untrusted {
		names = append(names, "untrusted")
	}
	if private {
		names = append(names, "private")
	}
	return strings.Join(names, ", ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return flat(text)
}
