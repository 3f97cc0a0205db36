package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/floor"
)

// replayRound is one round: every figure beside the floor of the same minutes.
type replayRound struct {
	Ordered floor.Scanned   `json:"floor_ordered"`
	Batched floor.Scanned   `json:"floor_batched"`
	Fold    replayed        `json:"fold"`
	Check   replayed        `json:"check"`
	Index   reindexed       `json:"reindex"`
	Explain []time.Duration `json:"explain_ns"`       // beside a daemon
	Alone   []time.Duration `json:"explain_alone_ns"` // the store has to be opened first
	Doctor  []time.Duration `json:"doctor_ns"`        // beside a daemon
	Version []time.Duration `json:"version_ns"`       // the floor of these three: a command that does nothing
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

// replays measures on one journal.
func (b *bench) replays(ctx context.Context, f replayFlags) (r replayReport, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	h, made, err := b.journal(ctx, f, m.URL())
	if err != nil {
		return r, err
	}
	r.Made = made
	if r.Explained, r.ExplainedEvents, err = longest(ctx, h.Data()); err != nil {
		return r, err
	}
	for i := range f.rounds {
		b.p.note("round %d of %d", i+1, f.rounds)
		one, err := b.replayRound(ctx, h, f, i, &r)
		if err != nil {
			return r, fmt.Errorf("round %d: %w", i+1, err)
		}
		r.Rounds = append(r.Rounds, one)
	}
	r.finish()
	return r, nil
}

// replayRound reads the journal in all ways, of which another one comes first in each round, and then has a daemon run.
func (b *bench) replayRound(ctx context.Context, h daemon.Home, f replayFlags, n int, r *replayReport) (one replayRound, err error) {
	scan := func(into *floor.Scanned, batched bool) func() error {
		return func() (err error) {
			*into, err = floor.ScanJournal(ctx, floor.Scan{Data: h.Data(), Batched: batched})
			return err
		}
	}
	replay := func(into *replayed, more ...string) func() error {
		return func() (err error) {
			*into, err = b.contented(ctx, h, more...)
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
	if one.Index, err = b.reindex(ctx, h); err != nil {
		return one, err
	}
	if one.Alone, err = b.explain(ctx, h, r, f.explains); err != nil {
		return one, err
	}
	d, err := b.start(ctx, h)
	if err != nil {
		return one, err
	}
	defer d.Kill()
	if one.Explain, err = b.explain(ctx, h, r, f.explains); err != nil {
		return one, err
	}
	for range f.explains {
		o, err := b.said(ctx, h, "version")
		if err != nil {
			return one, err
		}
		one.Version = append(one.Version, o.Took)
	}
	if one.Doctor, err = b.doctor(ctx, h, r, f.doctors); err != nil {
		return one, err
	}
	if err := d.Stop(stopTime); err != nil {
		return one, fmt.Errorf("%w\n%s", err, logTail(h.LogFile()))
	}
	return one, nil
}

// contented is replay that must find nothing.
func (b *bench) contented(ctx context.Context, h daemon.Home, more ...string) (replayed, error) {
	r, o, err := b.replay(ctx, h, more...)
	if err == nil && !r.OK {
		err = fmt.Errorf("jetclaw replay --all is not content:\n%s\n%s", bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	return r, err
}

// said runs a command that has to succeed.
func (b *bench) said(ctx context.Context, h daemon.Home, args ...string) (daemon.Output, error) {
	o, err := h.Run(ctx, b.binary, args...)
	if err == nil && o.Code != 0 {
		err = fmt.Errorf("jetclaw %q: exit code %d: %.2000s\n%s", args, o.Code, bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	return o, err
}

func (b *bench) reindex(ctx context.Context, h daemon.Home) (r reindexed, err error) {
	o, err := b.said(ctx, h, "sessions", "reindex", "--json")
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
func (b *bench) explain(ctx context.Context, h daemon.Home, r *replayReport, times int) (all []time.Duration, err error) {
	for range times {
		o, err := b.said(ctx, h, "explain", string(r.Explained))
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
func (b *bench) doctor(ctx context.Context, h daemon.Home, r *replayReport, times int) (all []time.Duration, err error) {
	for range times {
		o, err := h.Run(ctx, b.binary, "doctor", "--json")
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
