package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// report is what `replay --json` prints. Durations are in nanoseconds; fields are only added.
type report struct {
	Events          int             `json:"events"`
	Sessions        int             `json:"sessions"`
	Bytes           int64           `json:"bytes"`             // of all bodies
	Made            time.Duration   `json:"made_ns,omitempty"` // what making the journal took; 0: it is a copy
	Lines           []replayLine    `json:"lines"`
	Explained       session.ID      `json:"explained"` // the session with the most events
	ExplainedEvents int             `json:"explained_events"`
	Explain         stat.Spread     `json:"explain"`       // beside a daemon
	ExplainAlone    stat.Spread     `json:"explain_alone"` // without one: the store has to be opened first
	Doctor          stat.Spread     `json:"doctor"`
	Version         stat.Spread     `json:"version"` // the floor of these three
	Problems        []remark        `json:"doctor_problems"`
	Warnings        []remark        `json:"doctor_warnings"`
	Rounds          []round         `json:"rounds"`
	Goals           []result.Figure `json:"goals"`
}

// replayLine is one way of reading the journal: medians of the rounds, and of their own ratios.
type replayLine struct {
	Name    string  `json:"name"`
	Rate    float64 `json:"events_per_second"`
	Seconds float64 `json:"seconds"`
	Ordered float64 `json:"of_ordered"` // to the raw ordered consumer
	Batched float64 `json:"of_batched"` // to raw batches of direct gets

	CPU time.Duration `json:"cpu_ns"` // of the whole process
}

// Goals of the design that this scenario measures.
const (
	goalReplay  = 0.5
	goalExplain = 200 * time.Millisecond
	goalDoctor  = 2 * time.Second
)

// diagnosis is what `jetclaw doctor --json` prints.
type diagnosis struct {
	OK       bool     `json:"ok"`
	Findings []remark `json:"findings"`
}

type remark struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Check    string `json:"check"`
	Text     string `json:"text"`
}

func readDiagnosis(o daemon.Output) (d diagnosis, err error) {
	if err := json.Unmarshal(o.Stdout, &d); err != nil {
		return d, fmt.Errorf("jetclaw doctor, exit code %d: %w in %.400q\n%s", o.Code, err, o.Stdout, bytes.TrimSpace(o.Stderr))
	}
	if d.OK != (o.Code == 0) || len(d.Findings) == 0 {
		return d, fmt.Errorf("jetclaw doctor, exit code %d: %s\n%s", o.Code, bytes.TrimSpace(o.Stdout), bytes.TrimSpace(o.Stderr))
	}
	return d, nil
}

// diagnosed notes each thing that the doctor says once.
func (r *report) diagnosed(d diagnosis) {
	add := func(to *[]remark, f remark) {
		if !slices.ContainsFunc(*to, func(x remark) bool { return x.ID == f.ID && x.Check == f.Check }) {
			*to = append(*to, f)
		}
	}
	for _, f := range d.Findings {
		switch f.Severity {
		case "ok":
		case "warning":
			add(&r.Warnings, f)
		default:
			add(&r.Problems, f)
		}
	}
	if !d.OK && len(r.Problems) == 0 {
		r.Problems = []remark{{ID: "?", Text: "it is not content and does not say why"}}
	}
}

// finish works out the figures.
func (r *report) finish() {
	last := r.Rounds[len(r.Rounds)-1]
	r.Events, r.Sessions, r.Bytes = last.Ordered.Events, last.Check.Sessions, last.Ordered.Bytes
	r.Lines = []replayLine{
		r.line("ordered consumer, raw", func(x round) speed { return scanned(x.Ordered) }),
		r.line("batches of direct gets, raw", func(x round) speed { return scanned(x.Batched) }),
		r.line("replay --all", func(x round) speed { return speed{x.Fold.Rate, x.Fold.Seconds, x.Fold.CPU} }),
		r.line("replay --all --check", func(x round) speed { return speed{x.Check.Rate, x.Check.Seconds, x.Check.CPU} }),
		r.line("sessions reindex", func(x round) speed { return speed{x.Index.Rate, x.Index.Seconds, x.Index.CPU} }),
	}
	r.Explain = r.spread(func(x round) []time.Duration { return x.Explain })
	r.ExplainAlone = r.spread(func(x round) []time.Duration { return x.Alone })
	r.Doctor = r.spread(func(x round) []time.Duration { return x.Doctor })
	r.Version = r.spread(func(x round) []time.Duration { return x.Version })
	share := func(id string, l replayLine, of func(round) float64) result.Figure {
		return result.Goal(l.Name+", events/s", "≥ 50 % of the ordered consumer", fmt.Sprintf("%.0f %%", 100*l.Ordered), l.Ordered >= goalReplay).
			As("replay."+id).In("events/s", stat.Each(r.Rounds, of)...).Beside(stat.Each(r.Rounds, func(x round) float64 { return x.Ordered.PerSecond })...)
	}
	r.Goals = []result.Figure{
		share("fold", r.Lines[2], func(x round) float64 { return x.Fold.Rate }),
		share("check", r.Lines[3], func(x round) float64 { return x.Check.Rate }),
		result.Goal(
			fmt.Sprintf("explain of %d events beside a daemon (median; max)", r.ExplainedEvents), "≤ 200 ms",
			fmt.Sprintf("%.0f ms; %.0f ms", stat.MS(r.Explain.P50), stat.MS(r.Explain.Max)), r.Explain.P50 <= goalExplain,
		).As("replay.explain").In("ms", r.every(func(x round) []time.Duration { return x.Explain })...).
			Beside(stat.MS(r.Version.P50)),
		result.Goal(
			"doctor beside a daemon (median; max)", "≤ 2 s",
			fmt.Sprintf("%.2f s; %.2f s", r.Doctor.P50.Seconds(), r.Doctor.Max.Seconds()), r.Doctor.P50 <= goalDoctor,
		).As("replay.doctor").In("ms", r.every(func(x round) []time.Duration { return x.Doctor })...).
			Beside(stat.MS(r.Version.P50)),
	}
	r.Goals = append(r.Goals, r.Promises()...)
}

