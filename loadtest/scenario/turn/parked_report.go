package turn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// parkedReport is a part of what `tool --json` prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type parkedReport struct {
	Approvals int             `json:"approvals"`
	Parking   time.Duration   `json:"parking_ns"` // from the first message until all calls wait
	Open      int             `json:"open"`       // as the list says
	Listed    int             `json:"listed"`     // of them, in the list itself, which is bounded
	List      stat.Spread     `json:"list"`       // to ask for it on the bus
	Without   footprint       `json:"without"`    // a daemon of which one approval was decided
	Before    footprint       `json:"before"`     // the same at that point, of the daemon with parked approvals
	With      footprint       `json:"with"`       // with all of them parked, but those that were approved
	RSSEach   float64         `json:"rss_bytes_each"`
	Approved  int             `json:"approved"`
	Ran       int             `json:"ran"`
	Answered  stat.Spread     `json:"answered"` // from the decision to the reply of the turn
	Goals     []result.Figure `json:"goals"`
}

// footprint is what a daemon consists of when all is calm.
type footprint struct {
	RSS        int64    `json:"rss_bytes"`
	Threads    int      `json:"threads"`
	Goroutines int      `json:"goroutines,omitempty"` // known of a daemon at its end only
	Consumers  []string `json:"consumers"`            // STREAM/NAME, sorted
}

// strayGoroutines is how many more or fewer there may be for other reasons, whatever the number of approvals: each connection of a
// client or to the model that is kept open has two or three.
const strayGoroutines = 40

func footprintOf(ctx context.Context, r *bench.Running) (f footprint, err error) {
	if f.RSS, err = r.RSS(); err != nil {
		return f, err
	}
	if f.Threads, err = r.Threads(); err != nil {
		return f, err
	}
	conn, err := r.Dial(ctx, bus.Admin)
	if err != nil {
		return f, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	f.Consumers, err = consumers(ctx, conn.JetStream())
	return f, err
}

// consumers lists those of all streams.
func consumers(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	var out []string
	streams := js.StreamNames(ctx)
	for name := range streams.Name() {
		st, err := js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("consumers of %s: %w", name, err)
		}
		l := st.ConsumerNames(ctx)
		for c := range l.Name() {
			out = append(out, name+"/"+c)
		}
		if err := l.Err(); err != nil {
			return nil, fmt.Errorf("consumers of %s: %w", name, err)
		}
	}
	slices.Sort(out)
	return out, streams.Err()
}

func (r *parkedReport) finish() {
	r.RSSEach = float64(r.With.RSS-r.Before.RSS) / float64(r.Approvals)
	more := r.With.Goroutines - r.Without.Goroutines
	r.Goals = []result.Figure{
		result.Goal(
			fmt.Sprintf("goroutines that %d parked approvals add", r.Approvals), fmt.Sprintf("≤ %d, whatever their number", strayGoroutines),
			fmt.Sprintf("%d (%d, without %d)", more, r.With.Goroutines, r.Without.Goroutines), more <= strayGoroutines,
		).As("parked.goroutines").In("", float64(more)),
		result.Goal(
			fmt.Sprintf("consumers that %d parked approvals add", r.Approvals), "0",
			fmt.Sprintf("%d (%d, before %d)", len(r.With.Consumers)-len(r.Before.Consumers), len(r.With.Consumers), len(r.Before.Consumers)),
			slices.Equal(r.With.Consumers, r.Before.Consumers),
		).As("parked.consumers").In("", float64(len(r.With.Consumers)-len(r.Before.Consumers))),
		result.Goal("parked approvals in the list", fmt.Sprint(r.Approvals), fmt.Sprint(r.Open), r.Open == r.Approvals).
			As("parked.open").In("", float64(r.Open)),
		result.Goal("approved calls that ran", fmt.Sprint(r.Approved), fmt.Sprint(r.Ran), r.Ran == r.Approved).As("parked.ran").In("", float64(r.Ran)),
	}
}

func (r parkedReport) say(p console.Printer) {
	p.Say("%d calls parked for a person, each in a session of its own, within %.1f s (%.0f/s)",
		r.Approvals, r.Parking.Seconds(), float64(r.Approvals)/max(r.Parking.Seconds(), 1e-9))
	p.Say("memory at rest: %.1f MB before, %.1f MB with them: %.1f KB each; threads: %d before, %d with them",
		float64(r.Before.RSS)/1e6, float64(r.With.RSS)/1e6, r.RSSEach/1e3, r.Before.Threads, r.With.Threads)
	p.Say("list of what is open (%d of %d fit into it): p50 %.1f ms, max %.1f ms", r.Listed, r.Open, stat.MS(r.List.P50), stat.MS(r.List.Max))
	if r.Approved > 0 {
		p.Say("decision to the reply of its turn: p50 %.1f ms, max %.1f ms", stat.MS(r.Answered.P50), stat.MS(r.Answered.Max))
	}
}
