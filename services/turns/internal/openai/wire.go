package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	maxRetries  = 2
	maxFailBody = 64 << 10
)

// wire sends the request of one call, again where that may help, and hands on the body of a success.
type wire struct {
	client *Client
	body   *events // of the success
}

// Do is what the API client calls.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	// Not sent: it tells net/http that the request may go out again when a kept connection turns out to be closed.
	// Servers close theirs after as little as 5 s.
	req.Header["Idempotency-Key"] = nil
	delays := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(w.client.delay), backoff.WithMaxElapsedTime(0))
	for try := 0; ; try++ {
		if try > 0 {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			req.Body = body
		}
		resp, err := w.client.http.Do(req)
		if err == nil && resp.StatusCode == http.StatusOK {
			w.body = newEvents(resp.Body, w.client.cfg.MaxAnswer)
			resp.Body = w.body
			return resp, nil
		}
		var after time.Duration
		passing := errors.Is(err, syscall.ECONNREFUSED)
		if err == nil {
			f := refusal(resp, w.client.scrub())
			err, after, passing = f, f.after, f.passing()
		}
		wait := max(delays.NextBackOff(), after)
		if !passing || try == maxRetries || !pause(req.Context(), wait) {
			return nil, err
		}
	}
}

// pause waits, unless the context would end before; then it does not wait at all.
func pause(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// statusError is an answer other than 200.
type statusError struct {
	code     int
	said     string        // by the provider
	after    time.Duration // Retry-After
	location string        // host that a redirect points to
}

func (s *statusError) Error() string {
	return "HTTP " + strconv.Itoa(s.code) + " " + http.StatusText(s.code) + ": " + s.said
}

// passing says whether the same request may succeed later.
func (s *statusError) passing() bool {
	return s.code == http.StatusRequestTimeout || s.code == http.StatusTooManyRequests || s.code >= http.StatusInternalServerError
}

func refusal(resp *http.Response, secret scrub) *statusError {
	defer resp.Body.Close()
	s := &statusError{code: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFailBody))
	if err == nil {
		s.said = secret.said(body)
	}
	after := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(after); err == nil {
		s.after = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		s.after = time.Until(at)
	}
	if to, err := resp.Location(); err == nil {
		s.location = to.Host
	}
	return s
}
