package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/playback"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// replayOptions are the flags of `replay`.
type replayOptions struct {
	to, from uint64
	check    bool
	all      bool
	step     bool
	machine  string
	json     bool
}

func (s *shell) replayCommand() *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay SESSION | --all",
		Short: "Fold the journal again: states at any cursor, and whether today's code would decide the same",
		Long: `Folds the events of a session with today's machines (turns, tools, approvals, builtin, outbox) and shows their states, at
the end or at a cursor; with --from, what changed between two cursors; with --step, event by event what each one changed
(at a terminal Enter goes on, q ends).

With --check every event that a machine has appended is held against what today's machine would append on the fold before
it: type, cause and data. Given are what the event records of the world: its time, who appended it, what a model, a
channel, a judge or a person said; and the rules at that time, which it names by a digest. Exit code 1 at the first
difference, which is named with event, field, then and now, and when nothing could be compared.

--all --check does that for the whole journal: a gate before an upgrade. Holes in it and events of a newer jetclaw fail it,
too; what follows them in their sessions is not judged. --all alone folds the whole journal, and says in how many sessions
something is still to be done.

SESSION is as in chat --session: ` + sessionHelp + `. Nothing is changed, and nothing runs.`,
		Example: `  jetclaw replay default
  jetclaw replay default --to 4711 --machine turns
  jetclaw replay default --from 4700 --to 4711
  jetclaw replay main.telegram.mybot.12345 --step
  jetclaw replay default --check
  jetclaw replay --all --check`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case o.all && len(args) > 0:
				return usagef("--all stands for all sessions: leave out %q", args[0])
			case o.all && (o.from != 0 || o.step || o.machine != ""):
				return usagef("--all takes --check, --to and --json only: states are shown of one session")
			case !o.all && len(args) != 1:
				return usagef("%q takes one session, or --all\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			case o.from != 0 && (o.check || o.step):
				return usagef("--from shows what changed between two cursors, without --check and --step")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.all {
				return s.replayAll(c.Context(), o)
			}
			return s.replay(c.Context(), args[0], o)
		},
	}
	c.Flags().Uint64Var(&o.to, "to", 0, "up to this cursor; without it to the end")
	c.Flags().Uint64Var(&o.from, "from", 0, "show what changed since this cursor")
	c.Flags().BoolVar(&o.check, "check", false, "hold each event against what today's machine would append")
	c.Flags().BoolVar(&o.all, "all", false, "the whole journal")
	c.Flags().BoolVar(&o.step, "step", false, "event by event")
	c.Flags().StringVar(&o.machine, "machine", "", "only this one's state: turns, tools, approvals, builtin or outbox")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object; with --step one a line")
	noCompletion(c, "to", "from", "machine")
	c.ValidArgsFunction = s.completeSessions
	return c
}

func (s *shell) replay(ctx context.Context, name string, o replayOptions) error {
	id, err := parseSession(name)
	if err != nil {
		return usagef("%s", strings.Replace(err.Error(), "--session", "SESSION", 1))
	}
	e, err := s.env("replay", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		machines, err := app.Machines(ctx, c.Conn)
		if err != nil {
			return err
		}
		if machines, err = only(machines, o.machine); err != nil {
			return err
		}
		events, hole, err := s.history(ctx, c.Conn, id)
		if err != nil {
			return err
		}
		u, err := c.Conn.Journal().Usage(ctx)
		if err != nil {
			return err
		}
		if events, err = upTo(events, "--to", o.to, u.Last); err != nil {
			return err
		}
		if hole != nil {
			fmt.Fprintln(s.err, holeText(hole)+"; states above it are not what they were")
		}
		err = s.replayed(ctx, id, machines, events, o)
		if err == nil && hole != nil {
			return &toldError{exitFailed}
		}
		return err
	})
}

