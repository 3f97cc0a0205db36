package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/playback"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// replayChecked is what `replay --check --json` prints.
type replayChecked struct {
	OK bool `json:"ok"`
	playback.Report
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"events_per_second"`
}

func (s *shell) replayAll(ctx context.Context, o replayOptions) error {
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
		conn, leave := fastest(ctx, c)
		defer leave()
		u, err := conn.Journal().Usage(ctx)
		if err != nil {
			return err
		}
		switch {
		case u.Messages == 0:
			return fmt.Errorf("nothing was compared: the journal has no events")
		case o.to > u.Last || o.to != 0 && o.to < u.First:
			return usagef("--to %d lies outside of the journal, which has %d to %d", o.to, u.First, u.Last)
		}
		progress := s.progress()
		defer progress.end()
		began := time.Now()
		pass := playback.Fold
		if o.check {
			pass = playback.Check
		}
		r, err := pass(ctx, conn, playback.Options{
			To: o.to, Machines: machines, Progress: func(done int64) { progress.at(int(done)) },
		})
		progress.end()
		if err != nil {
			return err
		}
		if !o.check {
			return s.showFolded(r, time.Since(began), o.json)
		}
		return s.toldIn(r, time.Since(began), o.json)
	})
}

// fastest is the connection that reads a whole journal in the shortest time: the owner's, where its key is at hand.
func fastest(ctx context.Context, c app.Client) (conn *bus.Conn, leave func()) {
	owner, err := c.Admin(ctx)
	if err != nil {
		return c.Conn, func() {}
	}
	return owner, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		_ = owner.Close(end) // everything was answered: nothing is lost with the connection
	}
}

// told prints the result of a check of one session.
func (s *shell) told(r playback.Report, asJSON bool) error { return s.toldIn(r, 0, asJSON) }

func (s *shell) toldIn(r playback.Report, took time.Duration, asJSON bool) error {
	c := replayChecked{OK: r.OK(), Report: r, Seconds: took.Seconds()}
	if took > 0 {
		c.Rate = float64(r.Events) / took.Seconds()
	}
	if asJSON {
		if err := s.writeJSON(c); err != nil {
			return err
		}
	} else {
		out := bufio.NewWriter(s.out)
		showChecked(out, c)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if !c.OK {
		return &toldError{exitFailed}
	}
	return nil
}

// folded is what `replay --all --json` prints without --check.
type folded struct {
	OK       bool    `json:"ok"`
	Events   int     `json:"events"`
	Sessions int     `json:"sessions"`
	Active   int     `json:"active"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"events_per_second"`
}

func (s *shell) showFolded(r playback.Report, took time.Duration, asJSON bool) error {
	f := folded{true, r.Events, r.Sessions, r.Active, took.Seconds(), float64(r.Events) / took.Seconds()}
	if asJSON {
		return s.writeJSON(f)
	}
	_, err := fmt.Fprintf(s.out, "%s of %s folded in %.1f s, %.0f a second; something is under way or waits in %d of them\n",
		plural(f.Events, "event", "events"), plural(f.Sessions, "session", "sessions"), f.Seconds, f.Rate, f.Active)
	return err
}

const othersShown = 20

func showChecked(out io.Writer, c replayChecked) {
	for i, f := range c.Others {
		if i == othersShown {
			fmt.Fprintf(out, "and %d more\n", len(c.Others)-othersShown)
			break
		}
		fmt.Fprintln(out, otherText(f))
	}
	if f := c.First; f != nil {
		fmt.Fprintf(out, "event %d (%s, id %s) of %s: today's %s would do something else\n", f.Cursor, flat(f.Type), flat(f.ID), f.Session, f.Service)
		for _, d := range f.Differences {
			fmt.Fprintf(out, "    %s\n        then  %s\n        now   %s\n", flat(d.Field), shortValue(d.Then), shortValue(d.Now))
		}
	}
	fmt.Fprintf(out, "%s of %s: %d decided again, %d outcomes that are asked for today, too, %d facts from outside",
		plural(c.Events, "event", "events"), plural(c.Sessions, "session", "sessions"), c.Decided, c.Given, c.Facts)
	if c.Unjudged > 0 {
		fmt.Fprintf(out, ", %d not judged", c.Unjudged)
	}
	if c.Seconds > 0 {
		fmt.Fprintf(out, "; %.1f s, %.0f events a second", c.Seconds, c.Rate)
	}
	fmt.Fprintln(out)
	switch {
	case c.OK:
		fmt.Fprintln(out, "no difference")
	case c.First != nil:
		fmt.Fprintf(out, "the first difference is at event %d; nothing above it was judged\n", c.First.Cursor)
	case c.Compared() == 0:
		fmt.Fprintln(out, "nothing was compared: no machine has appended any of these events")
	default:
		fmt.Fprintln(out, "no difference where it could be judged")
	}
}

func otherText(f playback.Finding) string {
	switch f.Kind {
	case playback.Hole:
		return fmt.Sprintf("event %d (%s) of %s follows on event %d, which is not in the journal, and no tombstone explains it",
			f.Cursor, flat(f.Type), f.Session, f.Missing)
	case playback.Newer:
		return fmt.Sprintf("event %d (%s) of %s was written by a newer jetclaw: what follows in its session cannot be judged",
			f.Cursor, flat(f.Type), f.Session)
	case playback.NoEvent:
		return fmt.Sprintf("message %d of the journal is no event: %s", f.Cursor, flat(f.Text))
	case playback.Different:
	}
	return fmt.Sprintf("event %d of %s: %s", f.Cursor, f.Session, f.Kind)
}

// stepped is what `replay --step --json` prints of one event.
type stepped struct {
	Cursor  uint64            `json:"cursor"`
	Type    string            `json:"type"`
	Time    time.Time         `json:"time"`
	Changes []changed         `json:"changes"`
	Check   *playback.Finding `json:"check,omitempty"` // with --check: what today's machine would do instead
}

const changesShown = 12

// steps shows event by event what it changes. At a terminal the person says when to go on. With --check it ends with the verdict.
func (s *shell) steps(ctx context.Context, p *playback.Session, events []envelope.Event, o replayOptions) error {
	ask := s.inTTY && s.outTTY && !o.json
	in := bufio.NewScanner(s.in)
	was := frozen(p)
	r := playback.Report{Sessions: 1}
	for i, ev := range events {
		var found *playback.Finding
		if o.check {
			if found = p.Judge(ev, &r.Count); found != nil && r.First == nil {
				r.First = found
			}
		} else {
			p.Apply(ev)
		}
		is := frozen(p)
		all := differences(was, is)
		was = is
		var err error
		if o.json {
			err = s.writeJSON(stepped{ev.Cursor, ev.Type(), ev.Time, append([]changed{}, all...), found})
		} else {
			err = s.showStep(ev, all, found)
		}
		if err != nil {
			return err
		}
		if ask && i < len(events)-1 {
			fmt.Fprint(s.err, "Enter: next, q and Enter: quit ")
			if !in.Scan() || strings.HasPrefix(in.Text(), "q") || ctx.Err() != nil {
				break
			}
		}
	}
	if !o.check {
		return nil
	}
	r.Others = append(r.Others, p.Unjudged()...)
	return s.told(r, o.json)
}

func (s *shell) showStep(ev envelope.Event, all []changed, found *playback.Finding) error {
	out := bufio.NewWriter(s.out)
	if _, err := out.WriteString(textLine(ev, s.colour(s.outTTY))); err != nil {
		return err
	}
	showChanges(out, all, changesShown)
	if found != nil {
		fmt.Fprintf(out, "    today's %s would do something else:\n", found.Service)
		for _, d := range found.Differences {
			fmt.Fprintf(out, "      %s: then %s, now %s\n", flat(d.Field), shortValue(d.Then), shortValue(d.Now))
		}
	}
	return out.Flush()
}
