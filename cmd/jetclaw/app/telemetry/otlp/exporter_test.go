package otlp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/telemetry/otlp"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/telemetry/otlp/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an exporter behind the SDK's batcher.
type rig struct {
	*otlptest.Collector
	exporter *otlp.Exporter
	provider *sdk.TracerProvider
	log      *record
}

func newRig(t *testing.T, env map[string]string) *rig {
	t.Helper()
	r := &rig{Collector: otlptest.New(t), log: &record{}}
	lookup := func(name string) (string, bool) {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return r.URL, true
		}
		v, ok := env[name]
		return v, ok
	}
	c, ok, err := otlp.FromEnv(lookup)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if r.exporter, err = otlp.New(c, slog.New(slog.NewTextHandler(r.log, nil))); err != nil {
		t.Fatal(err)
	}
	r.provider = sdk.NewTracerProvider(sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "a test"))),
		sdk.WithBatcher(r.exporter))
	t.Cleanup(func() { r.shut(t) })
	return r
}

func (r *rig) shut(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.provider.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func (r *rig) span(name string, options ...trace.SpanStartOption) {
	_, s := r.provider.Tracer("test").Start(context.Background(), name, options...)
	s.End()
}

// record keeps what is logged.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

func TestASpanArrivesAsItWas(t *testing.T) {
	r := newRig(t, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=a%20b,authorization=Bearer%20s3cr3t", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"})
	tracer := r.provider.Tracer("test")
	ctx, parent := tracer.Start(context.Background(), "parent", trace.WithSpanKind(trace.SpanKindProducer))
	other := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	began := time.Unix(1_700_000_000, 123_456_789)
	_, child := tracer.Start(ctx, "child", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began),
		trace.WithLinks(trace.Link{SpanContext: other, Attributes: []attribute.KeyValue{attribute.String("why", "x")}}),
		trace.WithAttributes(attribute.Int64("n", 1<<62), attribute.Bool("b", true), attribute.Float64("f", 0.5), attribute.String("s", "é\"\n"),
			attribute.StringSlice("l", []string{"a"})))
	child.SetStatus(codes.Error, "timeout")
	child.End(trace.WithTimestamp(began.Add(time.Second)))
	parent.End()
	r.shut(t)
	spans := r.Spans()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	c, p := spans[0], spans[1]
	if c.Name != "child" || c.TraceID != p.TraceID || c.Parent != p.ID || p.Parent != "" || c.Kind != 3 || p.Kind != 4 {
		t.Errorf("%+v of %+v", c, p)
	}
	if !c.Start.Equal(began) || c.End.Sub(c.Start) != time.Second || c.Error != "timeout" || p.Error != "" {
		t.Errorf("%+v", c)
	}
	want := map[string]any{"n": int64(1 << 62), "b": true, "f": 0.5, "s": "é\"\n"}
	for k, v := range want {
		if c.Attributes[k] != v {
			t.Errorf("%s is %v, want %v", k, c.Attributes[k], v)
		}
	}
	if len(c.Links) != 1 || c.Links[0].TraceID != other.TraceID().String() || c.Links[0].ID != other.SpanID().String() || c.Links[0].Attributes["why"] != "x" {
		t.Errorf("links %+v", c.Links)
	}
	if c.Resource["service.name"] != "a test" || c.Headers.Get("X-Tenant") != "a b" || c.Headers.Get("Authorization") != "Bearer s3cr3t" {
		t.Errorf("resource %v, headers %v", c.Resource, c.Headers)
	}
	if r.exporter.Exported() != 2 || r.exporter.Refused() != 0 || r.log.String() != "" {
		t.Errorf("exported %d, refused %d; %s", r.exporter.Exported(), r.exporter.Refused(), r.log)
	}
}

// TestABatchIsTriedAgain: as long as the collector says that it is worth it.
func TestABatchIsTriedAgain(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.Answer(func(w http.ResponseWriter) bool {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(status)
				return true
			})
			began := time.Now()
			r.span("once")
			r.shut(t)
			if n := len(r.Spans()); n != 1 || r.Posts() != 2 || r.exporter.Exported() != 1 || r.exporter.Refused() != 0 {
				t.Errorf("%d spans of %d requests; exported %d, refused %d", n, r.Posts(), r.exporter.Exported(), r.exporter.Refused())
			}
			if took := time.Since(began); took < time.Second {
				t.Errorf("it was not left alone for a second, but for %s", took)
			}
		})
	}
}