// speed is how fast the journal was read once.
type speed struct {
	rate, seconds float64
	cpu           time.Duration
}

func scanned(s floor.Scanned) speed { return speed{s.PerSecond, s.Took.Seconds(), s.CPU} }

func (r *report) line(name string, of func(round) speed) replayLine {
	number := func(f func(round) float64) float64 { return stat.Median(stat.Each(r.Rounds, f)) }
	return replayLine{
		Name:    name,
		Rate:    number(func(x round) float64 { return of(x).rate }),
		Seconds: number(func(x round) float64 { return of(x).seconds }),
		Ordered: number(func(x round) float64 { return stat.Ratio(of(x).rate, x.Ordered.PerSecond) }),
		Batched: number(func(x round) float64 { return stat.Ratio(of(x).rate, x.Batched.PerSecond) }),
		CPU:     stat.Median(stat.Each(r.Rounds, func(x round) time.Duration { return of(x).cpu })),
	}
}

// every are all durations of a kind, in ms.
func (r *report) every(of func(round) []time.Duration) (all []float64) {
	for _, x := range r.Rounds {
		all = append(all, stat.AllMS(of(x)...)...)
	}
	return all
}

func (r *report) spread(of func(round) []time.Duration) stat.Spread {
	var all []time.Duration
	for _, x := range r.Rounds {
		all = append(all, of(x)...)
	}
	return stat.SpreadOf(all)
}

func (r report) All() []result.Figure { return r.Goals }

func (r report) Promises() []result.Figure {
	last := r.Rounds[len(r.Rounds)-1]
	return []result.Figure{
		last.Check.Goal(last.Ordered.Events),
		result.Goal("problems that doctor finds", "0", fmt.Sprint(len(r.Problems)), len(r.Problems) == 0).
			As("replay.problems").In("", float64(len(r.Problems))),
	}
}

func (r report) Print(p console.Printer) {
	how := "copied"
	if r.Made > 0 {
		how = fmt.Sprintf("made in %.0f s, %.0f events a second", r.Made.Seconds(), float64(r.Events)/r.Made.Seconds())
	}
	p.Say("A journal of %d events (%.1f MB of bodies) in %d sessions, %s; medians of %d rounds", r.Events, float64(r.Bytes)/1e6, r.Sessions, how, len(r.Rounds))
	p.Say("raw: read by a bare server and client in one process, nothing is decoded. No daemon runs. Seconds are those of reading; CPU is the whole process.\n")
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\tevents/s\ts\tof ordered\tof batches\tCPU s\t")
	for _, l := range r.Lines {
		_, _ = fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.0f %%\t%.0f %%\t%.2f\t\n", l.Name, l.Rate, l.Seconds, 100*l.Ordered, 100*l.Batched, l.CPU.Seconds())
	}
	_ = w.Flush()
	p.Say("\nexplain %s (%d events), the whole process: beside a daemon p50 %.0f ms, max %.0f ms; without one p50 %.0f ms, max %.0f ms",
		r.Explained, r.ExplainedEvents, stat.MS(r.Explain.P50), stat.MS(r.Explain.Max), stat.MS(r.ExplainAlone.P50), stat.MS(r.ExplainAlone.Max))
	p.Say("doctor beside a daemon, the whole process: p50 %.2f s, max %.2f s; %d runs", r.Doctor.P50.Seconds(), r.Doctor.Max.Seconds(), r.Doctor.N)
	p.Say("the floor of both is version, which does nothing: p50 %.0f ms, max %.0f ms", stat.MS(r.Version.P50), stat.MS(r.Version.Max))
	for _, f := range slices.Concat(r.Problems, r.Warnings) {
		p.Say("  %s %s (%s): %s", f.Severity, f.ID, f.Check, f.Text)
	}
	bench.PrintGoals(p, r.Goals)
}
