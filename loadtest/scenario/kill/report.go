package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// report is what --json prints. Durations are in nanoseconds; fields are only added.
type report struct {
	Seed        uint64           `json:"seed"`
	Kills       int              `json:"kills"`
	Early       int64            `json:"early_kills"`  // further kills, while the daemon started
	FlightShare float64          `json:"flight_share"` // kills that met at least 8 open model requests
	Open        int              `json:"open_p50"`     // open model requests at a kill
	Reposted    int64            `json:"reposted"`     // keys that were posted again after their 202
	Ready       stat.Spread      `json:"ready"`        // restart to ready
	First       stat.Spread      `json:"first_resumed"`
	Resumed     stat.Spread      `json:"resumed"` // every interrupted turn
	Overtaken   int              `json:"overtaken"`
	LongestCut  time.Duration    `json:"longest_cut_ns"`
	Rest        time.Duration    `json:"rest_ns"` // from the last kill's restart until all was answered
	Bells       []store.Bell     `json:"bells"`
	Home        string           `json:"home,omitempty"`
	Verdict     judge.Verdict    `json:"verdict"`
	Replay      recheck.Replayed `json:"replay"`        // of the journal that is left
	Mix         *mixReport       `json:"mix,omitempty"` // nil where only plain messages were sent
	Power       *powerReport     `json:"power,omitempty"`
	Full        *fullReport      `json:"full,omitempty"`
	Clock       *clockReport     `json:"clock,omitempty"`
	Lives       []trial.Life     `json:"lives"`
	Goals       []result.Figure  `json:"goals"`
	journal     []store.Record
}

// Story tells what is broken.
func (r report) Story() trial.Story {
	return trial.Story{Verdict: r.Verdict, Lives: r.Lives, Home: r.Home, Journal: r.journal}
}

const goalResume = 2 * time.Second

// judge reads the journal of the stopped daemon and puts everything together.
func (k *run) judge(ctx context.Context, rest time.Duration) (report, error) {
	r := report{Seed: k.o.Seed, Kills: k.o.kills, Early: k.early, Reposted: k.crowd.Again.Load(), Rest: rest, Lives: k.life}
	var err error
	if r.journal, r.Bells, err = store.Left(ctx, k.home.Data()); err != nil {
		return report{}, err
	}
	r.Replay = recheck.Journal(ctx, k.Bench, k.home)
	ev := k.evidence(r.journal)
	if err := k.effects(&ev); err != nil {
		return report{}, err
	}
	r.Verdict = judge.Judge(ev)
	if k.disk != nil && k.full == nil {
		r.Power = k.powered(&r.Verdict, ev)
	}
	left, err := k.survivors(ctx)
	if err != nil {
		return report{}, err
	}
	r.Verdict.Violations = append(r.Verdict.Violations, left...)
	r.Verdict.Violations = append(r.Verdict.Violations, r.Replay.Violations(len(r.journal))...)
	if r.Power == nil || !r.Power.MayLose {
		r.Verdict.Violations = append(r.Verdict.Violations, k.crowd.Found...)
	}
	for _, b := range r.Bells {
		if b.Unsent > 0 || b.Unacked > 0 && k.o.clock == nil {
			r.Verdict.Violations = append(r.Verdict.Violations, judge.Violation{
				Kind: judge.Stuck,
				Text: fmt.Sprintf("consumer %s of %s has %d messages undelivered and %d unacknowledged after a clean stop",
					b.Name, b.Stream, b.Unsent, b.Unacked),
			})
		}
	}
	if k.full != nil {
		k.filled(&r)
		k.write(&r)
		return r, nil
	}
	if k.o.clock != nil {
		k.clocked(&r)
		k.write(&r)
		return r, nil
	}
	r.times(ev.Journal, k.life)
	if k.o.Mix != crowd.MixPlain {
		r.Mix = k.mixed(ev)
		r.Verdict.Violations = append(r.Verdict.Violations, r.Mix.violations()...)
		r.Goals = append(r.Goals, r.Mix.goals()...)
	}
	k.write(&r)
	return r, nil
}

