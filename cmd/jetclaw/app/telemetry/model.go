package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
)

// chat is the operation of every model call, as the conventions call it.
const chat = "chat"

type modelCalls struct {
	duration, first, tokens *vec[*metrics.PrometheusHistogram]
}

func newModelCalls(r *registry) modelCalls {
	return modelCalls{duration: r.histogram(ModelDuration), first: r.histogram(ModelFirstChunk), tokens: r.histogram(ModelTokens)}
}

// ModelCall implements turns.Observer.
func (p *Process) ModelCall(ctx context.Context, ref string) (context.Context, turns.Observed) {
	provider, _, _ := strings.Cut(ref, "/")
	name := Other
	if p.model(ref) == ref {
		if _, rest, ok := strings.Cut(ref, "/"); ok {
			name = rest
		} else {
			name = ref
		}
	}
	c := &modelCall{p: p, provider: provider, name: name, began: time.Now()}
	ctx, c.span = p.tracer.chat(ctx, ref)
	return ctx, c
}

// modelCall is one call under way.
type modelCall struct {
	p              *Process
	provider, name string
	began          time.Time
	span           *span
	once           sync.Once
}

// Said implements turns.Observed.
func (c *modelCall) Said() {
	c.once.Do(func() { c.p.calls.first.with(chat, c.provider, c.name).Update(time.Since(c.began).Seconds()) })
}

// Ended implements turns.Observed.
func (c *modelCall) Ended(u turnv1.Usage, err error) {
	class := errorClass(err)
	m := &c.p.calls
	m.duration.with(chat, c.provider, c.name, class).Update(time.Since(c.began).Seconds())
	if u.Input > 0 && !u.Estimated {
		m.tokens.with(chat, c.provider, c.name, "input").Update(float64(u.Input))
	}
	if u.Output > 0 && !u.Estimated {
		m.tokens.with(chat, c.provider, c.name, "output").Update(float64(u.Output))
	}
	c.span.chatted(u, class)
}

// errorClass is the class of a failure; "" for none. Texts of errors are for people.
func errorClass(err error) string {
	if err == nil {
		return ""
	}
	if class := turns.ErrorClass(err); class != "" {
		return class
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "_OTHER"
}

// MCPRequest implements mcp.Observer.
func (p *Process) MCPRequest(ctx context.Context, executor, method, target string) (_ context.Context, traceparent string, end func(error)) {
	began := time.Now()
	ctx, s := p.tracer.request(ctx, executor, method, target)
	return ctx, s.traceparent(), func(err error) {
		class := errorClass(err)
		p.requests.with(methodOf(method), executor, class).Update(time.Since(began).Seconds())
		s.end(class)
	}
}
