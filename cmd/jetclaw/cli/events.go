package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// eventsOptions are the flags of `events`.
type eventsOptions struct {
	types   []string
	session string
	agent   string
	channel string
	since   string
	until   string
	limit   int // 0: all
	last    int // 0: all
	follow  bool
	json    bool
}

func (s *shell) eventsCommand() *cobra.Command {
	var o eventsOptions
	c := &cobra.Command{
		Use:   "events",
		Short: "Show what happened",
		Long: `Shows the journal, decoded: one event a line, the oldest first. It works beside a running daemon and without one,
but not beside a conversation that has the home for itself: start "jetclaw run" to use a home from several terminals.

An event is shown when it fits all filters. A type fits with its version and without (call.completed, call.completed.v1); * in
it stands for any text and ? for any character, so that turn.* is all about turns. A session with * or ? is such a pattern
for full session ids: main.telegram.* is all that the agent main does in Telegram.

--since and --until take a cursor, a time by this machine's clock, or how long ago: 4711, "2026-09-01 15:04", 2026-09-01,
2026-09-01T15:04:05Z, 90m, 24h, 5d. What came after a cursor is shown, and up to one, the event itself included. A day is all of it.

With --follow it goes on with what comes. When the daemon goes away it says so, and waits for the next one, wherever that
listens: each event is shown once, in order. Where no daemon runs it shows what there is, leaves the home free, and waits.

With --json each line is an object with cursor, time, session, type, id, cause, prev and data.`,
		Example: `  jetclaw events --last 20
  jetclaw events --session default --since 1h
  jetclaw events --type "turn.*" --type call.completed --agent main
  jetclaw events --session "main.telegram.*" --since 2026-09-01 --until 2026-09-02
  jetclaw events --since 4711 --follow --json | jq .type`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.events(c.Context(), o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.types, "type", nil, "only events of this type (turn.*, call.completed); may be given several times")
	f.StringVar(&o.session, "session", "", "only this session: "+sessionHelp+"; with * or ? a pattern for full ids")
	f.StringVar(&o.agent, "agent", "", "only sessions of this agent")
	f.StringVar(&o.channel, "channel", "", "only sessions of this channel (terminal, telegram, http)")
	f.StringVar(&o.since, "since", "", "what came after a cursor (4711), since a time, or in the last while (10m, 24h, 5d)")
	f.StringVar(&o.until, "until", "", "what came up to a cursor or a time, or longer ago than this")
	f.IntVar(&o.limit, "limit", 0, "only the first `N`; with --follow it then ends")
	f.IntVar(&o.last, "last", 0, "only the newest `N`; with --follow, and what comes")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what comes")
	f.BoolVar(&o.json, "json", false, "one JSON object a line")
	noCompletion(c, "since", "until", "limit", "last")
	s.completeSessionFlag(c)
	s.completeEvents(c)
	return c
}

func (s *shell) events(ctx context.Context, o eventsOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	want, err := o.wanted(time.Now())
	if err != nil {
		return err
	}
	least := slog.LevelWarn
	if o.follow {
		least = slog.LevelError // that the daemon is away is told in words
	}
	e, err := s.env("events", least)
	if err != nil {
		return err
	}
	s.noteUnknownTypes(want.types)
	out := bufio.NewWriter(s.out)
	p := &printer{out: out, json: o.json, colour: s.colour(s.outTTY), limit: o.limit}
	if o.follow {
		s.noteUnknownNames(want, e.Config)
		w := watch{want: want, last: o.last, show: func(e envelope.Event) error {
			return errors.Join(p.print(e), out.Flush())
		}}
		return w.follow(ctx, e)
	}
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		return s.pastEvents(ctx, c.Conn, want, o.last, p)
	})
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

type printer struct {
	out    io.Writer
	json   bool
	colour bool
	limit  int // 0: none

	printed int
}

// print prints an event, and returns errSeenEnough after the last one.
func (p *printer) print(e envelope.Event) error {
	line := []byte(nil)
	if p.json {
		var err error
		if line, err = envelope.LineOf(e); err != nil {
			return err
		}
		line = append(jsonForTerminal(line), '\n')
	} else {
		line = []byte(textLine(e, p.colour))
	}
	if _, err := p.out.Write(line); err != nil {
		return err
	}
	if p.printed++; p.printed == p.limit {
		return errSeenEnough
	}
	return nil
}
