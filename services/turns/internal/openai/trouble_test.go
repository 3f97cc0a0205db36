package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/openai"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		cause  turnv1.Cause
		tries  int64
		says   string
	}{
		{400, `{"error":{"message":"bad tools"}}`, turnv1.ModelRefused, 1, "The provider refused the request (HTTP 400): bad tools."},
		{400, `{"error":{"message":"maximum context length is 8192 tokens"}}`, turnv1.ModelRefused, 1, "Begin afresh with /new."},
		{401, `{"error":{"message":"Incorrect API key provided: ` + key + `."}}`, turnv1.ModelRefused, 1, "Incorrect API key provided: [key]. Check the key."},
		{403, `{"detail":"no"}`, turnv1.ModelRefused, 1, "does not accept the API key (HTTP 403): no."},
		{404, `{"error":"model 'fake-1' not found"}`, turnv1.ModelRefused, 1, `does not know the model "fake-1" (HTTP 404): model 'fake-1' not found.`},
		{404, "<html><body>nginx</body></html>", turnv1.ModelRefused, 1, "(HTTP 404). Check the model's name"},
		{413, "", turnv1.ModelRefused, 1, "too long"},
		{422, `{"message":"unprocessable\n\tthing"}`, turnv1.ModelRefused, 1, "unprocessable thing."},
		{408, "", turnv1.ModelUnavailable, 3, "(HTTP 408)"},
		{429, `{"error":{"message":"slow down"}}`, turnv1.ModelUnavailable, 3, "slow down. Try again later."},
		{500, "kaputt " + strings.Repeat("é", 1000), turnv1.ModelUnavailable, 3, "(HTTP 500): kaputt éé"},
		{503, "loading", turnv1.ModelUnavailable, 3, "(HTTP 503): loading. Try again later."},
		{204, "", turnv1.ModelGarbage, 1, "without content"},
	} {
		t.Run(http.StatusText(c.status)+" "+c.body[:min(len(c.body), 20)], func(t *testing.T) {
			var tries atomic.Int64
			api := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				if body, err := io.ReadAll(r.Body); err != nil || len(body) == 0 {
					t.Errorf("try %d has no body: %v", tries.Load(), err)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := generate(t.Context(), t, api, hello)
			text := wantCause(t, err, c.cause)
			if !strings.Contains(text, c.says) || len(text) > 600 {
				t.Errorf("says %q, want %q", text, c.says)
			}
			if tries.Load() != c.tries {
				t.Errorf("%d tries, want %d", tries.Load(), c.tries)
			}
		})
	}
}

func TestARetryThatHelps(t *testing.T) {
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		send(w, text("there"), finish("stop"), "[DONE]")
	})
	if a, err := generate(t.Context(), t, c, hello); err != nil || a.Text != "there" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestNoRetryAfterTheFirstByte: what was streamed to a person must not come again.
func TestNoRetryAfterTheFirstByte(t *testing.T) {
	var tries atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries.Add(1)
		send(w, text("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := generate(t.Context(), t, c, hello)
	wantCause(t, err, turnv1.ModelGarbage)
	if tries.Load() != 1 {
		t.Errorf("%d tries", tries.Load())
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := generate(t.Context(), t, client(t, server.URL), hello)
	if text := wantCause(t, err, turnv1.ModelUnavailable); !strings.Contains(text, "connection refused") || !strings.Contains(text, server.URL) {
		t.Errorf("says %q", text)
	}
	_, err = generate(t.Context(), t, client(t, "http://no-such-host.invalid"), hello)
	wantCause(t, err, turnv1.ModelUnavailable)
}

// TestARedirectIsNotFollowed: the key would go with it.
func TestARedirectIsNotFollowed(t *testing.T) {
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	defer thief.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/v1/"+key, http.StatusTemporaryRedirect)
	})
	_, err := generate(t.Context(), t, c, hello)
	if text := wantCause(t, err, turnv1.ModelRefused); !strings.Contains(text, "redirects to") || !strings.Contains(text, thief.Listener.Addr().String()) {
		t.Errorf("says %q", text)
	}
	if stolen.Load() {
		t.Error("the redirect was followed")
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name   string
		header string
		within time.Duration // time left for the call
		tries  int64
		took   time.Duration
		says   string
	}{
		{"in time", "30", time.Minute, 2, 30 * time.Second, ""},
		{"beyond the deadline", "90", time.Minute, 1, 0, "Try again in 1m30s."},
		{"as a date", time.Date(2000, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat), time.Minute, 2, 20 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock starts at midnight, 2000-01-01
				var tries atomic.Int64
				api, stop := serveInMemory(t, func(w http.ResponseWriter, _ *http.Request) {
					if tries.Add(1) == 1 {
						w.Header().Set("Retry-After", c.header)
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					send(w, text("there"), finish("stop"), "[DONE]")
				})
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				start := time.Now()
				_, err := generate(ctx, t, api, hello)
				if took := time.Since(start).Truncate(time.Second); tries.Load() != c.tries || took != c.took {
					t.Errorf("%d tries in %s", tries.Load(), took)
				}
				switch {
				case c.says == "" && err != nil:
					t.Error(err)
				case c.says != "":
					if text := wantCause(t, err, turnv1.ModelUnavailable); !strings.Contains(text, c.says) {
						t.Errorf("says %q", text)
					}
				}
			})
		})
	}
}

// TestAHang ends with the context, before the headers and in the middle of the answer.
func TestAHang(t *testing.T) {
	for _, events := range [][]string{nil, {text("half")}} {
		synctest.Test(t, func(t *testing.T) {
			api, stop := serveInMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if events != nil {
					send(w, events...)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := generate(ctx, t, api, hello); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAStreamWithoutAnEnd: the model has said that it is finished, so its answer does not wait for the deadline.
func TestAStreamWithoutAnEnd(t *testing.T) {
	for _, events := range [][]string{{text("done"), finish("stop")}, {text("done"), finish("stop"), "[DONE]"}} {
		synctest.Test(t, func(t *testing.T) {
			api, stop := serveInMemory(t, func(w http.ResponseWriter, r *http.Request) {
				send(w, events...)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			defer stop()
			start := time.Now()
			if a, err := generate(t.Context(), t, api, hello); err != nil || a.Text != "done" {
				t.Errorf("got %+v, %v", a, err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("waited %s for the end of the stream", took)
			}
		})
	}
}

// TestConnectionsAreKept: a plain turn must not pay for a new connection.
func TestConnectionsAreKept(t *testing.T) {
	peers := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		send(w, text("hi"), finish("stop"), "[DONE]")
	})
	for range 20 {
		if _, err := generate(t.Context(), t, c, hello); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) > 2 {
		t.Errorf("20 calls over %d connections", len(peers))
	}
}

func TestNew(t *testing.T) {
	for _, bad := range []openai.Config{
		{},
		{BaseURL: "api.openai.com/v1", Model: "m"},
		{BaseURL: "ftp://api.openai.com", Model: "m"},
		{BaseURL: "https://user:hunter2@api.openai.com/v1", Model: "m"},
		{BaseURL: "https://api.openai.com/v1?key=hunter2", Model: "m"},
		{BaseURL: "https://api.openai.com/v1"},
	} {
		if _, err := openai.New(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
