package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations"
)

const (
	stalledAfter   = 3 * time.Second // without a delivery, with something to deliver: a worker looks for its consumer each second
	manyAgain      = 100             // deliveries that were not the first, at a time
	projectionLate = 1_000           // events
)

// consumerEvidence is what a finding about a consumer shows.
type consumerEvidence struct {
	Consumer    string    `json:"consumer"`
	Pending     uint64    `json:"pending"`
	AckPending  int       `json:"ack_pending"`
	Redelivered int       `json:"redelivered"`
	AckFloor    uint64    `json:"ack_floor"`
	Delivered   uint64    `json:"delivered"`
	Active      time.Time `json:"active,omitzero"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// delivering looks at the consumers: whether somebody takes what they have.
func (x *examination) delivering(ctx context.Context) error {
	if err := x.look(ctx); err != nil {
		return err
	}
	stalled, err := x.stalled(ctx)
	if err != nil {
		return err
	}
	pending, wrong := uint64(0), 0
	for _, c := range x.consumers {
		pending += c.Pending
		if c.Missing { // told of as part of the topology
			wrong++
			continue
		}
		if f := x.consumer(c, stalled[c.Stream+"/"+c.Name]); f != nil {
			wrong++
			x.report.Add(*f)
		}
	}
	if wrong == 0 {
		text := "nothing waits to be delivered"
		if pending > 0 {
			text = doorbells(pending) + " to be delivered"
		}
		if pending > 0 && x.c.At == "" {
			text += ", as no daemon runs"
		}
		x.report.Sayf("consumer.ok", health.Fine, "consumers", "", "%s", text)
	}
	return nil
}

// stalled are the consumers that have something to deliver and do not, while a daemon runs: that takes a second look.
func (x *examination) stalled(ctx context.Context) (map[string]bool, error) {
	quiet := func(c bus.ConsumerState) bool {
		return x.c.At != "" && c.Pending > 0 && c.PausedUntil.IsZero() && time.Since(c.Active) > stalledAfter
	}
	before := map[string]uint64{}
	for _, c := range x.consumers {
		if quiet(c) {
			before[c.Stream+"/"+c.Name] = c.Delivered
		}
	}
	if len(before) == 0 {
		return nil, nil
	}
	select {
	case <-time.After(stalledAfter):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := x.look(ctx); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, c := range x.consumers {
		delivered, ok := before[c.Stream+"/"+c.Name]
		found[c.Stream+"/"+c.Name] = ok && quiet(c) && c.Delivered == delivered
	}
	return found, nil
}

// consumer says what is wrong with one; nil: nothing.
func (x *examination) consumer(c bus.ConsumerState, stalled bool) *health.Finding {
	f := &health.Finding{Check: "consumers", Severity: health.Problem, Evidence: consumerEvidence{
		c.Stream + "/" + c.Name, c.Pending, c.AckPending, c.Redelivered, c.Floor, c.Delivered, c.Active, c.PausedUntil,
	}}
	switch {
	case !c.PausedUntil.IsZero():
		f.ID, f.Severity = "consumer.paused", health.Warning
		f.Text = fmt.Sprintf("%s is paused until %s: nothing rings %s", c.Name, c.PausedUntil.Local().Format(time.DateTime), c.Service)
		f.Fix = "it goes on by itself then"
		if c.Name != c.Service && !c.Timers {
			f.Text = fmt.Sprintf("the MCP server %s is paused until %s, as it kept failing: its tools answer so meanwhile",
				strings.TrimPrefix(c.Name, c.Service+"-"), c.PausedUntil.Local().Format(time.DateTime))
			f.Fix = "see what it said: jetclaw mcp status --verbose; jetclaw mcp reload tries it at once"
		}
	case c.MaxPending > 0 && c.AckPending >= c.MaxPending:
		f.ID = "consumer.full"
		f.Text = fmt.Sprintf("%s has %d open doorbells, as many as it may have: nothing new is delivered", c.Name, c.AckPending)
		f.Fix = "see what " + c.Service + " says in the daemon's log"
	case stalled && c.Waiting == 0:
		f.ID = "consumer.stalled"
		f.Text = fmt.Sprintf("%s at %s, and nobody takes them", doorbells(c.Pending), c.Name)
		f.Fix = "is " + c.Service + " running? jetclaw run --target " + c.Service
	case stalled:
		f.ID = "consumer.stalled"
		f.Text = fmt.Sprintf("%s at %s, and none is delivered, though a worker asks for them", doorbells(c.Pending), c.Name)
		f.Fix = "restart the daemon"
	case x.c.At != "" && c.Redelivered >= manyAgain && 2*c.Redelivered > c.AckPending: // of workers that are gone, they say nothing
		f.ID, f.Severity = "consumer.redelivered", health.Warning
		f.Text = fmt.Sprintf("%d of %d open doorbells of %s were delivered before and are put off", c.Redelivered, c.AckPending, c.Name)
		f.Fix = "that is usual after a crash, and while a channel's limits hold deliveries; if it stays, see what " + c.Service + " says in the daemon's log"
	default:
		return nil
	}
	return f
}

func doorbells(n uint64) string { return plural(int(n), "doorbell waits", "doorbells wait") }

// dead counts the doorbells that were given up.
func (x *examination) dead(ctx context.Context) error {
	n, err := x.admin.DeadCount(ctx)
	switch {
	case err != nil:
		return err
	case n == 0:
		x.report.Sayf("dead.none", health.Fine, "dead letters", "", "no doorbell was given up")
	default:
		x.report.Add(health.Finding{
			ID: "dead.letters", Severity: health.Warning, Check: "dead letters", Evidence: map[string]uint64{"letters": n},
			Text: plural(int(n), "doorbell was given up", "doorbells were given up"),
			Fix:  "see them: jetclaw dead list",
		})
	}
	return nil
}

// readModel asks how far the read model is.
func (x *examination) readModel(ctx context.Context) error {
	st, err := bus.Ask[conversations.Status](ctx, x.c.Conn, "conversations", "status", conversations.StatusRequest{})
	switch {
	case fault.KindOf(err) == fault.Unavailable && x.c.At == "":
		x.report.Sayf("projection.off", health.Fine, "read model", "", "it is not asked, as no daemon runs")
	case fault.KindOf(err) == fault.Unavailable:
		x.report.Sayf("projection.away", health.Warning, "read model", "is conversations running? jetclaw run --target conversations",
			"nobody answers for it: sessions cannot be listed or searched")
	case err != nil:
		return err
	case st.Rebuilding && x.c.At == "": // it has begun with this command
		x.report.Sayf("projection.building", health.Fine, "read model", "", "it is built while something runs: %d of %d events",
			st.Behind.Cursor, st.Behind.Last)
	case st.Rebuilding, st.Behind.Events > projectionLate:
		x.report.Add(health.Finding{
			ID: "projection.behind", Severity: health.Warning, Check: "read model", Evidence: st.Behind,
			Text: fmt.Sprintf("it is %d events behind the journal", st.Behind.Events), Fix: "it catches up by itself; jetclaw sessions reindex builds it anew",
		})
	default:
		x.report.Sayf("projection.ok", health.Fine, "read model", "", "it knows %s, and is %s behind",
			plural(st.Sessions, "session", "sessions"), plural(int(st.Behind.Events), "event", "events"))
	}
	return nil
}

// snapshotEvidence is what a finding about a snapshot shows.
type snapshotEvidence struct {
	Session session.ID `json:"session"`
	Service string     `json:"service"`
	Cursor  uint64     `json:"cursor"`
}

// snapshots holds those of some sessions against what today's machines fold.
func (x *examination) snapshots(ctx context.Context) error {
	foldings, right, old, wrong := app.Foldings(), 0, 0, 0
	for _, smp := range x.samples {
		if _, newer := health.Newer(smp.events); newer {
			continue
		}
		for _, m := range x.machines {
			snap, ok, err := x.admin.SnapshotOf(ctx, m.Service(), smp.id)
			switch {
			case err != nil:
				return err
			case !ok:
				continue
			case snap.Version != foldings[m.Service()].Version, len(smp.events) > 0 && snap.Cursor < smp.events[0].Cursor: // or of a deleted past
				old++
				continue
			}
			same, why, err := x.kept(ctx, m, snap, smp)
			switch {
			case errors.Is(err, bus.ErrNoEvent): // its session was deleted since
				continue
			case err != nil:
				return err
			case !same:
				wrong++
				x.report.Add(health.Finding{
					ID: "snapshot.wrong", Severity: health.Problem, Check: "snapshots", Evidence: snapshotEvidence{smp.id, m.Service(), snap.Cursor},
					Text: fmt.Sprintf("the snapshot that %s keeps of %s is not what its events say: %s", m.Service(), smp.id, why),
					Fix:  "this is a mistake in jetclaw: report it. jetclaw replay " + string(smp.id) + " --check says more",
				})
				continue
			}
			right++
		}
	}
	if wrong == 0 {
		x.report.Sayf("snapshot.ok", health.Fine, "snapshots", "", "%s of %s looked at right, %d of another version, which are not used",
			plural(right, "snapshot", "snapshots"), plural(len(x.samples), "session", "sessions"), old)
	}
	return nil
}

// kept says whether a snapshot is right. One that is newer than the sample was made since: events that cannot be read now, as
// the server went away, say nothing of it.
func (x *examination) kept(ctx context.Context, m recheck.Machine, snap bus.Snapshot, smp sample) (ok bool, why string, err error) {
	events := smp.events
	if n := len(events); n > 0 && snap.Cursor > events[n-1].Cursor {
		if events, err = x.admin.History(ctx, smp.id, snap.Cursor); err != nil {
			return false, "", err
		}
	}
	ok, why = health.Kept(m, smp.id, snap, events)
	return ok, why, nil
}