// write leaves the verdict beside the home when something is wrong.
func (k *run) write(r *report) {
	if len(r.Verdict.Violations) == 0 {
		return
	}
	r.Home = k.home.Dir
	if b, err := json.MarshalIndent(r.Verdict, "", " "); err == nil {
		_ = os.WriteFile(filepath.Join(k.Dir, "verdict.json"), b, 0o600)
	}
}

func (k *run) evidence(journal []store.Record) judge.Evidence {
	ev := k.crowd.Evidence(k.model)
	ev.Journal = trial.EventsOf(journal)
	if k.sink != nil {
		ev.Pushed = map[string]int{}
		for _, p := range k.sink.Pushes() {
			ev.Pushed[p.Marker]++
		}
	}
	return ev
}

func (r *report) times(journal []envelope.Event, lives []trial.Life) {
	var ready []time.Duration
	var open []int
	var restarts []judge.Restart
	met := 0
	for _, l := range lives {
		restarts = append(restarts, l.Restart)
		if !l.Ready.IsZero() {
			ready = append(ready, l.Ready.Sub(l.Started))
		}
		if l.Early {
			continue
		}
		open = append(open, l.Open)
		if l.Open >= inFlight {
			met++
		}
	}
	res := judge.Resumptions(journal, restarts)
	r.Ready, r.Open = stat.SpreadOf(ready), stat.Median(open)
	r.First, r.Resumed = stat.SpreadOf(res.First), stat.SpreadOf(res.Turns)
	r.Overtaken, r.LongestCut = res.Overtaken, res.LongestCut
	r.FlightShare = float64(met) / float64(max(1, len(open)))
	v := r.Verdict
	zero := func(k judge.Kind) result.Figure { return result.Counted("kill."+string(k), string(k), v.Of(k)) }
	for _, kind := range judge.Kinds() {
		r.Goals = append(r.Goals, zero(kind))
	}
	r.Goals = append(r.Goals, r.Replay.Goal(len(r.journal)),
		result.Goal("kills with ≥ 8 turns in flight", "≥ 90 %", fmt.Sprintf("%.0f %%", 100*r.FlightShare), r.FlightShare >= flightGoal).
			As("kill.flight").In("%", 100*r.FlightShare),
		result.Goal("ready to first resumed turn (p50; max)", "≤ 2 s",
			fmt.Sprintf("%.0f ms; %.0f ms", stat.MS(r.First.P50), stat.MS(r.First.Max)), r.First.Max <= goalResume).
			As("kill.resumed").In("ms", stat.AllMS(res.First...)...))
}

func (r report) Print(p console.Printer) {
	c := r.Verdict.Counts
	switch {
	case r.Clock != nil:
		r.Clock.say(p, r)
		return
	case r.Full != nil:
		r.Full.say(p, r)
		return
	}
	p.Say("%d kills of a daemon under load, and %d while it started; seed %d", r.Kills, r.Early, r.Seed)
	if r.Power != nil {
		r.Power.say(p)
	}
	p.Say("%d messages accepted in %d sessions, %d keys posted again; open model requests at a kill: p50 %d", c.Accepted, c.Sessions, r.Reposted, r.Open)
	p.Say("turns: %d completed, %d failed %v, %d cancelled; %d take-overs",
		c.Events["turn.completed"], c.Events["turn.failed"], c.Failures, c.Events["turn.cancelled"], c.Takeovers)
	p.Say("pushes: %d arrived, of which %d repeats with delivery.unknown recorded (%d); failed: %d",
		c.Pushed, c.Repeated, c.Events["delivery.unknown"], c.Events["delivery.failed"])
	p.Say("restart to ready: p50 %.0f ms, max %.0f ms; at rest %.1f s after the last one", stat.MS(r.Ready.P50), stat.MS(r.Ready.Max), r.Rest.Seconds())
	p.Say("every interrupted turn goes on after ready: %d turns, p50 %.0f ms, p99 %.0f ms, max %.0f ms",
		r.Resumed.N, stat.MS(r.Resumed.P50), stat.MS(r.Resumed.P99), stat.MS(r.Resumed.Max))
	if r.Mix != nil {
		r.Mix.say(p, c)
	}
	if r.Overtaken > 0 {
		p.Say("%d interrupted turns had not gone on when the next kill came; the longest of these lives was %.0f ms", r.Overtaken, stat.MS(r.LongestCut))
	}
	bench.PrintGoals(p, r.Goals)
}
