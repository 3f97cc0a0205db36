package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/approvals"
)

// decideOptions are the flags of `approvals approve` and `approvals deny`.
type decideOptions struct {
	always bool
	edit   string
	yes    bool
	reason string
	json   bool
}

func (s *shell) approvalsApprove() *cobra.Command {
	var o decideOptions
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Let a call run",
		Long: `Allows the call that waits. On a terminal it is shown first, and asked about once more; without one, or with --yes, the
command itself is the decision.

With --always, calls like it run from now on without being asked, in this session; "jetclaw approvals show ID" says what exactly
that would hold for. With --edit it runs with other arguments: a JSON object from a file, or from stdin (-).

It says what was decided, and exits with 0 when it was decided so, now or before; with 1 when somebody else has decided otherwise,
when it has expired or is void, or when it is not yours to decide. Without a daemon the call runs in this process.

With --json it prints one object with approval, session, status (allowed, denied), already and text.`,
		Example: `  jetclaw approvals approve a2b3c4d5e6f
  jetclaw approvals approve a2b3c4d5e6f --always --yes
  echo '{"path": "notes.md", "content": "…"}' | jetclaw approvals approve a2b3c4d5e6f --edit -`,
		Args: oneApproval,
		RunE: func(c *cobra.Command, args []string) error {
			r := approvals.DecideRequest{Approval: args[0], Decision: callv1.AllowOnce}
			if o.always {
				r.Decision = callv1.AllowAlways
			}
			if c.Flags().Changed("edit") {
				var err error
				if r.Arguments, err = s.editedArguments(o.edit); err != nil {
					return err
				}
			}
			return s.decide(c.Context(), "approvals approve", r, o)
		},
	}
	c.Flags().BoolVar(&o.always, "always", false, "from now on, too")
	c.Flags().StringVar(&o.edit, "edit", "", "with these arguments instead: a FILE with a JSON object, or -")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeApproval
	return c
}

func (s *shell) approvalsDeny() *cobra.Command {
	var o decideOptions
	c := &cobra.Command{
		Use:   "deny ID",
		Short: "Do not let a call run",
		Long: `Refuses the call that waits. The model is told, with the reason if there is one, and goes on without it.

It says what was decided. Exit codes and --json are those of "jetclaw approvals approve".`,
		Example: "  jetclaw approvals deny a2b3c4d5e6f\n  jetclaw approvals deny a2b3c4d5e6f --reason \"write to notes.md instead\"",
		Args:    oneApproval,
		RunE: func(c *cobra.Command, args []string) error {
			o.yes = true // nothing happens that would have to be shown before
			r := approvals.DecideRequest{Approval: args[0], Decision: callv1.Deny, Reason: o.reason}
			return s.decide(c.Context(), "approvals deny", r, o)
		},
	}
	c.Flags().StringVar(&o.reason, "reason", "", "why, in your words; the model is told")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "reason")
	c.ValidArgsFunction = s.completeApproval
	return c
}

// editedArguments reads a JSON object.
func (s *shell) editedArguments(file string) (json.RawMessage, error) {
	in := s.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("--edit: %s", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxStdin))
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, usagef("--edit %s: the arguments have to be a JSON object: %s", file, err)
	}
	if object == nil {
		return nil, usagef("--edit %s: the arguments have to be a JSON object, not null", file)
	}
	return data, nil
}

func (s *shell) decide(ctx context.Context, command string, r approvals.DecideRequest, o decideOptions) error {
	return s.meet(ctx, command, false, func(ctx context.Context, _ app.Env, c app.Client) error {
		v, err := getApproval(ctx, c.Conn, r.Approval)
		if err != nil {
			return err
		}
		r.Session = string(v.Session)
		if !o.yes && s.inTTY && s.errTTY && v.Status == approvals.Open && !s.surely(ctx, v, r) {
			return &toldError{exitFailed}
		}
		before, err := c.Conn.Journal().Last(ctx, v.Session)
		if err != nil {
			return err
		}
		a, err := bus.Ask[approvals.DecideAnswer](ctx, c.Conn, "approvals", "decide", r)
		if err != nil {
			return err
		}
		if o.json {
			err = s.writeJSON(a)
		} else {
			_, err = fmt.Fprintln(s.out, forTerminal(a.Text))
		}
		if err != nil || c.At != "" || a.Already {
			return err
		}
		return s.aftermath(ctx, c.Conn, v, before)
	})
}

