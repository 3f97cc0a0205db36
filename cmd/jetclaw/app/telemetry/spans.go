package telemetry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// give begins the span of an event that is about to be appended, and gives the event its traceparent. The span ends with
// appended; of an event that is never stored it is forgotten.
func (t *Tracer) give(e *envelope.Event) {
	ctx := context.Background()
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer)}
	parent, ok := parse(e.Trace)
	switch {
	case ok && e.Origin.Waited:
		options = append(options, trace.WithLinks(linkTo(parent, "redelivery")))
	case ok:
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	e.Origin.Root = !ok || e.Origin.Waited
	_, span := t.tracer.Start(ctx, SpanAppend+" "+e.Type(), options...)
	e.Trace, e.Origin.Span = format(span.SpanContext()), span
}

func linkTo(sc trace.SpanContext, why string) trace.Link {
	return trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{attribute.String(AttrLink, why)}}
}

// appended ends the span of an event that is stored. What follows on another trace in its session is linked to it: an answer to a
// question, what a timer has woken, what was taken over. A new message begins something new.
func (t *Tracer) appended(service string, e envelope.Event, began time.Time, took time.Duration) {
	span, ok := e.Origin.Span.(trace.Span)
	if t == nil || !ok {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(append(ofEvent(service, e), attribute.String(AttrMessaging, "nats"),
			attribute.String(AttrDestination, subject.Journal), attribute.String(AttrMessageID, e.ID))...)
		before, ok := parse(e.Origin.Before)
		if ok && before.TraceID() != span.SpanContext().TraceID() && !begins(e.Body) {
			span.AddLink(linkTo(before, "session"))
		}
	}
	span.End(trace.WithTimestamp(began.Add(took)))
}

func begins(b envelope.Body) bool {
	switch b.(type) {
	case messagev1.Received, messagev1.Edited, messagev1.Refused:
		return true
	}
	return false
}

// ofEvent are the attributes that say where an event lies.
func ofEvent(service string, e envelope.Event) []attribute.KeyValue {
	return append(ofSession(e.Session),
		attribute.String(AttrService, service), attribute.String(AttrEvent, e.Type()),
		attribute.String(AttrStream, subject.Journal), attribute.Int64(AttrCursor, int64(e.Cursor)),
	)
}

func ofSession(s session.ID) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String(AttrConversation, string(s)), attribute.String(AttrSession, string(s)), attribute.String(AttrAgent, s.Agent()),
	}
}

// effect begins the span of the effect of a claim.
func (t *Tracer) effect(ctx context.Context, service string, claim envelope.Event) (context.Context, func(envelope.Body, error) string) {
	if t == nil {
		return ctx, func(envelope.Body, error) string { return claim.Trace }
	}
	if parent, ok := parse(claim.Trace); ok {
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	name, kind, more := t.effectOf(service, claim)
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(append(ofEvent(service, claim), more...)...))
	return ctx, func(outcome envelope.Body, err error) string {
		if span.IsRecording() {
			span.SetAttributes(attribute.String(AttrOutcome, outcomeOf(outcome, err)))
			if class := failureOf(outcome, err); class != "" {
				span.SetAttributes(attribute.String(AttrErrorType, class))
				span.SetStatus(codes.Error, class)
			}
		}
		span.End()
		return format(span.SpanContext())
	}
}

// effectOf is what the span of an effect is called.
func (t *Tracer) effectOf(service string, claim envelope.Event) (string, trace.SpanKind, []attribute.KeyValue) {
	switch b := claim.Body.(type) {
	case turnv1.Event:
		return SpanAgent + " " + claim.Session.Agent(), trace.SpanKindInternal, []attribute.KeyValue{attribute.String(AttrOperation, SpanAgent)}
	case callv1.Started:
		more := []attribute.KeyValue{
			attribute.String(AttrOperation, SpanTool), attribute.String(AttrToolCall, b.Call), attribute.String(AttrExecutor, b.Executor),
		}
		tool := t.tools.get(claim.Session, b.Turn, b.Call)
		if tool == "" {
			return SpanTool, trace.SpanKindInternal, more
		}
		return SpanTool + " " + tool, trace.SpanKindInternal, append(more, attribute.String(AttrTool, tool))
	case deliveryv1.Event:
		return SpanDeliver + " " + channelOf(claim.Session), trace.SpanKindClient, nil
	}
	return SpanEffect + " " + service, trace.SpanKindInternal, nil
}

