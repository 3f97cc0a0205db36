package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations"
)

const (
	sweptEvents   = 2_000  // the newest events, which are looked at without --deep
	sweptMost     = 20_000 // as many when the read model cannot say which sessions to look at
	sampledChains = 20
	chainTime     = 300 * time.Millisecond // for the chains of the sample
)

// sample is a session that was walked to its beginning.
type sample struct {
	id     session.ID
	events []envelope.Event
}

// placeEvidence is what a finding about one message shows.
type placeEvidence struct {
	Session session.ID `json:"session,omitempty"`
	Cursor  uint64     `json:"cursor"`
	What    string     `json:"what,omitempty"`
}

// chains looks whether every event follows on the one before it: in the newest events, and in some sessions as a whole; with
// --deep in the whole journal.
func (x *examination) chains(ctx context.Context) error {
	u, err := x.conn().Journal().Usage(ctx)
	if err != nil {
		return err
	}
	if x.machines, err = app.Machines(ctx, x.conn()); err != nil {
		return err
	}
	from := uint64(1)
	if !x.o.deep {
		from = x.sweepFrom(ctx, u)
	}
	w := newSweep(from, u.Last)
	progress := x.s.progress()
	err = w.read(ctx, x.conn(), x.machines, progress.step)
	progress.end()
	if err != nil {
		return err
	}
	x.swept = w
	breaks := w.chain.Breaks()
	if breaks, err = x.walks(ctx, breaks); err != nil {
		return err
	}
	x.tellChains(breaks)
	return nil
}

// sweepFrom is where to begin without --deep: at what the read model does not know of.
func (x *examination) sweepFrom(ctx context.Context, u bus.Usage) uint64 {
	n := uint64(sweptMost)
	st, err := bus.Ask[conversations.Status](ctx, x.c.Conn, "conversations", "status", conversations.StatusRequest{})
	if err == nil && !st.Rebuilding {
		n = min(max(sweptEvents, u.Last-min(st.Behind.Cursor, u.Last)), sweptMost)
	}
	return max(u.First, u.Last+1-min(n, u.Last))
}

// walks follows the chains of some sessions to their beginning, the last active first.
func (x *examination) walks(ctx context.Context, breaks []health.Break) ([]health.Break, error) {
	until := time.Now().Add(chainTime)
	ids := slices.SortedFunc(slices.Values(x.swept.order), func(a, b session.ID) int {
		return cmp.Compare(x.swept.sessions[b].last, x.swept.sessions[a].last)
	})
	for _, id := range ids[:min(len(ids), sampledChains)] {
		if time.Now().After(until) {
			break
		}
		events, err := x.conn().History(ctx, id, 0)
		hole, broken := errors.AsType[*bus.HoleError](err)
		switch {
		case broken:
			known := slices.ContainsFunc(breaks, func(b health.Break) bool { return b.At == hole.At })
			if !known {
				breaks = append(breaks, health.Break{Session: id, At: hole.At, Prev: hole.Missing, Missing: true})
			}
		case err != nil:
			return breaks, err
		default:
			x.samples = append(x.samples, sample{id, events})
		}
	}
	return breaks, nil
}

func (x *examination) tellChains(breaks []health.Break) {
	for _, b := range breaks {
		f := health.Finding{
			ID: "chain.hole", Severity: health.Problem, Check: "chains", Evidence: b,
			Text: fmt.Sprintf("%s has a hole: event %d follows on event %d, which is not in the journal, and no tombstone explains it",
				b.Session, b.At, b.Prev),
			Fix: fmt.Sprintf("what is left of it can be read (jetclaw explain %s), a backup may have the rest; jetclaw sessions delete %s begins it anew",
				b.Session, b.Session),
		}
		if !b.Missing {
			f.ID = "chain.passed"
			f.Text = fmt.Sprintf("%s: event %d follows on event %d and passes event %d by", b.Session, b.At, b.Prev, b.Before)
		}
		x.report.Add(f)
	}
	for _, o := range x.swept.odd {
		x.tellOdd(o)
	}
	if len(breaks)+len(x.swept.odd) > 0 {
		return
	}
	if x.o.deep {
		x.report.Sayf("chain.ok", health.Fine, "chains", "", "%s of %s are joined without a hole, and all bodies can be read",
			plural(x.swept.events, "event", "events"), plural(x.swept.chain.Sessions(), "session", "sessions"))
		return
	}
	x.report.Sayf("chain.ok", health.Fine, "chains", "", "no hole in the newest %s, nor in %s (--deep looks at all)",
		plural(x.swept.events, "event", "events"), plural(len(x.samples), "session as a whole", "sessions as a whole"))
}

func (x *examination) tellOdd(o oddity) {
	f := health.Finding{ID: o.id, Severity: health.Problem, Check: "chains", Evidence: placeEvidence{o.session, o.cursor, o.text}}
	where := fmt.Sprintf("message %d", o.cursor)
	if o.session != "" {
		where = fmt.Sprintf("event %d of %s", o.cursor, o.session)
	}
	switch o.id {
	case "session.newer":
		f.Severity, f.Check = health.Warning, "sessions"
		f.Text = where + " was written by a newer jetclaw (" + o.text + "): what its session waits for cannot be judged"
		f.Fix = "use the jetclaw that has written it"
	case "body.lost":
		f.Text = "the body of " + where + " is not in the object store any more: " + o.text
		f.Fix = "a backup may have it; the rest of the session is not affected"
	case "body.damaged":
		f.Text = where + " cannot be read: " + o.text
		f.Fix = "the rest of the session is not affected; find out who else writes to the journal"
	default:
		f.Text = where + " is no event: " + o.text
		f.Fix = "the rest is not affected; find out who else writes to the journal"
	}
	x.report.Add(f)
}
