package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/playback"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/timeline"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// timelineOptions are the flags of `explain`.
type timelineOptions struct {
	turn  string
	since string
	graph bool
	json  bool
}

func (s *shell) explainCommand() *cobra.Command {
	var o timelineOptions
	c := &cobra.Command{
		Use:   "explain SESSION",
		Short: "Show why a session is where it is, and what it waits for",
		Long: `Shows one session as a timeline: each message with the turns that answer it, their model calls (model, attempts, tokens, money),
tool calls, approvals and deliveries, with how long each took. It begins with what the session waits for now, and since when.
It works beside a running daemon and without one.

SESSION is as in chat --session: ` + sessionHelp + `.

With --graph it writes a flowchart for Mermaid: a node for each event, an arrow from what led to it.

With --json it prints one object with session, waiting, totals, holes and entries. An entry has kind, cursor, type, id, time,
offset_ms, took_ms, cause (a cursor), text, facts (by kind) and entries; kind turn, round, call, approval, delivery and compaction
are groups of events and have no cursor. Durations are in milliseconds, cost_nano_usd in billionths of a US dollar.

Where the journal has a hole the rest is shown all the same, and the exit code is 1.`,
		Example: "  jetclaw explain default\n  jetclaw explain main.telegram.mybot.12345 --turn 3\n" +
			"  jetclaw explain default --graph > default.mmd\n  jetclaw explain default --json | jq '.waiting'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes one session\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return s.explainSession(c.Context(), args[0], o) },
	}
	c.Flags().StringVar(&o.turn, "turn", "", "only this turn: its number (3), its id, or the id of its message")
	c.Flags().StringVar(&o.since, "since", "", "only what came after a cursor (4711)")
	c.Flags().BoolVar(&o.graph, "graph", false, "a Mermaid flowchart")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "turn", "since")
	c.ValidArgsFunction = s.completeSessions
	return c
}

// cursor reads --since; 0 is all.
func (o timelineOptions) cursor() (uint64, error) {
	if o.since == "" {
		return 0, nil
	}
	cursor, err := strconv.ParseUint(o.since, 10, 63)
	if err != nil {
		return 0, usagef("--since %s is no cursor (4711)", o.since)
	}
	return cursor, nil
}

func (s *shell) explainSession(ctx context.Context, name string, o timelineOptions) error {
	id, err := parseSession(name)
	if err != nil {
		return usagef("%s", strings.Replace(err.Error(), "--session", "SESSION", 1))
	}
	if o.graph && o.json {
		return usagef("--graph and --json are two forms of the same; choose one")
	}
	since, err := o.cursor()
	if err != nil {
		return err
	}
	e, err := s.env("explain", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		events, hole, err := s.history(ctx, c.Conn, id)
		if err != nil {
			return err
		}
		due, err := dueOf(ctx, c.Conn, id, events)
		if err != nil {
			return err
		}
		t, err := o.part(timeline.Build(events, due, time.Now()), since)
		if err != nil {
			return err
		}
		if err := s.showTimeline(t, o); err != nil || hole == nil {
			return err
		}
		return hole
	})
}

// dueOf is what each machine wants of a session now.
func dueOf(ctx context.Context, conn *bus.Conn, id session.ID, events []envelope.Event) ([]recheck.Due, error) {
	machines, err := app.Machines(ctx, conn)
	if err != nil {
		return nil, err
	}
	p := playback.NewSession(machines, id)
	for _, ev := range events {
		p.Apply(ev)
	}
	return p.Due(time.Now()), nil
}

// part is what was asked for of a timeline.
func (o timelineOptions) part(t timeline.Timeline, since uint64) (timeline.Timeline, error) {
	if since > t.Last {
		return t, fmt.Errorf("--since %d: the events of %s have cursors from %d to %d", since, t.Session, t.First, t.Last)
	}
	if since > 0 {
		t = t.Since(since)
	}
	if o.turn == "" {
		return t, nil
	}
	one, ok := t.Turn(o.turn)
	switch {
	case ok:
		return one, nil
	case t.Totals.Turns == 0:
		return t, fmt.Errorf("--turn %s: %s has no turn yet", o.turn, t.Session)
	}
	return t, fmt.Errorf("--turn %s: there is none; %s has %s, counted from 1", o.turn, t.Session, counted(t.Totals.Turns, "turn"))
}

func (s *shell) showTimeline(t timeline.Timeline, o timelineOptions) error {
	switch {
	case o.json:
		line, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("write the timeline as JSON: %w", err)
		}
		_, err = s.out.Write(append(jsonForTerminal(line), '\n'))
		return err
	case o.graph:
		chart, edges := t.Mermaid()
		if edges > timeline.MermaidEdges {
			fmt.Fprintf(s.err, "note: it has %d arrows, and Mermaid draws %d unless maxEdges says otherwise; --turn and --since make it smaller\n",
				edges, timeline.MermaidEdges)
		}
		_, err := io.WriteString(s.out, chart)
		return err
	}
	_, err := io.WriteString(s.out, t.Text(timeline.Style{Zone: time.Local, Colour: s.colour(s.outTTY), Flat: flat}))
	return err
}
