package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func (s *shell) diffCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff SESSION FORK",
		Short: "Show where two sessions part",
		Long: `Compares what was said and done in two sessions, in order: messages, commands, model calls with their tool calls, results,
answers, new beginnings and settings. Two entries are the same when kind and content are; ids, cursors and times do not count.
First it says what both have, then what was edited when one was forked from the other, then the rest of each: "<" is SESSION,
">" is FORK. It works for any two sessions, and for two forks of the same one.

SESSION is as in chat --session: ` + sessionHelp + `.

The exit code is 0 when they are the same, 1 when they differ, and 2 when there is no such session. With --json it prints one
object with left, right, same, common, edited, left_only and right_only.`,
		Example: "  jetclaw diff default default-at-4711\n  jetclaw diff default retry --json | jq .edited",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%q takes two sessions\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return s.diff(c.Context(), args[0], args[1], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	c.ValidArgsFunction = s.completeSessions
	return c
}

func (s *shell) diff(ctx context.Context, left, right string, asJSON bool) error {
	a, err := parseSessionArgument("SESSION", left)
	if err != nil {
		return err
	}
	b, err := parseSessionArgument("FORK", right)
	if err != nil {
		return err
	}
	e, err := s.env("diff", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		var sides [2][]entry
		for i, id := range []session.ID{a, b} {
			history, err := s.historyOf(ctx, c.Conn, id)
			if err != nil {
				return err
			}
			sides[i] = entriesOf(history)
		}
		d := compare(a, b, sides[0], sides[1])
		out := bufio.NewWriter(s.out)
		if asJSON {
			line, jerr := json.Marshal(d)
			if jerr == nil {
				_, jerr = out.Write(append(jsonForTerminal(line), '\n'))
			}
			err = jerr
		} else {
			d.show(out)
		}
		if err := errors.Join(err, out.Flush()); err != nil {
			return err
		}
		if !d.Same {
			return &toldError{exitFailed}
		}
		return nil
	})
}

// historyOf is what happened in a session since it was last deleted, with the past that it was forked from.
func (s *shell) historyOf(ctx context.Context, conn *bus.Conn, id session.ID) ([]envelope.Event, error) {
	history, err := conn.History(ctx, id, 0)
	var hole *bus.HoleError
	switch {
	case errors.As(err, &hole):
		fmt.Fprintf(s.err, "note: %s; only what is above it is compared\n", hole)
	case err != nil:
		return nil, err
	case len(history) == 0:
		err := s.noSession(ctx, conn, id)
		if none, ok := errors.AsType[*noSessionError](err); ok {
			return nil, usagef("%s", none)
		}
		return nil, err
	}
	for i, ev := range slices.Backward(history) {
		if _, deleted := ev.Body.(turnv1.SessionDeleted); deleted {
			history = history[i+1:]
			break
		}
	}
	return turn.Unfold(history), nil
}

// parting is where two sessions part.
type parting struct {
	Left      session.ID `json:"left"`
	Right     session.ID `json:"right"`
	Same      bool       `json:"same"`
	Common    int        `json:"common"` // entries that both begin with, the edited ones included
	Last      *pair      `json:"last,omitempty"`
	Edited    []pair     `json:"edited"`
	LeftOnly  []entry    `json:"left_only"`
	RightOnly []entry    `json:"right_only"`
}

// pair is an entry that both have.
type pair struct {
	Left  entry `json:"left"`
	Right entry `json:"right"`
}

// compare goes along both as far as they are the same. An event of a common past that is another one in a fork was edited.
func compare(a, b session.ID, left, right []entry) parting {
	d := parting{Left: a, Right: b, Edited: []pair{}}
	n := 0
	for ; n < min(len(left), len(right)); n++ {
		p := pair{left[n], right[n]}
		if p.Left.same(p.Right) {
			d.Last = &p
			continue
		}
		if p.Left.Session != p.Right.Session || p.Left.Cursor != p.Right.Cursor {
			break
		}
		d.Last, d.Edited = &p, append(d.Edited, p)
	}
	d.Common = n
	d.LeftOnly, d.RightOnly = append([]entry{}, left[n:]...), append([]entry{}, right[n:]...)
	d.Same = len(d.Edited)+len(d.LeftOnly)+len(d.RightOnly) == 0
	return d
}

func (d parting) show(out io.Writer) {
	switch {
	case d.Same:
		fmt.Fprintf(out, "%s and %s are the same: %s\n", d.Left, d.Right, entriesCounted(d.Common))
		return
	case d.Common == 0:
		fmt.Fprintf(out, "< %s\n> %s\nthey have no beginning in common\n", d.Left, d.Right)
	case d.Last.Left.Cursor == d.Last.Right.Cursor:
		fmt.Fprintf(out, "< %s\n> %s\nboth begin with %s, up to event %d\n", d.Left, d.Right, entriesCounted(d.Common), d.Last.Left.Cursor)
	default:
		fmt.Fprintf(out, "< %s\n> %s\nboth begin with %s, up to events %d and %d\n",
			d.Left, d.Right, entriesCounted(d.Common), d.Last.Left.Cursor, d.Last.Right.Cursor)
	}
	for _, p := range d.Edited {
		fmt.Fprintf(out, "\nevent %d was edited\n< %s\n> %s\n", p.Left.Cursor, p.Left.line(), p.Right.line())
	}
	only := func(mark string, id session.ID, list []entry) {
		if len(list) == 0 {
			fmt.Fprintf(out, "\n%s ends there\n", id)
			return
		}
		fmt.Fprintf(out, "\n%s goes on with %s\n", id, entriesCounted(len(list)))
		for _, e := range list {
			fmt.Fprintf(out, "%s %s\n", mark, e.line())
		}
	}
	only("<", d.Left, d.LeftOnly)
	only(">", d.Right, d.RightOnly)
}

func entriesCounted(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