// only is the machine of a name; all of them for "".
func only(all []recheck.Machine, name string) ([]recheck.Machine, error) {
	if name == "" {
		return all, nil
	}
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Service()
	}
	i := slices.Index(names, name)
	if i < 0 {
		return nil, usagef("--machine: there is no %q; %s", name, suggest.Hint(name, names))
	}
	return all[i : i+1], nil
}

func (s *shell) replayed(ctx context.Context, id session.ID, machines []recheck.Machine, events []envelope.Event, o replayOptions) error {
	p := playback.NewSession(machines, id)
	switch {
	case o.check && !o.step:
		return s.told(playback.CheckEvents(p, events), o.json)
	case o.step:
		return s.steps(ctx, p, events, o)
	case o.from != 0:
		return s.changes(p, events, o)
	}
	for _, ev := range events {
		p.Apply(ev)
	}
	return s.showStates(p, events[len(events)-1], o.json)
}

// states is what `replay --json` prints.
type states struct {
	Session session.ID       `json:"session"`
	Cursor  uint64           `json:"cursor"`
	States  []playback.State `json:"states"`
}

func (s *shell) showStates(p *playback.Session, last envelope.Event, asJSON bool) error {
	if asJSON {
		return s.writeJSON(states{p.ID, last.Cursor, p.States()})
	}
	out := bufio.NewWriter(s.out)
	fmt.Fprintf(out, "%s after event %d (%s)\n", p.ID, last.Cursor, flat(last.Kind()))
	for _, st := range p.States() {
		raw, err := json.MarshalIndent(st.State, "", "  ")
		if err != nil {
			return fmt.Errorf("state of %s: %w", st.Service, err)
		}
		fmt.Fprintf(out, "\n%s %s\n", st.Service, forTerminal(string(raw)))
	}
	return out.Flush()
}

// changed is one field of a state.
type changed struct {
	Service string `json:"service"`
	recheck.Difference
}

// differences are the fields in which two sets of states differ.
func differences(before, after []playback.State) []changed {
	var all []changed
	for i, st := range after {
		for _, d := range recheck.Compare("", before[i].State, st.State) {
			all = append(all, changed{st.Service, d})
		}
	}
	return all
}

// frozen are states that a later event does not change.
func frozen(p *playback.Session) []playback.State {
	all := p.States()
	for i, st := range all {
		if raw, err := json.Marshal(st.State); err == nil {
			all[i].State = json.RawMessage(raw)
		}
	}
	return all
}

func (s *shell) changes(p *playback.Session, events []envelope.Event, o replayOptions) error {
	before, err := upTo(events, "--from", o.from, 0)
	if err != nil {
		return err
	}
	for _, ev := range before {
		p.Apply(ev)
	}
	was := frozen(p)
	for _, ev := range events[len(before):] {
		p.Apply(ev)
	}
	all := differences(was, p.States())
	from, to := before[len(before)-1].Cursor, events[len(events)-1].Cursor
	if o.json {
		return s.writeJSON(struct {
			Session     session.ID `json:"session"`
			From        uint64     `json:"from"`
			To          uint64     `json:"to"`
			Differences []changed  `json:"differences"`
		}{p.ID, from, to, append([]changed{}, all...)})
	}
	out := bufio.NewWriter(s.out)
	fmt.Fprintf(out, "%s from event %d to %d: %s\n", p.ID, from, to, plural(len(events)-len(before), "event", "events"))
	showChanges(out, all, len(all))
	return out.Flush()
}

// showChanges prints at most some changed fields.
func showChanges(out io.Writer, all []changed, most int) {
	for i, c := range all {
		if i == most {
			fmt.Fprintf(out, "    and %d more\n", len(all)-most)
			return
		}
		fmt.Fprintf(out, "    %s %s: %s → %s\n", c.Service, flat(c.Field), shortValue(c.Then), shortValue(c.Now))
	}
}

const maxValue = 100

// shortValue is a JSON value as a line shows it.
func shortValue(v string) string {
	if v == "" {
		return "–"
	}
	if r := []rune(v); len(r) > maxValue {
		v = string(r[:maxValue]) + "…"
	}
	return flat(v)
}
