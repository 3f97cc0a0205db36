package sizes

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

// Goals of the design that this scenario measures.
const (
	goalReopen = 1.1
	goalStored = 1.2
)

// report is the detail of sizes' result. Durations are in nanoseconds, memory in bytes; fields are only added.
type report struct {
	Messages int             `json:"messages"` // of a session
	Sizes    []sized         `json:"sizes"`
	Deep     *sized          `json:"deep,omitempty"` // of 20 messages a session
	Goals    []result.Figure `json:"goals"`
}

func (r *report) finish() {
	s := r.Sizes[len(r.Sizes)-1]
	ready, rss := stat.Ratio(s.Ready, s.Floor.Took), stat.Ratio(s.RSS, s.Floor.RSS)
	r.Goals = []result.Figure{
		result.Goal(fmt.Sprintf("start to ready, %d events", s.Events), "≤ 1.1× the bare server's own opening",
			fmt.Sprintf("%.2f× (%.0f ms, floor %.0f ms)", ready, stat.MS(s.Ready), stat.MS(s.Floor.Took)), ready <= goalReopen).
			As("sizes.ready").In("ms", stat.MS(s.Ready)).Beside(stat.MS(s.Floor.Took)),
		result.Goal(fmt.Sprintf("memory with %d sessions on disk", s.Sessions), "≤ 1.2× the bare server",
			fmt.Sprintf("%.2f× (%.1f MB, floor %.1f MB)", rss, float64(s.RSS)/1e6, float64(s.Floor.RSS)/1e6), rss <= goalStored).
			As("sizes.rss").In("B", float64(s.RSS)).Beside(float64(s.Floor.RSS)),
	}
}

func (r report) All() []result.Figure    { return r.Goals }
func (report) Promises() []result.Figure { return nil }

// costs are the lines through the sizes: what one more session takes of memory, and what a turn and a session leave on the disk.
func (r report) costs() costs {
	at := func(of func(sized) float64) []float64 { return stat.Each(r.Sizes, of) }
	sessions := at(func(s sized) float64 { return float64(s.Sessions) })
	turns := at(func(s sized) float64 { return float64(s.Turns) })
	last := r.Sizes[len(r.Sizes)-1]
	c := costs{
		Memory:  stat.LineOf(sessions, at(func(s sized) float64 { return float64(s.RSS) })),
		Server:  stat.LineOf(sessions, at(func(s sized) float64 { return float64(s.Floor.RSS) })),
		Ready:   stat.LineOf(sessions, at(func(s sized) float64 { return s.Ready.Seconds() })),
		Journal: stat.LineOf(turns, at(func(s sized) float64 { return float64(s.Journal) })).Slope,
		Index:   stat.LineOf(turns, at(func(s sized) float64 { return float64(s.Index) })).Slope,
		Streams: last.Streams, Consumers: last.Consumers,
		Events:   stat.Ratio(float64(last.Events), float64(last.Turns)),
		Subjects: stat.Ratio(float64(last.Subjects), float64(last.Sessions)),
	}
	if r.Deep != nil {
		c.Snapshots = stat.Ratio(float64(r.Deep.Snapshots), float64(r.Deep.Sessions))
		c.Subjects = stat.Ratio(float64(r.Deep.Subjects), float64(r.Deep.Sessions))
	}
	return c
}

// costs of sessions, measured. Lines are by sessions.
type costs struct {
	Memory, Server, Ready     stat.Line
	Journal, Index, Snapshots float64 // bytes of a turn, of a turn, of a session
	Streams, Consumers        int
	Events, Subjects          float64 // of a turn, of a session
}

func (r report) Fill(to *result.Result) {
	to.Figures = append(to.Figures, r.Goals...)
	if len(r.Sizes) == 0 {
		return
	}
	c := r.costs()
	to.Figures = append(to.Figures,
		result.Of("sizes.memory.slope", "memory of one more session", "B", c.Memory.Slope).Beside(c.Server.Slope),
		result.Of("sizes.memory.base", "memory without sessions", "B", c.Memory.At0).Beside(c.Server.At0),
		result.Of("sizes.ready.slope", "start to ready, one more session", "s", c.Ready.Slope),
		result.Of("sizes.journal", "journal, a turn", "B", c.Journal),
		result.Of("sizes.index", "index of conversations, a turn", "B", c.Index),
		result.Of("sizes.snapshots", "snapshots, a session", "B", c.Snapshots),
		result.Of("sizes.events", "events of a turn", "", c.Events),
		result.Of("sizes.subjects", "subjects of a session", "", c.Subjects),
		result.Of("sizes.streams", "streams", "", float64(c.Streams)),
		result.Of("sizes.consumers", "consumers", "", float64(c.Consumers)))
	for _, s := range r.Sizes {
		to.Figures = append(to.Figures,
			result.Of(fmt.Sprint("sizes.rss.", s.Sessions),
				fmt.Sprintf("memory at rest, %d sessions", s.Sessions), "B", float64(s.RSS)).Beside(float64(s.Floor.RSS)),
			result.Of(fmt.Sprint("sizes.ready.", s.Sessions),
				fmt.Sprintf("start to ready, %d sessions", s.Sessions), "ms", stat.MS(s.Ready)).Beside(stat.MS(s.Floor.Took)))
	}
}

func (r report) Print(p console.Printer) {
	p.Say("Sessions of %d messages and as many answers that lie on the disk; floor: a bare server that opens the same store.\n", r.Messages)
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "sessions\tevents\tsubjects\tjournal\tsnapshots\tindex\thome\tready ms\tfloor ms\tmemory\tfloor\t")
	all := r.Sizes
	if r.Deep != nil {
		all = append(slices.Clone(all), *r.Deep)
	}
	for _, s := range all {
		b := func(n int64) string { return result.With(float64(n), "B") }
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t\n", s.Sessions, s.Events, s.Subjects, b(s.Journal), b(s.Snapshots), b(s.Index),
			b(s.Disk), stat.MS(s.Ready), stat.MS(s.Floor.Took), b(s.RSS), b(s.Floor.RSS))
	}
	_ = w.Flush()
	c := r.costs()
	p.Say("\none more session: %s of memory (bare server %s), %s of snapshots; a turn: %s of journal in %.1f events, %s of index",
		result.With(c.Memory.Slope, "B"), result.With(c.Server.Slope, "B"), result.With(c.Snapshots, "B"),
		result.With(c.Journal, "B"), c.Events, result.With(c.Index, "B"))
	bench.PrintGoals(p, r.Goals)
}
