package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations"
)

// reading lets fn ask the read model: the daemon's, or one in this process that has caught up.
func (s *shell) reading(ctx context.Context, command string, fn func(context.Context, app.Client) error) error {
	return s.readingSoon(ctx, command, func(ctx context.Context, c app.Client) error {
		if c.At == "" {
			// One that cannot be opened is told of by fn, who may do without.
			if _, err := s.readUntil(ctx, c.Conn, knowsAll); err != nil && !noReader(err) {
				return err
			}
		}
		return fn(ctx, c)
	})
}

// readingSoon is reading for who does not need all that has happened.
func (s *shell) readingSoon(ctx context.Context, command string, fn func(context.Context, app.Client) error) error {
	e, err := s.env(command, slog.LevelWarn)
	if err != nil {
		return err
	}
	e.Silent = true
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithReading(ctx, fn)
}

// catchingUp is how often the read model is asked how far it is.
const catchingUp = 20 * time.Millisecond

// knowsAll says that the read model has seen the whole journal, and isBuilt that it is not being made anew: where much happens,
// something is always missing.
func knowsAll(st conversations.Status) bool { return isBuilt(st) && st.Behind.Events == 0 }
func isBuilt(st conversations.Status) bool  { return !st.Rebuilding }

// readUntil waits for the read model, and tells how far it is when that takes longer than a moment.
func (s *shell) readUntil(ctx context.Context, conn *bus.Conn, done func(conversations.Status) bool) (conversations.Status, error) {
	progress := s.progress()
	defer progress.end()
	tick := time.NewTicker(catchingUp)
	defer tick.Stop()
	var first uint64
	for began := true; ; began = false {
		st, err := bus.Ask[conversations.Status](ctx, conn, "conversations", "status", conversations.StatusRequest{})
		if err != nil {
			return st, err
		}
		if done(st) {
			return st, nil
		}
		if began {
			first = st.Behind.Cursor
		}
		if st.Behind.Cursor < first { // it has begun again
			first = 0
		}
		progress.at(int(st.Behind.Cursor - first))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

// behind tells a person that an answer is not of now.
func (s *shell) behind(b conversations.Behind) {
	if b.Events > 0 {
		fmt.Fprintf(s.err, "note: the read model is %s behind the journal\n", countedBig(int(b.Events), "event"))
	}
}

// noReader says whether an error means that nobody answers for the read model: a daemon that does not have it, or is busy.
func noReader(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Unavailable || k == fault.Timeout
}

// unknownSession is what to say of a session that the read model does not know: nil when the journal does.
func (s *shell) unknownSession(ctx context.Context, conn *bus.Conn, id session.ID) error {
	last, err := conn.Journal().Last(ctx, id)
	switch {
	case err != nil:
		return err
	case last > 0:
		return nil
	}
	return s.noSession(ctx, conn, id)
}

// countedBig is counted with groups of three digits.
func countedBig(n int, thing string) string {
	if n == 1 {
		return counted(n, thing)
	}
	return grouped(n) + " " + thing + "s"
}

// grouped is a number in groups of three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// shortened is a text on one line of at most n characters.
func shortened(text string, n int) string {
	r := []rune(flat(text))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

// ago is how long ago something was.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return span(now.Sub(at)) + " ago"
}

// positive refuses a limit that is none.
func positive(limit int) error {
	if limit < 1 {
		return usagef("--limit %d: at least one", limit)
	}
	return nil
}
