package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Exporter implements the SDK's SpanExporter.
type Exporter struct {
	config Config
	http   *http.Client
	log    *slog.Logger
	stop   context.Context //nolint:containedctx // ends with Shutdown, which has to end waits
	end    context.CancelFunc

	exported, refused atomic.Uint64
	failing           sync.Mutex
	told              bool // guarded by failing: that it fails
}

// New makes an exporter; it calls nobody.
func New(c Config, log *slog.Logger) (*Exporter, error) {
	if c.Endpoint == "" || log == nil {
		return nil, errors.New("an exporter of spans needs an endpoint and a logger")
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default HTTP transport has been replaced")
	}
	t := base.Clone()
	t.TLSClientConfig = c.TLS
	t.MaxIdleConnsPerHost = 1
	e := &Exporter{config: c, log: log, http: &http.Client{
		Transport: t, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers are for one server
	}}
	e.stop, e.end = context.WithCancel(context.Background())
	return e, nil
}

// Exported is how many spans the collector has taken.
func (e *Exporter) Exported() uint64 { return e.exported.Load() }

// Refused is how many spans it has not taken, or was not there to take.
func (e *Exporter) Refused() uint64 { return e.refused.Load() }

// ExportSpans sends one batch. It returns no error: who calls it would only write it past the logger.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	n := uint64(len(spans))
	if n == 0 {
		return nil
	}
	rejected, err := e.send(ctx, spans)
	rejected = min(rejected, n)
	if err != nil {
		rejected = n
	}
	e.exported.Add(n - rejected)
	e.refused.Add(rejected)
	e.tell(err, rejected)
	return nil
}

// tell logs that sending fails, or works again.
func (e *Exporter) tell(err error, rejected uint64) {
	e.failing.Lock()
	defer e.failing.Unlock()
	switch {
	case err != nil && !e.told:
		e.log.Warn("spans are lost: the collector does not take them; this is said once until it does", "error", err)
	case err == nil && rejected > 0 && !e.told:
		e.log.Warn("spans are lost: the collector has rejected some; this is said once until it takes all", "spans", rejected)
	case err == nil && rejected == 0 && e.told:
		e.log.Info("the collector takes spans again")
	}
	e.told = err != nil || rejected > 0
}

// send tries until the collector has taken or refused the batch, or ctx ends.
func (e *Exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) (rejected uint64, err error) {
	body, err := e.body(spans)
	if err != nil {
		return 0, err
	}
	waits := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstWait), backoff.WithMaxInterval(longestWait), backoff.WithMaxElapsedTime(0))
	for {
		rejected, again, err := e.post(ctx, body)
		var passing *passingError
		if !errors.As(err, &passing) {
			return rejected, err
		}
		wait := waits.NextBackOff()
		if again > 0 {
			wait = again
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return 0, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, err
		case <-e.stop.Done():
			timer.Stop()
			return 0, err
		}
	}
}

const (
	firstWait   = 500 * time.Millisecond
	longestWait = 5 * time.Second
	maxAnswer   = 64 << 10
)

func (e *Exporter) body(spans []sdk.ReadOnlySpan) ([]byte, error) {
	body, err := json.Marshal(encode(spans))
	if err != nil || !e.config.Gzip {
		return body, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// passingError is a failure after which the same batch may be taken.
type passingError struct{ err error }

func (p *passingError) Error() string { return p.err.Error() }
func (p *passingError) Unwrap() error { return p.err }

// post sends a batch once. again is how long the collector wants to be left alone.
func (e *Exporter) post(ctx context.Context, body []byte) (rejected uint64, again time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.Endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	for name, values := range e.config.Headers {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "jetclaw-otlp")
	if e.config.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return 0, 0, &passingError{err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, retryAfter(resp.Header.Get("Retry-After"), time.Now()), &passingError{fmt.Errorf("the collector answers %s", resp.Status)}
	}
	if resp.StatusCode/100 != 2 {
		return 0, 0, fmt.Errorf("the collector answers %s", resp.Status)
	}
	var a answer
	if err == nil && json.Unmarshal(data, &a) == nil && a.Partial.Rejected > 0 {
		return uint64(a.Partial.Rejected), 0, nil
	}
	return 0, 0, nil // a batch was taken, whatever stands in the answer
}

// retryAfter reads the header: seconds, or a date. 0: it says nothing.
func retryAfter(v string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// Shutdown ends waits and closes connections.
func (e *Exporter) Shutdown(context.Context) error {
	e.end()
	e.http.CloseIdleConnections()
	return nil
}
