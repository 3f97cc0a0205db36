package sizes

import (
	"fmt"
	"math"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

// assumed is what the paper takes for granted of how people use it.
const (
	monthlyTurns = 60    // of a session: two messages a day
	oneServer    = 8e9   // bytes of memory that one server of NATS should not need more than
	partitions   = 64    // that the subjects name already
	indexLimit   = 100e9 // bytes above which one SQLite file is no read model any more
)

func paperSizes() []float64 { return []float64{1e3, 1e5, 1e7} }

// Paper says what many sessions cost, from what was measured of few.
func Paper(res result.Result) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	v := func(id string) float64 {
		f, _ := res.Figure("sizes." + id)
		return f.Value
	}
	floor := func(id string) float64 {
		f, _ := res.Figure("sizes." + id)
		return f.Floor
	}
	bytes := func(n float64) string { return result.With(n, "B") }
	// A slope that is less than nothing says that the sizes were too small to see one.
	slope, server := max(0, v("memory.slope")), max(0, floor("memory.slope"))
	say("\n## On paper: what sessions cost\n")
	say("Lines by least squares through homes of %s sessions: %s of memory at rest and %s more for each session on the disk (a bare server with the same",
		sizesOf(res), bytes(v("memory.base")), bytes(slope))
	say("store: %s and %s), %s of snapshots once it is long; a turn leaves %s in the journal (%s events) and %s in the index of conversations. A session has",
		bytes(floor("memory.base")), bytes(server), bytes(v("snapshots")), bytes(v("journal")), result.Number(math.Round(10*v("events"))/10), bytes(v("index")))
	say("%s subjects, and no stream, consumer or goroutine of its own. Assumed: %d turns a session and month, short texts, nothing deleted, one copy (R1;",
		result.Number(math.Round(10*v("subjects"))/10), monthlyTurns)
	say("three times the disk with R3), and memory that goes on growing by the line.\n")
	say("| sessions | streams | consumers | memory of one process | disk a month: journal | index | snapshots, in all | start to ready |" +
		" appends a second, mean |")
	say("|---|---|---|---|---|---|---|---|---|")
	for _, n := range paperSizes() {
		turns := n * monthlyTurns
		say("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", result.Number(n), result.Number(v("streams")), result.Number(v("consumers")),
			bytes(v("memory.base")+n*slope), bytes(turns*v("journal")), bytes(turns*v("index")), bytes(n*v("snapshots")),
			seconds(n*max(0, v("ready.slope"))), result.Number(turns*v("events")/(30*24*3600)))
	}
	say("\nWhere the design changes:\n")
	most := oneServer / max(1, slope)
	say("- **One server**: with %s for each session, %s of memory are full at about %s sessions. From there on the journal is spread: subjects name %d virtual",
		bytes(slope), bytes(oneServer), result.Number(round(most)), partitions)
	say("  partitions, so that it can be up to %d streams, each with its own leader, without renaming one; %s sessions are %s a stream. Each stream has the",
		partitions, result.Number(1e7), result.Number(round(1e7/partitions)))
	say("  consumers of the one, so that their number grows with the partitions (up to %s), and not with the sessions.",
		result.Number(partitions*v("consumers")))
	say("- **Retention**: `retention.dormant` archives sessions that sleep and purges them: what counts above are then the sessions of the last months, and")
	say("  the disk stops growing. Without it the journal of %s sessions grows by %s a month.", result.Number(1e7), bytes(1e7*monthlyTurns*v("journal")))
	months := indexLimit / max(1, 1e7*monthlyTurns*v("index"))
	say("- **Index**: it is one SQLite file; that of %s sessions has %s after %s days. It is a read model and can be rebuilt: by agent or partition, or in",
		result.Number(1e7), bytes(indexLimit), result.Number(round(30*months)))
	say("  another database.")
	say("- **Snapshots** are a key each in one bucket, whose subjects count in the server's memory as those of the journal do.")
	return b.String()
}

// sizesOf lists the numbers of sessions that were measured.
func sizesOf(res result.Result) string {
	return strings.Join(strings.Split(res.Options["sizes"], ","), ", ")
}

func seconds(s float64) string {
	switch {
	case s < 120:
		return result.Number(s) + " s"
	case s < 7200:
		return result.Number(round(s/60)) + " min"
	}
	return result.Number(round(s/3600)) + " h"
}

// round keeps two digits: more would pretend to be known.
func round(v float64) float64 {
	if v <= 0 {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(v))-1)
	if p < 0.1 {
		p = 0.1
	}
	return math.Round(v/p) * p
}
