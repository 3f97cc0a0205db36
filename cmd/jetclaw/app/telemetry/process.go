package telemetry

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Process is what one process tells of itself. Its methods may be called from any goroutine.
type Process struct {
	r      *registry
	tracer *Tracer                  // nil: no traces are made
	models atomic.Pointer[[]string] // references that the configuration names

	appended, conflicts, failures, bells, redelivered, dead, poisoned, refused *vec[*metrics.Counter]
	appendTime, effectTime, folds                                              *vec[*metrics.PrometheusHistogram]
	facts                                                                      facts
	calls                                                                      modelCalls
	requests                                                                   *vec[*metrics.PrometheusHistogram] // of MCP
	probed                                                                     *vec[*metrics.Counter]

	running services
}

// Config says what a Process is made of.
type Config struct {
	Version string  // of jetclaw
	Tracer  *Tracer // nil: no traces are made
}

// New makes the metrics of a process.
func New(c Config) *Process {
	r := newRegistry()
	p := &Process{
		r: r, tracer: c.Tracer,
		appended: r.counter(EventsAppended), conflicts: r.counter(AppendConflicts), failures: r.counter(AppendFailures),
		bells: r.counter(Doorbells), redelivered: r.counter(DoorbellsRedelivered), dead: r.counter(DoorbellsQuarantined),
		poisoned: r.counter(SessionsQuarantined), refused: r.counter(BusRefusals),
		appendTime: r.histogram(AppendDuration), effectTime: r.histogram(EffectDuration), folds: r.histogram(FoldEvents),
		facts: newFacts(r), calls: newModelCalls(r), requests: r.histogram(MCPDuration), probed: r.counter(ProbeFailures),
	}
	r.gauge(BuildInfo, func(emit func(float64, ...string)) { emit(1, c.Version, runtime.Version()) })
	r.gauge(EffectsRunning, p.running.emit)
	p.probed.with()
	r.sum(SpansMade, func(emit func(float64, ...string)) { emit(float64(c.Tracer.stats().made)) })
	r.sum(SpansExported, func(emit func(float64, ...string)) { emit(float64(c.Tracer.stats().exported)) })
	r.sum(SpansDropped, func(emit func(float64, ...string)) { emit(float64(c.Tracer.stats().dropped)) })
	return p
}

// Write writes the metrics in the text format of Prometheus.
func (p *Process) Write(w io.Writer) error { return p.r.write(w) }

// Hooks are what the connection of a service tells.
func (p *Process) Hooks(service string) bus.Hooks {
	var (
		conflicts, bells, redelivered = p.conflicts.with(service), p.bells.with(service), p.redelivered.with(service)
		dead, poisoned, refused       = p.dead.with(service), p.poisoned.with(service), p.refused.with(service)
		appendTime, folds             = p.appendTime.with(service), p.folds.with(service)
		running                       = p.running.of(service)
	)
	h := bus.Hooks{
		Appended: func(e envelope.Event, began time.Time, err error) {
			took := time.Since(began)
			if _, lost := errors.AsType[*bus.Conflict](err); lost {
				conflicts.Inc()
				return
			}
			if err != nil {
				p.failures.with(service, string(fault.KindOf(err))).Inc()
				return
			}
			appendTime.Update(took.Seconds())
			p.appended.with(service, e.Type()).Inc()
			p.facts.count(p, e)
			p.tracer.appended(service, e, began, took)
		},
		Rang: func(e envelope.Event, deliveries int) {
			bells.Inc()
			if deliveries > 1 {
				redelivered.Inc()
			}
			p.tracer.rang(e)
		},
		GivenUp:  dead.Inc,
		Refused:  refused.Inc,
		Poisoned: poisoned.Inc,
		Folded:   func(n int) { folds.Update(float64(n)) },
		Effect: func(ctx context.Context, claim envelope.Event) (context.Context, func(envelope.Body, error) string) {
			began := time.Now()
			running.Add(1)
			ctx, end := p.tracer.effect(ctx, service, claim)
			return ctx, func(outcome envelope.Body, err error) string {
				running.Add(-1)
				p.effectTime.with(service, outcomeOf(outcome, err)).Update(time.Since(began).Seconds())
				return end(outcome, err)
			}
		},
	}
	if p.tracer != nil {
		h.Trace = p.tracer.give
	}
	return h
}

// outcomeOf is how an effect ended, as the last part of its event's kind says; "none" when there is no outcome.
func outcomeOf(body envelope.Body, err error) string {
	if err != nil || body == nil {
		return "none"
	}
	return verb(body)
}

// Models are the references that the configuration names. Others are Other in labels: people can name any.
func (p *Process) Models(refs []string) { p.models.Store(&refs) }

// model is the label of a model.
func (p *Process) model(ref string) string {
	if named := p.models.Load(); named != nil && slices.Contains(*named, ref) {
		return ref
	}
	return Other
}

// askTime is what a scrape waits for the modules to say whether they are ready.
const askTime = 2 * time.Second

// Modules has the readiness of the process told.
func (p *Process) Modules(ask func(context.Context) (ready bool, modules map[string]bool)) {
	told := func() (bool, map[string]bool) {
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		defer cancel()
		return ask(ctx)
	}
	p.r.gauge(Ready, func(emit func(float64, ...string)) {
		ready, _ := told()
		emit(one(ready))
	})
	p.r.gauge(ModuleReady, func(emit func(float64, ...string)) {
		_, modules := told()
		for name, ready := range modules {
			emit(one(ready), name)
		}
	})
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// services counts something that goes up and down, by service.
type services struct {
	all [16]struct {
		name atomic.Pointer[string]
		n    atomic.Int64
	}
}

// of is the counter of a service. There is room for more services than there are; the last place is for the rest.
func (s *services) of(name string) *atomic.Int64 {
	for i := range s.all {
		p := &s.all[i]
		if p.name.CompareAndSwap(nil, &name) || *p.name.Load() == name {
			return &p.n
		}
	}
	return &s.all[len(s.all)-1].n
}

func (s *services) emit(emit func(float64, ...string)) {
	for i := range s.all {
		if name := s.all[i].name.Load(); name != nil {
			emit(float64(s.all[i].n.Load()), *name)
		}
	}
}
