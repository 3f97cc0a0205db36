package main

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/result"
	"github.com/jetclaw/jetclaw/loadtest/store"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

func (r startReport) fill(to *result.Result) {
	to.Figures = append(to.Figures, r.Goals...)
	if len(r.memory) > 0 {
		to.Series = append(to.Series, result.Series{Name: "Memory of the daemon while turns run, then at rest", Unit: "B", Points: r.memory})
	}
}

func (r replayReport) fill(to *result.Result) {
	to.Rounds, to.Figures = len(r.Rounds), append(to.Figures, r.Goals...)
	reindexed := each(r.Rounds, func(x replayRound) float64 { return x.Index.Rate })
	raw := each(r.Rounds, func(x replayRound) float64 { return x.Ordered.PerSecond })
	to.Figures = append(to.Figures,
		result.Of("replay.events", "events of the journal", "", float64(r.Events)),
		result.Of("replay.reindex", "sessions reindex", "events/s", reindexed...).Beside(raw...),
		result.Of("replay.explain_alone", "explain without a daemon", "ms", r.every(func(x replayRound) []time.Duration { return x.Alone })...))
}

func (r mcpReport) fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	for _, c := range r.Calls {
		part := func(id, name string, of func(callPath) time.Duration) result.Figure {
			return result.Of("mcp."+id+"."+c.Transport, name+", over "+c.Transport, "ms", c.values(of)...)
		}
		to.Figures = append(to.Figures,
			part("gate", "of a call: the gate, p50", func(x callPath) time.Duration { return x.Gate.P50 }),
			part("claim", "of a call: the claim, p50", func(x callPath) time.Duration { return x.Claim.P50 }),
			part("run", "of a call: the run, p50", func(x callPath) time.Duration { return x.Run.P50 }),
			part("turn", "the whole turn, p50", func(x callPath) time.Duration { return x.Turn.P50 }),
			part("turn_cpu", "CPU of the turn", func(x callPath) time.Duration { return x.CPU }))
		to.Distributions = append(to.Distributions, result.Distribution{Name: "A call over " + c.Transport, Curves: []result.Curve{
			floorCurve("bare call of the SDK", merged(c.rounds, callPath.bareHist)), measuredCurve(merged(c.rounds, callPath.pathHist)),
		}})
	}
	if i := r.Idle; i != nil {
		to.Figures = append(to.Figures,
			result.Of("mcp.idle_rss", "memory beside servers that nobody uses, to none", "B", float64(i.RSS)).Beside(float64(i.RSSNone)),
			result.Of("mcp.idle_first", "processes when all are seen for the first time, at most", "", float64(i.First)))
	}
}

func (r bridgeReport) fill(to *result.Result) {
	to.Rounds, to.Figures = r.Rounds, append(to.Figures, r.Goals...)
	for _, c := range r.Calls {
		to.Figures = append(to.Figures, result.Of("bridge.call."+c.Call, c.Call+", p50, over stdio", "ms", ms(c.Took.P50)).Beside(ms(c.Floor.P50)))
	}
	if c := r.Crowd; c != nil {
		to.Figures = append(to.Figures,
			result.Of("bridge.crowd", "memory with sessions over HTTP, to none", "B", float64(c.With)).Beside(float64(c.RSS)),
			result.Of("bridge.crowd_after", "memory after them", "B", float64(c.After)).Beside(float64(c.RSS)))
	}
	if c := r.CatchUp; c != nil {
		to.Figures = append(to.Figures,
			result.Of("bridge.catch_up_took", "until all messages after kill -9 were told", "s", c.Took.Seconds()),
			result.Of("bridge.catch_up_poll", "the slowest poll meanwhile", "ms", ms(c.Slowest)))
	}
}

func (r killReport) fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	c := r.Verdict.Counts
	to.Figures = append(to.Figures,
		result.Of("kill.kills", "kills", "", float64(r.Kills)),
		result.Of("kill.accepted", "messages accepted", "", float64(c.Accepted)),
		result.Of("kill.repeated", "repeats, each with delivery.unknown recorded", "", float64(c.Repeated)),
		result.Of("kill.ready", "restart to ready, p50", "ms", ms(r.Ready.P50)),
		result.Of("kill.every", "every interrupted turn, from ready, p50", "ms", ms(r.Resumed.P50)))
	r.timeline(to)
}

func (r telegramReport) fill(to *result.Result) {
	to.Seed, to.Figures = r.Seed, append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.updates", "updates", "", float64(r.Updates)),
		result.Of("telegram.answered", "a message to its answer in the journal, p50", "ms", ms(r.Wait.P50)),
		result.Of("telegram.unknown", "parts of which nobody knows whether they arrived", "", float64(r.Counts.Unknown)),
		result.Of("telegram.ready", "restart to ready, p50", "ms", ms(r.Ready.P50)))
	r.stories().timeline(to)
}

func (r rateReport) fill(to *result.Result) {
	to.Rounds, to.Figures = len(r.Rounds), append(to.Figures, r.Goals...)
	to.Figures = append(to.Figures,
		result.Of("telegram.first", "start to the first update in the journal", "ms", msOf(r.Rounds, func(x rateRound) time.Duration { return x.First })...),
		result.Of("telegram.shown", "start to the last answer in its chat", "s", r.Shown.Seconds()))
}

// timeline has the kills, and what was answered between them.
func (r killReport) timeline(to *result.Result) {
	if len(r.journal) == 0 {
		return
	}
	began := r.journal[0].Stored
	to.Series = append(to.Series, perSecond("Turns answered", "turn.completed", r.journal))
	var restarts []judge.Restart
	for _, l := range r.Lives {
		restarts = append(restarts, l.Restart)
	}
	res := judge.Resumptions(eventsOf(r.journal), restarts)
	again := map[int]float64{}
	for i, k := range res.Of {
		again[k] = res.First[i].Seconds()
	}
	for i, l := range r.Lives {
		m := result.Mark{What: "kill", At: max(0, l.Killed.Sub(began).Seconds())}
		if !l.Ready.IsZero() {
			ready := l.Ready.Sub(l.Started).Seconds()
			m.Ready = &ready
			if a, ok := again[i]; ok {
				m.Again = &a
			}
		}
		to.Marks = append(to.Marks, m)
	}
}

func eventsOf(journal []store.Record) []envelope.Event {
	return each(journal, func(r store.Record) envelope.Event { return r.Event })
}

// perSecond counts events of a kind in each second of a journal.
func perSecond(name, kind string, journal []store.Record) result.Series {
	s := result.Series{Name: name, Unit: "turns/s"}
	began, last := journal[0].Stored, journal[len(journal)-1].Stored
	counts := make([]float64, int(last.Sub(began).Seconds())+1)
	for _, r := range journal {
		if r.Kind() == kind {
			counts[max(0, int(r.Stored.Sub(began).Seconds()))]++
		}
	}
	for i, n := range counts {
		s.Points = append(s.Points, result.Point{At: float64(i), Value: n})
	}
	return s
}
