package turn

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// raceReport is a part of what `tool --json` prints. Durations are in nanoseconds; fields are only added.
type raceReport struct {
	Approval    string          `json:"approval"`
	Deciders    int             `json:"deciders"`
	Connections int             `json:"connections"`
	Won         int             `json:"won"`
	Winner      callv1.Decision `json:"winner"`          // what it said
	Same        int             `json:"same"`            // were told that it was decided like this already
	Lost        int             `json:"lost"`            // were told that it was decided otherwise
	Told        int             `json:"told"`            // of these two, that were told by whom
	Unclear     map[string]int  `json:"unclear"`         // all others, by the kind of the fault
	Again       int             `json:"asked_again"`     // there were too many at once
	Decided     int             `json:"decided"`         // approval.decided in the journal
	Stored      callv1.Decision `json:"stored_decision"` // that it has
	Claimed     int             `json:"claimed"`         // call.started in the journal
	Ran         bool            `json:"ran"`             // the file was written
	Took        time.Duration   `json:"took_ns"`         // until the last was told
	Each        stat.Spread     `json:"each"`
	Goals       []result.Figure `json:"goals"`
}

func (r *raceReport) finish() {
	unclear := 0
	for _, n := range r.Unclear {
		unclear += n
	}
	runs, want := 0, 0
	if r.Ran || r.Claimed > 0 {
		runs = max(1, r.Claimed)
	}
	if r.Winner.Allows() {
		want = 1
	}
	r.Goals = []result.Figure{
		result.Goal(fmt.Sprintf("winners of %d answers to one approval", r.Deciders), "1", fmt.Sprint(r.Won), r.Won == 1).
			As("race.won").In("", float64(r.Won)),
		result.Goal("losers that were told who won", fmt.Sprint(r.Deciders-1),
			fmt.Sprintf("%d, %d told something else", r.Told, unclear), r.Told == r.Deciders-1).
			As("race.told").In("", float64(r.Told)),
		result.Goal(
			"decisions in the journal, and what was told to the winner", "1, the same",
			fmt.Sprintf("%d: %s, told %s", r.Decided, r.Stored, r.Winner), r.Decided == 1 && r.Stored == r.Winner,
		).As("race.decided").In("", float64(r.Decided)),
		result.Goal("runs of the call after "+string(r.Winner), fmt.Sprint(want), fmt.Sprint(runs), runs == want && r.Ran == (want == 1)).
			As("race.ran").In("", float64(runs)),
	}
}

func (r raceReport) say(p console.Printer) {
	p.Say("%d answers to one approval at once, half of them yes, over %d connections: the last was told after %.0f ms; p50 %.0f ms, p99 %.0f ms",
		r.Deciders, r.Connections, stat.MS(r.Took), stat.MS(r.Each.P50), stat.MS(r.Each.P99))
	p.Say("%d won (%s), %d were told that it was decided as they say, %d otherwise; %d questions were asked again", r.Won, r.Winner, r.Same, r.Lost, r.Again)
}
