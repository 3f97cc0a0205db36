package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// round is one round: every figure beside the floor of the same minutes.
type round struct {
	Ordered floor.Scanned    `json:"floor_ordered"`
	Batched floor.Scanned    `json:"floor_batched"`
	Fold    recheck.Replayed `json:"fold"`
	Check   recheck.Replayed `json:"check"`
	Index   reindexed        `json:"reindex"`
	Explain []time.Duration  `json:"explain_ns"`       // beside a daemon
	Alone   []time.Duration  `json:"explain_alone_ns"` // the store has to be opened first
	Doctor  []time.Duration  `json:"doctor_ns"`        // beside a daemon
	Version []time.Duration  `json:"version_ns"`       // the floor of these three: a command that does nothing
}

// reindexed is what `jetclaw sessions reindex --json` prints.
type reindexed struct {
	Events   int     `json:"events"`
	Sessions int     `json:"sessions"`
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"events_per_second"`
	Bytes    int64   `json:"bytes"` // of the file

	CPU time.Duration `json:"cpu_ns"` // of the process
}

// measure measures on one journal.
func measure(ctx context.Context, b *bench.Bench, f flags) (r report, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	h, made, err := makeJournal(ctx, b, f, m.URL())
	if err != nil {
		return r, err
	}
	r.Made = made
	if r.Explained, r.ExplainedEvents, err = longest(ctx, h.Data()); err != nil {
		return r, err
	}
	for i := range f.rounds {
		b.P.Note("round %d of %d", i+1, f.rounds)
		one, err := oneRound(ctx, b, h, f, i, &r)
		if err != nil {
			return r, fmt.Errorf("round %d: %w", i+1, err)
		}
		r.Rounds = append(r.Rounds, one)
	}
	r.finish()
	return r, nil
}

// oneRound reads the journal in all ways, of which another one comes first in each round, and then has a daemon run.
func oneRound(ctx context.Context, b *bench.Bench, h daemon.Home, f flags, n int, r *report) (one round, err error) {
	scan := func(into *floor.Scanned, batched bool) func() error {
		return func() (err error) {
			*into, err = floor.ScanJournal(ctx, floor.Scan{Data: h.Data(), Batched: batched})
			return err
		}
	}
	replay := func(into *recheck.Replayed, more ...string) func() error {
		return func() (err error) {
			*into, err = contented(ctx, b, h, more...)
			return err
		}
	}
	ways := []func() error{scan(&one.Ordered, false), replay(&one.Fold), scan(&one.Batched, true), replay(&one.Check, "--check")}
	for i := range ways {
		if err := ways[(i+n)%len(ways)](); err != nil {
			return one, err
		}
	}
	if one.Fold.Events != one.Ordered.Events || one.Check.Events != one.Ordered.Events || one.Batched.Events != one.Ordered.Events {
		return one, fmt.Errorf("the journal has %d events; the batched reader has seen %d, replay %d, replay --check %d",
			one.Ordered.Events, one.Batched.Events, one.Fold.Events, one.Check.Events)
	}
	if one.Index, err = reindex(ctx, b, h); err != nil {
		return one, err
	}
	if one.Alone, err = explain(ctx, b, h, r, f.explains); err != nil {
		return one, err
	}
	d, err := b.Start(ctx, h)
	if err != nil {
		return one, err
	}
	defer d.Kill()
	if one.Explain, err = explain(ctx, b, h, r, f.explains); err != nil {
		return one, err
	}
	for range f.explains {
		o, err := said(ctx, b, h, "version")
		if err != nil {
			return one, err
		}
		one.Version = append(one.Version, o.Took)
	}
	if one.Doctor, err = doctor(ctx, b, h, r, f.doctors); err != nil {
		return one, err
	}
	if err := d.Stop(bench.StopTime); err != nil {
		return one, fmt.Errorf("%w\n%s", err, daemon.LogTail(h.LogFile()))
	}
	return one, nil
}

// contented is replay that must find nothing.
func contented(ctx context.Context, b *bench.Bench, h daemon.Home, more ...string) (recheck.Replayed, error) {
	r, o, err := recheck.Replay(ctx, b, h, more...)
	if err == nil && !r.OK {
		err = fmt.Errorf("jetclaw replay --all is not content:\n%s\n%s", bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	return r, err
}

// said runs a command that has to succeed.
func said(ctx context.Context, b *bench.Bench, h daemon.Home, args ...string) (daemon.Output, error) {
	o, err := h.Run(ctx, b.Binary, args...)
	if err == nil && o.Code != 0 {
		err = fmt.Errorf("jetclaw %q: exit code %d: %.2000s\n%s", args, o.Code, bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	return o, err
}

func reindex(ctx context.Context, b *bench.Bench, h daemon.Home) (r reindexed, err error) {
	o, err := said(ctx, b, h, "sessions", "reindex", "--json")
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(o.Stdout, &r); err != nil {
		return r, fmt.Errorf("jetclaw sessions reindex: %w in %.400q", err, o.Stdout)
	}
	r.CPU = o.CPU
	return r, nil
}

// explain is the time of the whole process, some times.
func explain(ctx context.Context, b *bench.Bench, h daemon.Home, r *report, times int) (all []time.Duration, err error) {
	for range times {
		o, err := said(ctx, b, h, "explain", string(r.Explained))
		if err != nil {
			return nil, err
		}
		if lines := bytes.Count(o.Stdout, []byte("\n")); lines < 3 {
			return nil, fmt.Errorf("jetclaw explain %s has %d lines for %d events:\n%s", r.Explained, lines, r.ExplainedEvents, o.Stdout)
		}
		all = append(all, o.Took)
	}
	return all, nil
}

// doctor is the time of the whole process, some times. What it has to say is noted.
func doctor(ctx context.Context, b *bench.Bench, h daemon.Home, r *report, times int) (all []time.Duration, err error) {
	for range times {
		o, err := h.Run(ctx, b.Binary, "doctor", "--json")
		if err != nil {
			return nil, err
		}
		said, err := readDiagnosis(o)
		if err != nil {
			return nil, err
		}
		r.diagnosed(said)
		all = append(all, o.Took)
	}
	return all, nil
}
