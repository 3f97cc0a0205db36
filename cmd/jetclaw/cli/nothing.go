package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
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
func (s *shell) nothing(ctx context.Context, conn *bus.Conn, w wanted, u bus.Usage) error {
	switch {
	case u.Last == 0:
		fmt.Fprintln(s.err, "note: the journal is empty")
		return nil
	case w.part.From > u.Last:
		fmt.Fprintf(s.err, "note: the journal ends at cursor %d\n", u.Last)
		return nil
	}
	if id := w.part.Session; id != "" {
		last, err := conn.Journal().Last(ctx, id)
		if err != nil {
			return err
		}
		if last == 0 {
			near, err := namesakes(ctx, conn, id)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.err, "note: the journal has no session %s\n", id)
			if len(near) > 0 {
				fmt.Fprintf(s.err, "did you mean %s?\n", strings.Join(near, " or "))
			}
			return nil
		}
		if w.part.From > last {
			fmt.Fprintf(s.err, "note: the last event of %s has cursor %d\n", id, last)
			return nil
		}
	}
	have := holdings{agents: map[string]uint64{}, channels: map[string]uint64{}, sessions: map[string]uint64{}, kinds: map[string]uint64{}}
	progress := s.progress()
	defer progress.end()
	err := conn.Replay(ctx, bus.ReplayOptions{Session: w.part.Session}, func(e envelope.Event) error {
		progress.step()
		have.add(e)
		return nil
	})
	if err != nil {
		return err
	}
	progress.end()
	fmt.Fprintf(s.err, "note: %s\n", have.lacks(w, u))
	return nil
}

// holdings is what a journal has, each with the cursor of its last event.
type holdings struct {
	agents, channels, sessions, kinds map[string]uint64
	last                              envelope.Event
}

func (h *holdings) add(e envelope.Event) {
	h.agents[e.Session.Agent()], h.channels[e.Session.Channel()] = e.Cursor, e.Cursor
	h.sessions[string(e.Session)], h.kinds[e.Kind()] = e.Cursor, e.Cursor
	h.last = e
}

// lacks names the first filter that nothing at all fits, and what there is for it.
func (h *holdings) lacks(w wanted, u bus.Usage) string {
	where := "the journal"
	if w.part.Session != "" {
		where = string(w.part.Session)
	}
	fits := func(one wanted, names map[string]uint64, event func(name string) envelope.Event) bool {
		for n := range names {
			if one.match(event(n)) {
				return true
			}
		}
		return false
	}
	ofSession := func(name string) envelope.Event { return envelope.Event{Session: session.ID(name)} }
	switch {
	case w.agent != "" && !fits(wanted{agent: w.agent}, h.sessions, ofSession):
		return fmt.Sprintf("%s has no events of an agent %q; %s", where, w.agent, nearest(w.agent, h.agents))
	case w.channel != "" && !fits(wanted{channel: w.channel}, h.sessions, ofSession):
		return fmt.Sprintf("%s has no events of a channel %q; %s", where, w.channel, nearest(w.channel, h.channels))
	case w.session != "" && !fits(wanted{session: w.session}, h.sessions, ofSession):
		return fmt.Sprintf("the journal has no session that fits %q, which is a pattern for full ids; there are %s", w.session, newestOf(h.sessions))
	case len(w.types) > 0 && !fits(wanted{types: w.types}, h.kinds, func(name string) envelope.Event {
		return envelope.Event{Body: envelope.Unknown{Type: name}}
	}):
		return fmt.Sprintf("%s has no events of type %s; there are %s", where, strings.Join(w.types, " or "), newestOf(h.kinds))
	case w.agent != "" || w.channel != "" || w.session != "" || len(w.types) > 0:
		return fmt.Sprintf("no event fits all of that; %s has cursors %d to %d", where, u.First, u.Last)
	}
	return fmt.Sprintf("nothing has happened in that time; the last event of %s is %d, of %s", where, h.last.Cursor,
		h.last.Time.Local().Format(time.DateTime))
}

// nearest is the name that was probably meant, or those that there are.
func nearest(name string, names map[string]uint64) string {
	if n := suggest.Nearest(name, slices.Sorted(maps.Keys(names))); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "there are " + newestOf(names)
}

// namesShown is how many names a hint lists at most.
const namesShown = 8

// newestOf lists names, those first of which an event came last.
func newestOf(names map[string]uint64) string {
	list := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b], names[a]), cmp.Compare(a, b))
	})
	for i := range list {
		list[i] = flat(list[i])
	}
	if len(list) > namesShown {
		list = append(list[:namesShown], fmt.Sprintf("and %d more", len(list)-namesShown))
	}
	return strings.Join(list, ", ")
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
