// Package recheck has jetclaw replay the journal that a run has left: would today's machines decide all of its events as they were decided?
package recheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Replayed is what `jetclaw replay --all --json` prints, with --check or without.
type Replayed struct {
	OK       bool         `json:"ok"`
	Events   int          `json:"events"`
	Sessions int          `json:"sessions"`
	Active   int          `json:"active,omitempty"`  // sessions of which a machine wants something; not with --check
	Decided  int          `json:"decided,omitempty"` // the rest with --check only
	Given    int          `json:"given,omitempty"`
	Facts    int          `json:"facts,omitempty"`
	Unjudged int          `json:"unjudged,omitempty"`
	First    *different   `json:"first,omitempty"`  // nothing above it was judged
	Others   []unexpected `json:"others,omitempty"` // holes, and what is no event of this version
	Seconds  float64      `json:"seconds"`
	Rate     float64      `json:"events_per_second"`

	CPU     time.Duration `json:"cpu_ns,omitempty"`  // of the process
	Trouble string        `json:"trouble,omitempty"` // why nothing is known; see recheck
}

// unexpected is one finding of a check.
type unexpected struct {
	Kind    string     `json:"kind"`
	Cursor  uint64     `json:"cursor"`
	Session session.ID `json:"session,omitempty"`
	Type    string     `json:"type,omitempty"`
	Text    string     `json:"text,omitempty"`
}

// different is an event that a machine would not append today.
type different struct {
	unexpected
	Service     string `json:"service"`
	Differences []struct {
		Field string `json:"field"`
		Then  string `json:"then"`
		Now   string `json:"now"`
	} `json:"differences"`
}

func (d different) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "today's %s would not append %s", d.Service, d.Type)
	for _, x := range d.Differences {
		fmt.Fprintf(&b, "; %s: then %.120s, now %.120s", x.Field, x.Then, x.Now)
	}
	return b.String()
}

// readReplayed reads what the command has said. That it says nothing that can be read is an error, and so is that what it says
// and its exit code are at odds: a check that cannot be relied on has failed.
func readReplayed(o daemon.Output) (r Replayed, err error) {
	if err := json.Unmarshal(o.Stdout, &r); err != nil {
		return r, fmt.Errorf("jetclaw replay, exit code %d: %w in %.400q\n%s", o.Code, err, o.Stdout, bytes.TrimSpace(o.Stderr))
	}
	if r.OK != (o.Code == 0) || r.Events < 1 {
		return r, fmt.Errorf("jetclaw replay, exit code %d: %s\n%s", o.Code, bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	r.CPU = o.CPU
	return r, nil
}

// Replay has jetclaw fold the whole journal of a stopped daemon, and judge it with --check.
func Replay(ctx context.Context, b *bench.Bench, h daemon.Home, more ...string) (Replayed, daemon.Output, error) {
	o, err := h.Run(ctx, b.Binary, append([]string{"replay", "--all", "--json"}, more...)...)
	if err != nil {
		return Replayed{}, o, err
	}
	r, err := readReplayed(o)
	return r, o, err
}

// Journal judges the journal that a run has left: would today's machines decide all of its events as they were decided? A
// check that cannot be made is a promise broken, as is one that finds something; the rest of the verdict is told with it.
func Journal(ctx context.Context, b *bench.Bench, h daemon.Home) Replayed {
	b.P.Note("replaying the journal …")
	r, _, err := Replay(ctx, b, h, "--check")
	if err != nil {
		r.OK, r.Trouble = false, err.Error()
	}
	return r
}

// compared is how many events were held against a machine.
func (r Replayed) compared() int { return r.Decided + r.Given }

// Violations are what of a journal with so many events is not as it was decided. Silence about a part of it is one, too.
func (r Replayed) Violations(events int) (out []judge.Violation) {
	if f := r.First; f != nil {
		out = append(out, judge.Violation{Kind: judge.Otherwise, Session: f.Session, Cursor: f.Cursor, Text: f.String()})
	}
	for _, f := range r.Others {
		out = append(out, judge.Violation{Kind: judge.Otherwise, Session: f.Session, Cursor: f.Cursor, Text: f.Kind + ": " + f.Type + f.Text})
	}
	say := func(format string, args ...any) {
		out = append(out, judge.Violation{Kind: judge.Otherwise, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case r.Trouble != "":
		say("%s", r.Trouble)
	case len(out) > 0:
	case !r.OK:
		say("jetclaw replay --all --check is not content and does not say why: %+v", r)
	case r.Events != events:
		say("jetclaw replay --all --check has read %d events, and the journal has %d", r.Events, events)
	case r.compared() == 0, r.Unjudged > 0:
		say("jetclaw replay --all --check has compared %d events and left %d out", r.compared(), r.Unjudged)
	}
	return out
}

// Goal is the line of a report on a journal with so many events.
func (r Replayed) Goal(events int) result.Figure {
	const what = "events that today's machines would decide otherwise"
	v := r.Violations(events)
	switch {
	case len(v) == 0:
		return result.Goal(what, "0", fmt.Sprintf("0 of %d, and %d facts", r.compared(), r.Facts), true).As("replayed.otherwise")
	case r.First != nil:
		return result.Goal(what, "0", fmt.Sprintf("1 at least: %d (%s)", r.First.Cursor, r.First.Type), false).As("replayed.otherwise")
	}
	return result.Goal(what, "0", "not known of all", false).As("replayed.otherwise")
}