func TestWhatIsFinalIsNotTriedAgain(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusInternalServerError, http.StatusFound} {
		r := newRig(t, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=s3cr3t"})
		r.Answer(func(w http.ResponseWriter) bool {
			w.Header().Set("Location", r.URL+"/elsewhere")
			w.WriteHeader(status)
			return true
		})
		r.span("lost")
		r.shut(t)
		if r.Posts() != 1 || r.exporter.Refused() != 1 || r.exporter.Exported() != 0 {
			t.Errorf("%d: %d requests, %d refused", status, r.Posts(), r.exporter.Refused())
		}
		if said := r.log.String(); strings.Count(said, "spans are lost") != 1 || strings.Contains(said, "s3cr3t") {
			t.Errorf("%d: it says %q", status, said)
		}
	}
}

func TestRejectedSpansAreCounted(t *testing.T) {
	for _, n := range []string{`"1"`, `1`} {
		r := newRig(t, nil)
		r.Answer(func(w http.ResponseWriter) bool {
			fmt.Fprintf(w, `{"partialSuccess":{"rejectedSpans":%s,"errorMessage":"no"}}`, n)
			return true
		})
		r.span("a")
		r.span("b")
		r.shut(t)
		if r.exporter.Exported() != 1 || r.exporter.Refused() != 1 {
			t.Errorf("exported %d, refused %d", r.exporter.Exported(), r.exporter.Refused())
		}
	}
}

// TestNobodyWaitsForACollector: one that hangs costs who makes spans nothing, and the end of a process a bounded time.
func TestNobodyWaitsForACollector(t *testing.T) {
	r := newRig(t, nil)
	hang := make(chan struct{})
	r.Answer(func(http.ResponseWriter) bool { <-hang; return true })
	defer close(hang)
	for range 3 * sdk.DefaultMaxQueueSize { // more than there is room for
		r.span("many")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.provider.Shutdown(ctx); err == nil {
		t.Error("the end of the batcher is said to have come while it hangs")
	}
	if err := r.exporter.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	read := func(pairs ...string) (otlp.Config, bool, error) {
		return otlp.FromEnv(func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		})
	}
	const base, own = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for want, pairs := range map[string][]string{
		"http://c:4318/v1/traces":   {base, "http://c:4318"},
		"http://c:4318/x/v1/traces": {base, "http://c:4318/x/"},
		"http://c:4318/y":           {base, "http://b:1", own, "http://c:4318/y"},
		"https://c/":                {own, "https://c"},
	} {
		if c, ok, err := read(pairs...); err != nil || !ok || c.Endpoint != want {
			t.Errorf("%v: %q, %v, %v; want %q", pairs, c.Endpoint, ok, err, want)
		}
	}
	for _, off := range [][]string{{}, {base, " "}, {base, "http://c", "OTEL_SDK_DISABLED", "true"}, {base, "http://c", "OTEL_TRACES_EXPORTER", "none"}} {
		if _, ok, err := read(off...); ok || err != nil {
			t.Errorf("%v: %v, %v", off, ok, err)
		}
	}
	for name, bad := range map[string]string{
		base: "c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "soon", "OTEL_EXPORTER_OTLP_COMPRESSION": "zip",
		"OTEL_EXPORTER_OTLP_HEADERS": "s3cr3t", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere", "OTEL_TRACES_EXPORTER": "zipkin",
	} {
		_, _, err := read(name, bad, base, "http://c", own, "")
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s=%s: %v", name, bad, err)
		}
	}
	c, _, err := read(base, "http://u:passw0rd@c", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20tok3n", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "OTEL_EXPORTER_OTLP_TIMEOUT", "2500")
	if all := fmt.Sprint(c.Secrets()); err != nil || !strings.Contains(all, "tok3n") || !strings.Contains(all, "passw0rd") {
		t.Errorf("secrets %v, %v", all, err)
	}
	if len(c.Warnings) != 1 || c.Timeout != 2500*time.Millisecond {
		t.Errorf("%+v", c)
	}
}
