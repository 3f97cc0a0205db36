package telegram

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// report is what --json prints. Durations are in nanoseconds; fields are only added.
type report struct {
	Seed     uint64           `json:"seed"`
	Chats    int              `json:"chats"`
	Groups   int              `json:"groups"` // of them
	Updates  int              `json:"updates"`
	Kills    int              `json:"kills"`       // all
	Early    int              `json:"early_kills"` // of them, while the daemon started
	Taps     int              `json:"taps"`        // on buttons that nobody has
	Took     time.Duration    `json:"took_ns"`
	Rest     time.Duration    `json:"rest_ns"`  // from when nobody wrote, killed or failed any more until all was answered
	Ready    stat.Spread      `json:"ready"`    // restart to ready
	Wait     stat.Spread      `json:"answered"` // message received to turn completed
	Counts   chat.Counts      `json:"counts"`
	Telegram people.Counted   `json:"telegram"`
	Faults   map[string]int   `json:"faults"` // that were arranged
	Bells    []store.Bell     `json:"bells"`
	Home     string           `json:"home,omitempty"`
	Replay   recheck.Replayed `json:"replay"` // of the journal that is left
	Verdict  judge.Verdict    `json:"verdict"`
	Lives    []trial.Life     `json:"lives"`
	Goals    []result.Figure  `json:"goals"`
	journal  []store.Record
}

func answersOf(e envelope.Event) []string {
	b, _ := e.Body.(turnv1.Completed)
	return b.Answers
}

// Story tells what is broken.
func (r report) Story() trial.Story {
	return trial.Story{Verdict: r.Verdict, Lives: r.Lives, Home: r.Home, Journal: r.journal}
}

const enoughUpdates = 1000 // from which on each thing has to have happened

// missing says what did not happen, so that a long run proves too little.
func (r report) missing() error {
	if r.Updates < enoughUpdates {
		return nil
	}
	c := r.Counts
	var none []string
	for _, x := range []struct {
		what string
		n    int
	}{
		{"edits in time", c.InTime},
		{"albums", c.Albums},
		{"commands", c.Commands},
		{"malformed updates", c.Malformed},
		{"taps", r.Taps},
		{"answers of several parts", c.Parts - c.Answers},
	} {
		if x.n == 0 {
			none = append(none, x.what)
		}
	}
	if len(none) > 0 {
		return fmt.Errorf("the run proves too little: no %s", strings.Join(none, ", nor "))
	}
	return nil
}

func (r report) Print(p console.Printer) {
	c, t := r.Counts, r.Telegram
	p.Say("%d updates of people in %d chats, %d of them groups, in %.0f s; %d kills, %d of them while it started; seed %d",
		r.Updates, r.Chats, r.Groups, r.Took.Seconds(), r.Kills, r.Early, r.Seed)
	p.Say("%d messages (%d albums, %d files), %d commands, %d edits (%d before a turn had the message), %d taps",
		c.Messages, c.Albums, c.Files, c.Commands, c.Edits, c.InTime, r.Taps)
	p.Say("%d malformed updates, of which %d are kept aside; some can be had only once", c.Malformed, c.Kept)
	p.Say("%d answers in %d messages; attempts: %d unknown, %d deferred; %d parts stand in a chat twice as recorded, %d say that they may be repeats",
		c.Answers, c.Parts, c.Unknown, c.Deferred, c.Repeats, c.Marked)
	if c.Drafts+c.Stale > 0 {
		p.Say("%d drafts became answers; %d were posted as the daemon died, and stay", c.Drafts, c.Stale)
	}
	if c.Split > 0 {
		p.Say("%d albums came in pieces, too far apart to be one message", c.Split)
	}
	p.Say("Telegram: %d polls, %d updates sent (%d of them confirmed); %d messages, %d edits (%d more would have changed nothing); %d times \"retry after\"",
		t.Polls, t.Sent, t.Confirmed, t.Messages, t.Edits, t.Vain, c.Held)
	if len(r.Faults) > 0 {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
			list = append(list, fmt.Sprintf("%d× %s", r.Faults[name], name))
		}
		p.Say("faults arranged: %s", strings.Join(list, ", "))
	}
	p.Say("restart to ready: p50 %.0f ms, max %.0f ms; message to answer in the journal: p50 %.0f ms, p99 %.0f ms; at rest after %.1f s",
		stat.MS(r.Ready.P50), stat.MS(r.Ready.Max), stat.MS(r.Wait.P50), stat.MS(r.Wait.P99), r.Rest.Seconds())
	bench.PrintGoals(p, r.Goals)
}
