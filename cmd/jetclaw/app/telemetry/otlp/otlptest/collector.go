// Package otlptest is a collector of spans for tests: an HTTP server that takes OTLP in JSON and nothing that the specification
// does not allow. It knows the format from opentelemetry-proto (trace.proto, and the JSON mapping of the OTLP specification), not
// from the exporter.
package otlptest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Span is one span that was taken.
type Span struct {
	TraceID, ID, Parent string // hex; Parent "" for a root
	Name                string
	Kind                int
	Start, End          time.Time
	Attributes          map[string]any // string, int64, float64, bool
	Links               []Link
	Error               string         // message of an error status, or "error"; "" when there is none
	Resource            map[string]any // of the process
	Headers             http.Header    // that it came with
}

// Link is a link of a span.
type Link struct {
	TraceID, ID string
	Attributes  map[string]any
}

// Collector takes spans. Its methods may be called from any goroutine.
type Collector struct {
	*httptest.Server
	news chan struct{} // of size 1

	mu      sync.Mutex
	spans   []Span                           // guarded by mu
	wrong   []string                         // guarded by mu; requests that were not as they have to be
	answers []func(http.ResponseWriter) bool // guarded by mu; each for one request
	posts   int                              // guarded by mu
}

// New starts a collector that ends with the test, which fails when a request is not as the specification says.
func New(t testing.TB) *Collector {
	c := &Collector{news: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, w := range c.wrong {
			t.Errorf("not OTLP: %s", w)
		}
	})
	return c
}

// Answer has the next request that nothing else answers answered by fn. false: the request is taken all the same.
func (c *Collector) Answer(fn func(http.ResponseWriter) (instead bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, fn)
}

// Posts is how many requests came.
func (c *Collector) Posts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts
}

// Spans are all that were taken.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Wait returns the spans as soon as enough says so, or what there is at the end of patience.
func (c *Collector) Wait(patience time.Duration, enough func([]Span) bool) []Span {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		spans := c.Spans()
		if enough(spans) {
			return spans
		}
		select {
		case <-c.news:
		case <-over.C:
			return spans
		}
	}
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.posts++
	var first func(http.ResponseWriter) bool
	if len(c.answers) > 0 {
		first, c.answers = c.answers[0], c.answers[1:]
	}
	c.mu.Unlock()
	spans, err := read(r)
	switch {
	case err != nil:
		c.mu.Lock()
		c.wrong = append(c.wrong, err.Error())
		c.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case first != nil && first(w):
		return
	}
	c.mu.Lock()
	c.spans = append(c.spans, spans...)
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
	if first == nil {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"partialSuccess":{}}`)
	}
}

func read(r *http.Request) ([]Span, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("%s %s of %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var req exportRequest
	if err := d.Decode(&req); err != nil {
		return nil, fmt.Errorf("%w in %s", err, data)
	}
	var all []Span
	for _, rs := range req.ResourceSpans {
		res, err := attributes(rs.Resource.Attributes)
		if err != nil {
			return nil, err
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				span, err := s.decode()
				if err != nil {
					return nil, fmt.Errorf("%w in %s", err, data)
				}
				span.Resource, span.Headers = res, r.Header
				all = append(all, span)
			}
		}
	}
	return all, nil
}

type exportRequest struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes             []keyValue `json:"attributes"`
			DroppedAttributesCount uint32     `json:"droppedAttributesCount"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name                   string     `json:"name"`
				Version                string     `json:"version"`
				Attributes             []keyValue `json:"attributes"`
				DroppedAttributesCount uint32     `json:"droppedAttributesCount"`
			} `json:"scope"`
			Spans     []wireSpan `json:"spans"`
			SchemaURL string     `json:"schemaUrl"`
		} `json:"scopeSpans"`
		SchemaURL string `json:"schemaUrl"`
	} `json:"resourceSpans"`
}

