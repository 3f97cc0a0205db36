package cli

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// eventsOptions are the flags of `events`.
type eventsOptions struct {
	session string
	since   string
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

With --json each line is an object with cursor, time, session, type, id, cause, prev and data.`,
		Example: `  jetclaw events
  jetclaw events --session default --since 1h
  jetclaw events --since 4711 --follow --json | jq .type`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.events(c.Context(), o) },
	}
	c.Flags().StringVar(&o.session, "session", "", "only this session: "+sessionHelp)
	c.Flags().StringVar(&o.since, "since", "", "what came after a cursor (4711), or in the last while (10m, 24h, 5d)")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what comes")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object a line")
	noCompletion(c, "session", "since")
	return c
}

// part reads which part of the journal is meant.
func (o eventsOptions) part(now time.Time) (r bus.ReplayOptions, err error) {
	if o.session != "" {
		if r.Session, err = parseSession(o.session); err != nil {
			return r, err
		}
	}
	if o.since == "" {
		return r, nil
	}
	if cursor, err := strconv.ParseUint(o.since, 10, 63); err == nil {
		r.From = cursor + 1
		return r, nil
	}
	d, err := parseSpan(o.since)
	if err != nil || d < 0 {
		return r, usagef("--since %s is neither a cursor (4711) nor a duration (10m, 24h, 5d)", o.since)
	}
	r.Since = now.Add(-d)
	return r, nil
}

func (s *shell) events(ctx context.Context, o eventsOptions) error {
	part, err := o.part(time.Now())
	if err != nil {
		return err
	}
	e, err := s.env("events", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := bufio.NewWriter(s.out)
	p := printer{out: out, json: o.json, colour: s.colour(s.outTTY)}
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		if !o.follow {
			if err := c.Conn.Replay(ctx, part, p.print); err != nil || p.printed {
				return err
			}
			return s.nothing(ctx, c.Conn, o, part)
		}
		return follow(ctx, c.Conn, part, func(e envelope.Event) error {
			if err := p.print(e); err != nil {
				return err
			}
			return out.Flush()
		})
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

	printed bool
}

func (p *printer) print(e envelope.Event) error {
	p.printed = true
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
	_, err := p.out.Write(line)
	return err
}
