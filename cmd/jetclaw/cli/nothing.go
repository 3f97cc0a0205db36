package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// parseSpan reads a duration; it may be in days.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// nothing says why no event is shown.
func (s *shell) nothing(ctx context.Context, conn *bus.Conn, o eventsOptions, part bus.ReplayOptions) error {
	usage, err := conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	if usage.Last == 0 {
		fmt.Fprintln(s.err, "note: the journal is empty")
		return nil
	}
	if part.From > usage.Last {
		fmt.Fprintf(s.err, "note: the journal ends at cursor %d\n", usage.Last)
		return nil
	}
	if part.Session == "" {
		fmt.Fprintf(s.err, "note: nothing has happened in the last %s\n", o.since)
		return nil
	}
	last, err := conn.Journal().Last(ctx, part.Session)
	if err != nil {
		return err
	}
	if last > 0 {
		fmt.Fprintf(s.err, "note: the last event of %s has cursor %d\n", part.Session, last)
		return nil
	}
	near, err := namesakes(ctx, conn, part.Session)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "note: the journal has no session %s\n", part.Session)
	if len(near) > 0 {
		fmt.Fprintf(s.err, "did you mean %s?\n", strings.Join(near, " or "))
	}
	return nil
}

const namesakesShown = 5

// namesakes are sessions of the same last name.
func namesakes(ctx context.Context, conn *bus.Conn, id session.ID) ([]string, error) {
	name := string(id)[strings.LastIndexByte(string(id), '.'):]
	found := map[string]bool{}
	err := conn.Replay(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
		if strings.HasSuffix(string(e.Session), name) {
			found[string(e.Session)] = true
		}
		return nil
	})
	all := slices.Sorted(maps.Keys(found))
	return all[:min(len(all), namesakesShown)], err
}
