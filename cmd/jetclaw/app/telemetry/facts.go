package telemetry

import (
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// facts counts what events say. Each event is counted once in the world: by the process that has appended it.
type facts struct {
	messages, turns, rounds, takeovers, calls, decisions, approvals, deliveries, fallbacks *vec[*metrics.Counter]
	unpriced                                                                               *vec[*metrics.Counter]
	cost                                                                                   *vec[*metrics.FloatCounter]
}

func newFacts(r *registry) facts {
	f := facts{
		messages: r.counter(Messages), turns: r.counter(Turns), rounds: r.counter(Rounds), takeovers: r.counter(Takeovers),
		calls: r.counter(Calls), decisions: r.counter(CallDecisions), approvals: r.counter(Approvals), deliveries: r.counter(Deliveries),
		fallbacks: r.counter(ModelFallbacks), unpriced: r.counter(ModelUnpriced), cost: r.amount(ModelCost),
	}
	f.rounds.with()
	f.takeovers.with()
	return f
}

// channels are the ways in and out; a session of any other name counts as Other.
var channels = []string{"http", "mcp", "telegram", "terminal"}

func channelOf(s session.ID) string {
	if c := s.Channel(); slices.Contains(channels, c) {
		return c
	}
	return Other
}

// verb is the last part of a body's kind: "completed" of turn.completed.v1.
func verb(b envelope.Body) string {
	_, v, _ := strings.Cut(envelope.KindOf(b.EventType()), ".")
	return v
}

// count counts one event that this process has appended.
func (f *facts) count(p *Process, e envelope.Event) {
	switch b := e.Body.(type) {
	case messagev1.Event:
		f.message(e.Session, b)
	case turnv1.Event:
		f.turn(p, b)
	case callv1.Event:
		f.call(b)
	case approvalv1.Event:
		decision := verb(b)
		if d, ok := b.(approvalv1.Decided); ok {
			if decision = Other; d.Answer.Decision.Valid() {
				decision = string(d.Answer.Decision)
			}
		}
		f.approvals.with(decision).Inc()
	case deliveryv1.Event:
		f.deliveries.with(channelOf(e.Session), verb(b)).Inc()
	}
}

func (f *facts) message(s session.ID, b messagev1.Event) {
	switch b.(type) {
	case messagev1.Received, messagev1.Edited, messagev1.Refused, messagev1.Quarantined:
		f.messages.with(channelOf(s), verb(b)).Inc()
	}
}

func (f *facts) turn(p *Process, b turnv1.Event) {
	switch b := b.(type) {
	case turnv1.Started, turnv1.Continued:
		f.rounds.with().Inc()
	case turnv1.Resumed:
		f.takeovers.with().Inc()
	case turnv1.Stepped:
		f.spent(p, b.Model, b.Usage, b.Tried)
	case turnv1.Overflowed:
		f.spent(p, b.Model, b.Usage, b.Tried)
	case turnv1.Completed:
		f.turns.with("completed", "").Inc()
		f.spent(p, b.Model, b.Usage, b.Tried)
	case turnv1.Failed:
		f.turns.with("failed", string(b.Cause)).Inc()
		f.spent(p, b.Model, b.Usage, b.Tried)
	case turnv1.Cancelled:
		if b.Turn != "" {
			f.turns.with("cancelled", string(b.Reason)).Inc()
		}
		f.spent(p, b.Model, b.Usage, nil)
	case turnv1.SessionCompacted:
		f.spent(p, b.Model, b.Usage, nil)
	case turnv1.CompactionFailed:
		f.spent(p, b.Model, b.Usage, nil)
	}
}

// nanos are the units of turnv1.Usage.Cost in a dollar.
const nanos = 1e9

func (f *facts) spent(p *Process, ref string, u turnv1.Usage, tried []turnv1.Try) {
	for _, t := range tried {
		f.fallbacks.with(p.model(t.Model), string(t.Cause)).Inc()
	}
	switch {
	case ref == "":
	case u.Priced:
		f.cost.with(p.model(ref)).Add(float64(u.Cost) / nanos)
	case u.Input+u.Output > 0:
		f.unpriced.with(p.model(ref)).Add(u.Input + u.Output)
	}
}

func (f *facts) call(b callv1.Event) {
	switch b := b.(type) {
	case callv1.Dispatched, callv1.Awaiting, callv1.Denied:
		f.decisions.with(verb(b)).Inc()
	case callv1.Completed:
		f.calls.with(b.Executor, string(b.Outcome)).Inc()
	}
}
