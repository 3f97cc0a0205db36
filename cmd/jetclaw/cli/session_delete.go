package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations"
)

// deleteOptions are the flags of `sessions delete`.
type deleteOptions struct {
	yes  bool
	json bool
}

func (s *shell) sessionsDelete() *cobra.Command {
	var o deleteOptions
	c := &cobra.Command{
		Use:   "delete SESSION",
		Short: "Delete a conversation for good",
		Long: `Removes a session: its events, what was folded from them, large texts and attachments, and what the search knows of it.
No archive is written; "jetclaw sessions export" writes one before. A tombstone stays in the journal, with what the session
has cost, so that "jetclaw usage" stays complete. A new message begins afresh. What was forked from it has its past still, and is
named: delete that, too. The bytes on the disk are given free, not overwritten.

It says what goes and asks; without a terminal it needs --yes. A session that is at work is not deleted: stop it first. One that
cannot be read any more, as an event is missing, is. When it was interrupted, say the same again: it goes on where it was.

SESSION is as in chat --session: ` + sessionHelp + `.

With --json it prints one object: session, events and messages (that were there), purged (events that were removed now), resumed (it
was deleted before, and this went on with it) and forks (sessions that have its past).`,
		Example: "  jetclaw sessions delete work\n  jetclaw sessions delete main.telegram.mybot.12345 --yes",
		Args:    oneSession,
		RunE:    func(c *cobra.Command, args []string) error { return s.deleteSession(c.Context(), args[0], o) },
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeSessions
	return c
}

// deleted is what `sessions delete --json` prints.
type deleted struct {
	Session  session.ID `json:"session"`
	Events   int        `json:"events"`
	Messages int        `json:"messages"`
	Purged   uint64     `json:"purged"`
	Resumed  bool       `json:"resumed,omitempty"`

	Forks []session.ID `json:"forks,omitempty"`
}

func (s *shell) deleteSession(ctx context.Context, name string, o deleteOptions) error {
	id, err := parseSessionArgument("SESSION", name)
	if err != nil {
		return err
	}
	if !o.yes && (!s.inTTY || !s.errTTY) {
		return usagef("there is no terminal to ask at: say --yes to delete %s for good", id)
	}
	return s.visit(ctx, "sessions delete", func(ctx context.Context, e app.Env, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		err = s.deleteOn(ctx, c, retention.OnBus(c.Conn, owner), id, o)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if cerr := owner.Close(end); cerr != nil {
			e.Log.Debug("leave the bus", "error", cerr) // everything was answered: nothing is lost with the connection
		}
		return err
	})
}

func (s *shell) deleteOn(ctx context.Context, c app.Client, b retention.SingleBus, id session.ID, o deleteOptions) error {
	one, err := retention.Look(ctx, b, id)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return s.noSession(ctx, c.Conn, id)
	case err != nil:
		return err
	case one.AtWork != "":
		return stopFirst(id, one.AtWork)
	}
	if !o.yes && !one.Gone {
		goes(s.err, one)
		if !s.confirm(ctx, fmt.Sprintf("delete %s for good?", id)) {
			return &toldError{exitFailed}
		}
	}
	purged, err := one.Delete(ctx, b, "cli")
	if fault.KindOf(err) == fault.Conflict {
		if now, lerr := retention.Look(ctx, b, id); lerr == nil && now.AtWork != "" {
			return stopFirst(id, now.AtWork)
		}
		return fmt.Errorf("%s has got news meanwhile; nothing was deleted: look at it and say the same again", id)
	}
	if err != nil {
		return err
	}
	d := deleted{Session: id, Events: one.Events, Messages: one.Messages, Purged: purged, Resumed: one.Gone}
	if one.Gone { // the tombstone alone is there
		d.Events = 0
	}
	if d.Forks, err = s.forget(ctx, c, id); err != nil {
		fmt.Fprintf(s.err, "note: the read model does not say whether it has forgotten %s, nor what was forked from that; "+
			"`jetclaw sessions list` lets it catch up\n", id)
	}
	for _, f := range d.Forks {
		fmt.Fprintf(s.err, "note: %s has its past still, as a fork; to delete that, too: jetclaw sessions delete %s\n", f, shortName(f))
	}
	if o.json {
		return s.writeJSON(d)
	}
	if one.Gone && purged == 0 {
		_, err = fmt.Fprintf(s.out, "%s was deleted before; nothing of it is left\n", id)
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s is deleted: %s removed\n", id, countedBig(int(purged), "event"))
	return err
}

// forgetTime is how long the read model is waited for.
const forgetTime = 10 * time.Second

// forget waits until the read model has seen a tombstone, as its file has what was said until then, and returns the sessions that
// began as forks of the session or of one another.
func (s *shell) forget(ctx context.Context, c app.Client, id session.ID) (forks []session.ID, err error) {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	stone, err := c.Conn.Journal().Last(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := func(st conversations.Status) bool { return isBuilt(st) && st.Behind.Cursor >= stone }
	if _, err := s.readUntil(ctx, c.Conn, seen); err != nil {
		return nil, err
	}
	l, err := listPages(ctx, c.Conn, conversations.ListRequest{}, math.MaxInt)
	if err != nil {
		return nil, err
	}
	for from := []session.ID{id}; len(from) > 0; from = from[1:] {
		for _, f := range l.Conversations {
			if f.ForkOf == from[0] && !slices.Contains(forks, f.Session) {
				forks, from = append(forks, f.Session), append(from, f.Session)
			}
		}
	}
	return forks, nil
}

// stopFirst says why a session is not deleted, and what to do.
func stopFirst(id session.ID, atWork string) error {
	return fmt.Errorf("%s is not deleted, as %s\nstop it first: `jetclaw chat --session %s`, then /stop; or wait until it is done", id,
		strings.TrimPrefix(atWork, "it is at work: "), id)
}

// goes tells what a deletion would remove.
func goes(out io.Writer, one *retention.Single) {
	fmt.Fprintf(out, "%s: %s, of which %s, from %s to %s\n", one.Session, countedBig(one.Events, "event"), countedBig(one.Messages, "message"),
		one.First.Local().Format(time.DateTime), one.Last.Local().Format(time.DateTime))
	for _, w := range one.Open {
		fmt.Fprintf(out, "still under way: %s since %s\n", w.Kind, w.Since.Local().Format(time.DateTime))
	}
}
