package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The messages of opentelemetry-proto, as their JSON mapping has them: lowerCamelCase, ids in hex, 64-bit integers as strings, enums
// as numbers. Empty fields are left out.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl,omitempty"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	scopeSpans struct {
		Scope     scope      `json:"scope"`
		Spans     []jsonSpan `json:"spans"`
		SchemaURL string     `json:"schemaUrl,omitempty"`
	}
	scope struct {
		Name    string `json:"name,omitempty"`
		Version string `json:"version,omitempty"`
	}
	jsonSpan struct {
		TraceID           string     `json:"traceId"`
		SpanID            string     `json:"spanId"`
		TraceState        string     `json:"traceState,omitempty"`
		ParentSpanID      string     `json:"parentSpanId,omitempty"`
		Flags             uint32     `json:"flags,omitempty"`
		Name              string     `json:"name"`
		Kind              int        `json:"kind"`
		Start             string     `json:"startTimeUnixNano"`
		End               string     `json:"endTimeUnixNano"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
		Links             []link     `json:"links,omitempty"`
		DroppedLinks      int        `json:"droppedLinksCount,omitempty"`
		Status            *status    `json:"status,omitempty"`
	}
	link struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Flags      uint32     `json:"flags,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string  `json:"stringValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Array  *array   `json:"arrayValue,omitempty"`
	}
	array struct {
		Values []value `json:"values"`
	}
	answer struct {
		Partial struct {
			Rejected flexible `json:"rejectedSpans"`
			Message  string   `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
)

// flexible is a 64-bit integer, which may be a number or a string.
type flexible int64

// UnmarshalJSON implements json.Unmarshaler.
func (f *flexible) UnmarshalJSON(data []byte) error {
	if n := len(data); n > 1 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	*f = flexible(n)
	return err
}

// flagRemote is SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK and, where it is, SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK.
const (
	flagHasRemote = 0x100
	flagRemote    = 0x200
)

func flagsOf(sc, parent trace.SpanContext) uint32 {
	f := uint32(sc.TraceFlags()) | flagHasRemote
	if parent.IsRemote() {
		f |= flagRemote
	}
	return f
}

// encode makes the request for a batch. Its spans are all of one process, and so of one resource.
func encode(spans []sdk.ReadOnlySpan) request {
	if len(spans) == 0 {
		return request{ResourceSpans: []resourceSpans{}}
	}
	res := resourceSpans{SchemaURL: spans[0].Resource().SchemaURL(), Resource: resource{Attributes: keyValues(spans[0].Resource().Attributes())}}
	at := map[scope]int{}
	for _, s := range spans {
		k := scope{s.InstrumentationScope().Name, s.InstrumentationScope().Version}
		i, ok := at[k]
		if !ok {
			i = len(res.ScopeSpans)
			at[k] = i
			res.ScopeSpans = append(res.ScopeSpans, scopeSpans{Scope: k, SchemaURL: s.InstrumentationScope().SchemaURL})
		}
		res.ScopeSpans[i].Spans = append(res.ScopeSpans[i].Spans, spanOf(s))
	}
	return request{ResourceSpans: []resourceSpans{res}}
}

func spanOf(s sdk.ReadOnlySpan) jsonSpan {
	sc, parent := s.SpanContext(), s.Parent()
	j := jsonSpan{
		TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(), TraceState: sc.TraceState().String(), Flags: flagsOf(sc, parent),
		Name: s.Name(), Kind: kindOf(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: keyValues(s.Attributes()), DroppedAttributes: s.DroppedAttributes(), DroppedLinks: s.DroppedLinks(),
	}
	if parent.SpanID().IsValid() {
		j.ParentSpanID = parent.SpanID().String()
	}
	for _, l := range s.Links() {
		to := l.SpanContext
		j.Links = append(j.Links, link{
			TraceID: to.TraceID().String(), SpanID: to.SpanID().String(), TraceState: to.TraceState().String(),
			Attributes: keyValues(l.Attributes), Flags: flagsOf(to, to),
		})
	}
	switch st := s.Status(); st.Code {
	case codes.Ok:
		j.Status = &status{Code: 1}
	case codes.Error:
		j.Status = &status{Code: 2, Message: st.Description}
	case codes.Unset:
	}
	return j
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// kindOf is the enum SpanKind, which the SDK numbers in the same way: internal is 1.
func kindOf(k trace.SpanKind) int { return int(max(k, trace.SpanKindInternal)) }

func keyValues(all []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(all))
	for _, a := range all {
		out = append(out, keyValue{Key: string(a.Key), Value: valueOf(a.Value)})
	}
	return out
}

func valueOf(v attribute.Value) value {
	switch v.Type() {
	case attribute.BOOL:
		b := v.AsBool()
		return value{Bool: &b}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return value{Int: &n}
	case attribute.FLOAT64:
		f := v.AsFloat64()
		return value{Double: &f}
	case attribute.STRINGSLICE:
		list := array{Values: []value{}}
		for _, s := range v.AsStringSlice() {
			list.Values = append(list.Values, value{String: &s})
		}
		return value{Array: &list}
	default: // the others are written as they print
		s := v.Emit()
		return value{String: &s}
	}
}
