package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/approvals"
)

func (s *shell) approvalsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "approvals",
		Short: "Say whether agents may do what they ask for",
		Long: `A call of a tool that is risky waits until a person has decided. It waits as long as that takes, at most until it expires,
also while nothing runs; silence is no.`,
		Example: `  jetclaw approvals list
  jetclaw approvals show a2b3c4d5e6f
  jetclaw approvals approve a2b3c4d5e6f
  jetclaw approvals deny a2b3c4d5e6f --reason "not that file"`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.approvalsList(), s.approvalsShow(), s.approvalsApprove(), s.approvalsDeny())
	noCompletion(c)
	return c
}

// listOptions are the flags of `approvals list`.
type listOptions struct {
	session string
	all     bool
	json    bool
}

func (s *shell) approvalsList() *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List what waits for a decision",
		Long: `Lists the open approvals, oldest first. With --all also the last ones that are over.

With --json it prints one object: approvals, as "jetclaw approvals show --json" prints each, and more, which says how many open
ones a very long list leaves out.`,
		Example: "  jetclaw approvals list\n  jetclaw approvals list --session work --all\n  jetclaw approvals list --json | jq -r '.approvals[].approval'",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.listApprovals(c.Context(), o) },
	}
	c.Flags().StringVar(&o.session, "session", "", "only this session: "+sessionHelp)
	c.Flags().BoolVar(&o.all, "all", false, "with those that are over")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "session")
	return c
}

// visit lets fn, which has no model asked, talk to a jetclaw until it is done, or the person has enough.
func (s *shell) visit(ctx context.Context, command string, fn func(context.Context, app.Env, app.Client) error) error {
	return s.meet(ctx, command, true, fn)
}

// meet is visit for what may have a model asked, which is then told of; silent: not.
func (s *shell) meet(ctx context.Context, command string, silent bool, fn func(context.Context, app.Env, app.Client) error) error {
	e, err := s.env(command, slog.LevelWarn)
	if err != nil {
		return err
	}
	e.Silent = silent
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error { return fn(ctx, e, c) })
}

func (s *shell) listApprovals(ctx context.Context, o listOptions) error {
	r := approvals.ListRequest{All: o.all}
	if o.session != "" {
		id, err := parseSession(o.session)
		if err != nil {
			return err
		}
		r.Session = string(id)
	}
	return s.visit(ctx, "approvals list", func(ctx context.Context, _ app.Env, c app.Client) error {
		l, err := bus.Ask[approvals.List](ctx, c.Conn, "approvals", "list", r)
		if err != nil {
			return err
		}
		if o.json {
			return s.writeJSON(l)
		}
		return s.showApprovals(l, o.all, time.Now())
	})
}

// writeJSON prints one JSON object.
func (s *shell) writeJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer as JSON: %w", err)
	}
	_, err = s.out.Write(append(jsonForTerminal(line), '\n'))
	return err
}

func (s *shell) showApprovals(l approvals.List, all bool, now time.Time) error {
	if len(l.Approvals) == 0 {
		fmt.Fprintln(s.err, "note: nothing waits for a decision")
		return nil
	}
	t := columns{right: []bool{false, true, true}}
	head := []string{"id", "age", "expires in", "session", "tool", "what runs"}
	if all {
		head = append([]string{"id", "age", "expires in", "status"}, head[3:]...)
	}
	t.row(head...)
	open := 0
	for _, v := range l.Approvals {
		age, expires, what := "", "", inShort(v)
		if v.Status == approvals.Open {
			open++
			age, expires = span(now.Sub(v.Since)), span(v.Expires.Sub(now))
		} else if what == "" {
			what = endOf(v)
		}
		cells := []string{v.Approval, age, expires, string(v.Session), flat(v.Tool), what}
		if all {
			cells = append([]string{v.Approval, age, expires, v.Status}, cells[3:]...)
		}
		t.row(cells...)
	}
	if err := t.print(s.out); err != nil {
		return err
	}
	for _, id := range l.Unread {
		fmt.Fprintf(s.err, "note: %s has an open approval and cannot be read, as an event of it is missing; see jetclaw doctor\n", id)
	}
	if l.More > 0 {
		fmt.Fprintf(s.err, "note: at least %d more are open; --session shows those of one session\n", l.More)
	}
	if open > 0 {
		fmt.Fprintln(s.err, "`jetclaw approvals show ID` shows all of it, `jetclaw approvals approve ID` or `deny ID` decides")
	}
	return nil
}

// inShort is what runs as a part of a line, without the tool's name, which stands beside it.
func inShort(v approvals.View) string {
	return oneLine(strings.TrimPrefix(v.Shown, v.Tool+"\n"))
}

// endOf says how an approval ended.
func endOf(v approvals.View) string {
	if v.By != "" {
		return "by " + flat(v.By) + ", " + v.At.Local().Format(time.DateTime)
	}
	return oneLine(cmp.Or(v.Reason, v.Text))
}

// span is a duration in its largest unit, as far as a person cares.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

func (s *shell) approvalsShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of one approval",
		Long: `Shows what would run, exactly and whole, why it is asked, who may decide and how long it is open.

With --json it prints one object with approval, session, status (open, allowed, denied, expired, cancelled, voided), turn, call,
tool, expires and approvers; while it is open also executor, arguments, level, policy, why, shown, always (whether it can be
allowed from now on), fixed (what that would hold for) and since; when it is over decision, by, at, reason and text.`,
		Example: "  jetclaw approvals show a2b3c4d5e6f\n  jetclaw approvals show a2b3c4d5e6f --json | jq .arguments",
		Args:    oneApproval,
		RunE: func(c *cobra.Command, args []string) error {
			return s.visit(c.Context(), "approvals show", func(ctx context.Context, _ app.Env, c app.Client) error {
				v, err := getApproval(ctx, c.Conn, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return s.writeJSON(v)
				}
				_, err = fmt.Fprint(s.out, wholeApproval(v, time.Now()))
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeApproval
	return c
}

func oneApproval(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%q takes the id of one approval\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	return nil
}

func getApproval(ctx context.Context, conn *bus.Conn, id string) (approvals.View, error) {
	v, err := bus.Ask[approvals.View](ctx, conn, "approvals", "get", approvals.GetRequest{Approval: id})
	return v, noApproval(ctx, conn, id, err)
}

// noApproval adds to an error that says that there is none which one was perhaps meant.
func noApproval(ctx context.Context, conn *bus.Conn, id string, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	l, lerr := bus.Ask[approvals.List](ctx, conn, "approvals", "list", approvals.ListRequest{})
	if lerr != nil {
		return err
	}
	var open []string
	for _, v := range l.Approvals {
		open = append(open, v.Approval)
	}
	if n := suggest.Nearest(id, open); n != "" {
		return fmt.Errorf("%w\ndid you mean %s?", err, n)
	}
	return fmt.Errorf("%w\n`jetclaw approvals list` shows those that are open", err)
}
