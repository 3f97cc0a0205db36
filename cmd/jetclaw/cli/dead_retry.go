package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// deadOptions are the flags of `dead retry` and `dead drop`.
type deadOptions struct {
	all  bool
	yes  bool
	json bool
}

// settledLetter is what became of a letter.
type settledLetter struct {
	Number  uint64     `json:"number"`
	Service string     `json:"service"`
	Session session.ID `json:"session,omitempty"`
	Outcome string     `json:"outcome"` // looked, waiting, given_up, unknown; dropped, kept
	Text    string     `json:"text"`
}

// chosen is one letter by its number, or all.
func (o deadOptions) args(c *cobra.Command, args []string) (n uint64, err error) {
	switch {
	case o.all && len(args) > 0:
		return 0, usagef("say a number or --all, not both")
	case o.all:
		return 0, nil
	}
	return oneLetter(c, args)
}

func (o deadOptions) choose(ctx context.Context, owner *bus.Conn, n uint64) ([]bus.Dead, error) {
	all, err := letters(ctx, owner)
	if err != nil || o.all {
		return all, err
	}
	d, err := pick(all, n)
	return []bus.Dead{d}, err
}

func (s *shell) deadRetry() *cobra.Command {
	var o deadOptions
	c := &cobra.Command{
		Use:   "retry NUMBER | --all",
		Short: "Have a session looked at again",
		Long: `Rings the service for the session once more and removes the letter. It is durable: without a daemon the service looks when it
is started. A session that the service cannot make anything of is given up once more, as a new letter, which is told here if it
comes within a moment. Of several letters for one session and service one ring is enough.

Exit code 1: a session was given up again, or is not known any more (its letter stays).

With --json it prints one object: letters, each with number, service, session, outcome (looked: the service has looked; waiting: it
will, when it runs or gets to it; given_up: once more; unknown: there is no session to ring for) and text.`,
		Example: "  jetclaw dead retry 3\n  jetclaw dead retry --all",
		RunE: func(c *cobra.Command, args []string) error {
			n, err := o.args(c, args)
			if err != nil {
				return err
			}
			return s.inOwn(c.Context(), "dead retry", func(ctx context.Context, client app.Client, owner *bus.Conn) error {
				chosen, err := o.choose(ctx, owner, n)
				if err != nil {
					return err
				}
				done, err := s.retry(ctx, client, owner, chosen)
				return errors.Join(s.showSettled(done, o.json), err, failedAgain(done))
			})
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "all of them")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

// failedAgain is the exit code of a retry.
func failedAgain(done []settledLetter) error {
	for _, d := range done {
		if d.Outcome == outcomeGivenUp || d.Outcome == outcomeUnknown {
			return &toldError{exitFailed}
		}
	}
	return nil
}

const (
	outcomeLooked  = "looked"
	outcomeWaiting = "waiting"
	outcomeGivenUp = "given_up"
	outcomeUnknown = "unknown"
	outcomeDropped = "dropped"

	retryTime = 5 * time.Second // for the services to look
	retryLook = 50 * time.Millisecond
)

// ring is one service and session.
type ring struct {
	service string
	session session.ID
}

// retry rings for letters, removes them, and waits a moment for what comes of it.
func (s *shell) retry(ctx context.Context, c app.Client, owner *bus.Conn, chosen []bus.Dead) ([]settledLetter, error) {
	newest, rung := uint64(0), map[ring]bool{}
	all, err := letters(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		newest = max(newest, d.Seq)
	}
	done := make([]settledLetter, 0, len(chosen))
	for _, d := range chosen {
		l := settledLetter{Number: d.Seq, Service: d.Service, Session: d.Session, Outcome: outcomeWaiting}
		if d.Session == "" {
			l.Outcome = outcomeUnknown
			l.Text = "its session is not known any more: `jetclaw doctor` finds sessions that wait; `jetclaw dead drop` removes the letter"
			done = append(done, l)
			continue
		}
		if k := (ring{d.Service, d.Session}); !rung[k] {
			if err := bus.Ring(ctx, owner, d.Service, d.Session); err != nil {
				return done, err
			}
			rung[k] = true
		}
		if err := bus.DropDead(ctx, owner, d.Seq); err != nil && !errors.Is(err, bus.ErrNoDead) {
			return done, err
		}
		done = append(done, l)
	}
	found := map[ring]string{}
	if c.At != "" {
		if found, err = s.settling(ctx, owner, rung, newest); err != nil {
			return done, err
		}
	}
	for i, l := range done {
		if l.Outcome == outcomeWaiting {
			done[i] = becameOf(l, found, c.At != "")
		}
	}
	return done, nil
}

// becameOf says what has become of a ring.
func becameOf(l settledLetter, found map[ring]string, daemon bool) settledLetter {
	reason, looked := found[ring{l.Service, l.Session}]
	switch {
	case looked && reason == "":
		l.Outcome, l.Text = outcomeLooked, "rung, and it has looked: whatever was due is under way"
	case looked:
		l.Outcome, l.Text = outcomeGivenUp, "rung, and given up again: "+reason
	case daemon:
		l.Text = "rung; it has not settled that yet: it is at work, or not running"
	default:
		l.Text = "rung; no daemon runs: it looks when one is started"
	}
	return l
}

// settling waits until the services have settled the rings, for a moment. It returns what they made of them: a reason when they
// have given the session up again, "" when not.
func (s *shell) settling(ctx context.Context, owner *bus.Conn, rung map[ring]bool, newest uint64) (map[ring]string, error) {
	found := map[ring]string{}
	tick := time.NewTicker(retryLook)
	defer tick.Stop()
	for until := time.Now().Add(retryTime); len(found) < len(rung) && time.Now().Before(until); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
		for k := range rung {
			if _, ok := found[k]; ok {
				continue
			}
			timers, err := bus.TimersOf(ctx, owner, k.session)
			if err != nil {
				return found, err
			}
			open := false
			for _, t := range timers {
				open = open || t.Service == k.service && t.At.IsZero()
			}
			if !open {
				found[k] = ""
			}
		}
	}
	// A ring that was given up is gone from TIMERS a moment before its letter is stored.
	select {
	case <-time.After(retryLook):
	case <-ctx.Done():
		return found, context.Cause(ctx)
	}
	err := owner.Dead(ctx, func(d bus.Dead) error {
		if k := (ring{d.Service, d.Session}); d.Seq > newest && rung[k] {
			found[k] = d.Reason
		}
		return nil
	})
	return found, err
}

func (s *shell) showSettled(done []settledLetter, asJSON bool) error {
	if asJSON {
		return s.writeJSON(struct {
			Letters []settledLetter `json:"letters"`
		}{append([]settledLetter{}, done...)})
	}
	if len(done) == 0 {
		fmt.Fprintln(s.err, "note: no doorbell was given up")
	}
	for _, l := range done {
		where := flat(l.Service)
		if l.Session != "" {
			where += " for " + string(l.Session)
		}
		if _, err := fmt.Fprintf(s.out, "%d: %s: %s\n", l.Number, where, flat(l.Text)); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) deadDrop() *cobra.Command {
	var o deadOptions
	c := &cobra.Command{
		Use:   "drop NUMBER | --all",
		Short: "Remove letters about doorbells that were given up",
		Long: `Removes a letter. Nothing else changes: the event stays in the journal, and its session waits until something new happens in it.
With --all it asks on a terminal, and needs --yes without one.

With --json it prints one object: letters, each with number, service, session, outcome (dropped) and text.`,
		Example: "  jetclaw dead drop 3\n  jetclaw dead drop --all --yes",
		RunE: func(c *cobra.Command, args []string) error {
			n, err := o.args(c, args)
			if err != nil {
				return err
			}
			if o.all && !o.yes && (!s.inTTY || !s.errTTY) {
				return usagef("there is no terminal to ask at: say --yes to remove all letters")
			}
			return s.inOwn(c.Context(), "dead drop", func(ctx context.Context, _ app.Client, owner *bus.Conn) error {
				chosen, err := o.choose(ctx, owner, n)
				if err != nil {
					return err
				}
				if o.all && !o.yes && len(chosen) > 0 && !s.confirm(ctx, fmt.Sprintf("remove %s?", plural(len(chosen), "letter", "letters"))) {
					return &toldError{exitFailed}
				}
				done := make([]settledLetter, 0, len(chosen))
				for _, d := range chosen {
					if err := bus.DropDead(ctx, owner, d.Seq); err != nil && !errors.Is(err, bus.ErrNoDead) {
						return errors.Join(s.showSettled(done, o.json), err)
					}
					done = append(done, settledLetter{Number: d.Seq, Service: d.Service, Session: d.Session, Outcome: outcomeDropped, Text: "removed"})
				}
				return s.showSettled(done, o.json)
			})
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "all of them")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c)
	return c
}