// surely asks once more, with all that is needed to know what for.
func (s *shell) surely(ctx context.Context, v approvals.View, r approvals.DecideRequest) bool {
	fmt.Fprint(s.err, question(v, time.Now()))
	if r.Arguments != nil {
		fmt.Fprintf(s.err, "With these arguments instead:\n%s\n", framed(string(r.Arguments)))
	}
	what := "allow it once?"
	if r.Decision == callv1.AllowAlways {
		what = "allow it, and from now on?"
	}
	return s.confirm(ctx, what)
}

// aftermath waits, where this process is all that works, until the turn has ended or waits for a person again: else the call
// would be cut off in the middle of what it does. What it leads to is told on stderr.
func (s *shell) aftermath(ctx context.Context, conn *bus.Conn, v approvals.View, before uint64) error {
	fmt.Fprintln(s.err, "note: without a daemon it goes on in this process; Ctrl-C leaves the rest to the next start")
	w := &turnWatch{turn: v.Turn, call: v.Call, open: map[string]bool{}}
	l, err := bus.Ask[approvals.List](ctx, conn, "approvals", "list", approvals.ListRequest{Session: string(v.Session)})
	if err != nil {
		return err
	}
	for _, o := range l.Approvals {
		if o.Turn == v.Turn && o.Status == approvals.Open {
			w.open[o.Approval] = true
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = follow(ctx, conn, bus.ReplayOptions{Session: v.Session, From: before + 1}, func(e envelope.Event) error {
		if w.see(e.Body) {
			cancel()
		}
		return nil
	})
	switch {
	case w.text != "":
		fmt.Fprintf(s.err, "%s\n", forTerminal(w.text))
	case w.done && len(w.open) > 0:
		fmt.Fprintf(s.err, "note: the turn waits for %s; `jetclaw approvals list` shows what for\n", counted(len(w.open), "approval"))
	}
	if w.done {
		return nil
	}
	return err
}

// turnWatch sees when there is nothing more to wait for after a decision.
type turnWatch struct {
	turn, call string
	over       bool            // the call that was decided about has its result
	open       map[string]bool // approvals of the turn
	done       bool
	text       string // what the person is told at the end of the turn
}

// see takes an event, and says whether it was the last.
func (w *turnWatch) see(body envelope.Body) bool {
	if turn, text, ok := turnEnd(body); ok && (turn == w.turn || turn == "") {
		w.done, w.text = true, text
		return true
	}
	switch b := body.(type) {
	case callv1.Completed:
		w.over = w.over || b.Turn == w.turn && b.Call == w.call
	case callv1.Denied:
		w.over = w.over || b.Turn == w.turn && b.Call == w.call
	case approvalv1.Requested:
		if b.Turn == w.turn {
			w.open[b.Approval] = true
		}
	case approvalv1.Event:
		delete(w.open, settledBy(body))
	}
	w.done = w.over && len(w.open) > 0
	return w.done
}

// completeApproval offers the ids of open approvals. It starts no service: nobody means to work with the tab key.
func (s *shell) completeApproval(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	quiet := *s
	quiet.err = io.Discard
	e, err := quiet.env("completion", slog.LevelError+1)
	if err == nil {
		_, err = os.Stat(e.Home.Data()) // a home is not made for this
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), lookTime)
	defer cancel()
	var open docket
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		if c.At != "" {
			l, err := bus.Ask[approvals.List](ctx, c.Conn, "approvals", "list", approvals.ListRequest{})
			open.open = l.Approvals
			return err
		}
		return c.Conn.Replay(ctx, bus.ReplayOptions{}, func(ev envelope.Event) error {
			open.fold(ev)
			return nil
		})
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, v := range open.open {
		ids = append(ids, v.Approval+"\t"+oneLine(strings.TrimSpace(v.Tool+" "+inShort(v))))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