type wireSpan struct {
	TraceID                string     `json:"traceId"`
	SpanID                 string     `json:"spanId"`
	TraceState             string     `json:"traceState"`
	ParentSpanID           string     `json:"parentSpanId"`
	Flags                  uint32     `json:"flags"`
	Name                   string     `json:"name"`
	Kind                   int        `json:"kind"`
	StartTimeUnixNano      string     `json:"startTimeUnixNano"`
	EndTimeUnixNano        string     `json:"endTimeUnixNano"`
	Attributes             []keyValue `json:"attributes"`
	DroppedAttributesCount uint32     `json:"droppedAttributesCount"`
	Links                  []struct {
		TraceID                string     `json:"traceId"`
		SpanID                 string     `json:"spanId"`
		TraceState             string     `json:"traceState"`
		Attributes             []keyValue `json:"attributes"`
		DroppedAttributesCount uint32     `json:"droppedAttributesCount"`
		Flags                  uint32     `json:"flags"`
	} `json:"links"`
	DroppedLinksCount uint32 `json:"droppedLinksCount"`
	Status            struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"status"`
}

type keyValue struct {
	Key   string                     `json:"key"`
	Value map[string]json.RawMessage `json:"value"`
}

func (s wireSpan) decode() (Span, error) {
	out := Span{TraceID: s.TraceID, ID: s.SpanID, Parent: s.ParentSpanID, Name: s.Name, Kind: s.Kind}
	err := errors.Join(id("traceId", s.TraceID, 16), id("spanId", s.SpanID, 8))
	if s.ParentSpanID != "" {
		err = errors.Join(err, id("parentSpanId", s.ParentSpanID, 8))
	}
	var aerr, serr, eerr error
	out.Attributes, aerr = attributes(s.Attributes)
	out.Start, serr = nanos(s.StartTimeUnixNano)
	out.End, eerr = nanos(s.EndTimeUnixNano)
	err = errors.Join(err, aerr, serr, eerr)
	for _, l := range s.Links {
		a, lerr := attributes(l.Attributes)
		err = errors.Join(err, lerr, id("traceId", l.TraceID, 16), id("spanId", l.SpanID, 8))
		out.Links = append(out.Links, Link{TraceID: l.TraceID, ID: l.SpanID, Attributes: a})
	}
	switch {
	case s.Name == "" || s.Kind < 1 || s.Kind > 5 || s.Status.Code < 0 || s.Status.Code > 2:
		err = errors.Join(err, fmt.Errorf("span %q of kind %d and status %d", s.Name, s.Kind, s.Status.Code))
	case out.End.Before(out.Start):
		err = errors.Join(err, fmt.Errorf("span %q ends before it begins", s.Name))
	case s.Status.Code == 2:
		if out.Error = s.Status.Message; out.Error == "" {
			out.Error = "error"
		}
	}
	return out, err
}

func id(field, v string, bytes int) error {
	b, err := hex.DecodeString(v)
	if err != nil || len(b) != bytes || !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return fmt.Errorf("%s %q", field, v)
	}
	return nil
}

func nanos(v string) (time.Time, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	return time.Unix(0, n), err
}

func attributes(all []keyValue) (map[string]any, error) {
	out := map[string]any{}
	for _, a := range all {
		if _, twice := out[a.Key]; twice || a.Key == "" || len(a.Value) != 1 {
			return nil, fmt.Errorf("attribute %q: %v", a.Key, a.Value)
		}
		for kind, raw := range a.Value {
			v, err := valueOf(kind, raw)
			if err != nil {
				return nil, fmt.Errorf("attribute %s: %w", a.Key, err)
			}
			out[a.Key] = v
		}
	}
	return out, nil
}

func valueOf(kind string, raw json.RawMessage) (any, error) {
	switch kind {
	case "stringValue":
		return as[string](raw)
	case "boolValue":
		return as[bool](raw)
	case "doubleValue":
		return as[float64](raw)
	case "intValue":
		text, err := as[string](raw) // a 64-bit integer is a string in JSON
		if err != nil {
			return nil, err
		}
		return strconv.ParseInt(text, 10, 64)
	case "arrayValue":
		return as[struct {
			Values []map[string]json.RawMessage `json:"values"`
		}](raw)
	}
	return nil, fmt.Errorf("a value of kind %q", kind)
}

func as[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
