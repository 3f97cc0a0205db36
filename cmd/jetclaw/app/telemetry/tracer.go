package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/telemetry/otlp"
)

// Tracer makes the spans of a process. A nil one makes none; nothing of it is global.
type Tracer struct {
	provider *sdk.TracerProvider
	exporter *otlp.Exporter
	tracer   trace.Tracer
	made     atomic.Uint64
	tools    *toolNames
}

// TracerConfig says who makes spans.
type TracerConfig struct {
	Version  string // of jetclaw
	Target   string // what runs in the process
	Instance string // the process, among others
	Lookup   func(string) (string, bool)
	Log      *slog.Logger
}

// NewTracer makes a tracer that sends to where the standard environment variables say; nil without error when they name nowhere. secrets
// are what it has read there that may not be seen, notes are for the person.
func NewTracer(c TracerConfig) (t *Tracer, secrets, notes []string, err error) {
	to, ok, err := otlp.FromEnv(c.Lookup)
	if err != nil || !ok {
		return nil, nil, nil, err
	}
	if err := knownSampler(c.Lookup); err != nil {
		return nil, nil, nil, err
	}
	exporter, err := otlp.New(to, c.Log)
	if err != nil {
		return nil, nil, nil, err
	}
	res, err := resource.New(context.Background(),
		resource.WithAttributes(
			attribute.String(AttrServiceName, "jetclaw"), attribute.String(AttrServiceVersion, c.Version),
			attribute.String(AttrServiceID, c.Instance), attribute.String(AttrTarget, c.Target),
		),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t = newTracer(res, sdk.NewBatchSpanProcessor(exporter))
	t.exporter = exporter
	return t, to.Secrets(), to.Warnings, nil
}

// scopeName is the name of what makes the spans.
const scopeName = "github.com/jetclaw/jetclaw"

func newTracer(res *resource.Resource, to sdk.SpanProcessor) *Tracer {
	t := &Tracer{tools: newToolNames()}
	t.provider = sdk.NewTracerProvider(sdk.WithResource(res), sdk.WithSpanProcessor(counting{to, &t.made}))
	t.tracer = t.provider.Tracer(scopeName)
	return t
}

// knownSampler refuses a sampler that the SDK would replace by its default, saying so on stderr past the logger.
func knownSampler(lookup func(string) (string, bool)) error {
	name, _ := lookup("OTEL_TRACES_SAMPLER")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "", "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
		return nil
	case "traceidratio", "parentbased_traceidratio":
	default:
		return fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not known; always_on, always_off, traceidratio, or one of them after parentbased_", name)
	}
	arg, ok := lookup("OTEL_TRACES_SAMPLER_ARG")
	var share float64
	if _, err := fmt.Sscan(arg, &share); ok && arg != "" && (err != nil || share < 0 || share > 1) {
		return errors.New("OTEL_TRACES_SAMPLER_ARG: has to be a number from 0 to 1")
	}
	return nil
}

// counting counts the spans that are handed to a processor.
type counting struct {
	sdk.SpanProcessor
	n *atomic.Uint64
}

// OnEnd implements sdk.SpanProcessor.
func (c counting) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.n.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}

type traceStats struct{ made, exported, dropped uint64 }

func (t *Tracer) stats() traceStats {
	if t == nil {
		return traceStats{}
	}
	s := traceStats{made: t.made.Load()}
	if t.exporter != nil {
		s.exported, s.dropped = t.exporter.Exported(), t.exporter.Refused()
	}
	return s
}

// Close sends what waits, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	if t.exporter != nil {
		err = errors.Join(err, t.exporter.Shutdown(ctx)) // also when the batcher did not get that far
	}
	return err
}

// parse reads a traceparent (W3C Trace Context, version 00 and what is compatible with it).
func parse(text string) (trace.SpanContext, bool) {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	var none trace.SpanContext
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" || text[:2] == "00" && len(text) != length {
		return none, false
	}
	id, err := trace.TraceIDFromHex(text[3:35])
	if err != nil {
		return none, false
	}
	span, err := trace.SpanIDFromHex(text[36:52])
	if err != nil {
		return none, false
	}
	var flags byte
	if _, err := fmt.Sscanf(text[53:55], "%02x", &flags); err != nil {
		return none, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags) & trace.FlagsSampled, Remote: true,
	}), true
}

// format writes a traceparent.
func format(sc trace.SpanContext) string {
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + (sc.TraceFlags() & trace.FlagsSampled).String()
}