// failureOf is the class of what went wrong with an effect; "" for nothing. Texts are not for spans.
func failureOf(outcome envelope.Body, err error) string {
	if err != nil {
		return errorClass(err)
	}
	switch b := outcome.(type) {
	case turnv1.Failed:
		return string(b.Cause)
	case turnv1.CompactionFailed:
		return string(b.Cause)
	case callv1.Completed:
		if b.Outcome != callv1.OK {
			return string(b.Outcome)
		}
	case deliveryv1.Failed, deliveryv1.Unknown:
		return verb(outcome)
	}
	return ""
}

// rang remembers what tool a call is of: the claim of the call does not say.
func (t *Tracer) rang(e envelope.Event) {
	if t == nil {
		return
	}
	if d, ok := e.Body.(callv1.Dispatched); ok {
		t.tools.put(e.Session, d.Turn, d.Call, d.Tool)
	}
}

// span is a span of a call; nil where none is made.
type span struct{ trace.Span }

func (s *span) traceparent() string {
	if s == nil {
		return ""
	}
	return format(s.SpanContext())
}

// end ends it, with the class of a failure or "".
func (s *span) end(class string) {
	if s == nil {
		return
	}
	if class != "" {
		s.SetAttributes(attribute.String(AttrErrorType, class))
		s.SetStatus(codes.Error, class)
	}
	s.End()
}

// chat begins the span of a model call.
func (t *Tracer) chat(ctx context.Context, ref string) (context.Context, *span) {
	if t == nil {
		return ctx, nil
	}
	provider, model, ok := strings.Cut(ref, "/")
	if !ok {
		model = ref
	}
	ctx, s := t.tracer.Start(ctx, SpanChat+" "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String(AttrOperation, chat), attribute.String(AttrProvider, provider), attribute.String(AttrRequestModel, model)))
	return ctx, &span{s}
}

// chatted ends the span of a model call.
func (s *span) chatted(u turnv1.Usage, class string) {
	if s == nil {
		return
	}
	for _, n := range []struct {
		name  string
		count int
	}{{AttrInputTokens, u.Input}, {AttrOutputTokens, u.Output}, {AttrCacheRead, u.CacheRead}, {AttrCacheWrite, u.CacheWrite}} {
		if n.count > 0 {
			s.SetAttributes(attribute.Int(n.name, n.count))
		}
	}
	s.end(class)
}

// request begins the span of a request to an MCP server. What belongs to no call has none.
func (t *Tracer) request(ctx context.Context, executor, method, target string) (context.Context, *span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	name, more := methodOf(method), []attribute.KeyValue{attribute.String(AttrMethod, method), attribute.String(AttrExecutor, executor)}
	if target != "" {
		name += " " + target
		if method == "tools/call" {
			more = append(more, attribute.String(AttrTool, target), attribute.String(AttrOperation, SpanTool))
		}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(more...))
	return ctx, &span{s}
}

// methods are those of MCP that we send.
var methods = []string{
	"initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
	"prompts/list", "prompts/get", "subscriptions/listen", "logging/setLevel",
}

func methodOf(name string) string {
	if slices.Contains(methods, name) {
		return name
	}
	return Other
}

// toolNames remembers the tools of the newest calls. Bounded; safe for concurrent use.
type toolNames struct {
	mu    sync.Mutex
	names map[[3]string]string // guarded by mu
	order [][3]string          // guarded by mu; oldest first
}

const maxTools = 1024

func newToolNames() *toolNames { return &toolNames{names: map[[3]string]string{}} }

func (n *toolNames) put(s session.ID, turn, call, tool string) {
	k := [3]string{string(s), turn, call}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.names[k]; ok {
		return
	}
	if len(n.order) == maxTools {
		delete(n.names, n.order[0])
		n.order = n.order[1:]
	}
	n.names[k] = tool
	n.order = append(n.order, k)
}

func (n *toolNames) get(s session.ID, turn, call string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[[3]string{string(s), turn, call}]
}
