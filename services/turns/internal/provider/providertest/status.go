package providertest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// status plays answers other than 200, as real servers give them.
func (s Suite) status(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		class  model.Class
		tries  int64
		says   string
	}{
		{400, `{"error":{"message":"bad tools"}}`, model.Invalid, 1, "The provider refused the request (HTTP 400): bad tools."},
		{401, `{"error":{"message":"Incorrect API key provided: ` + Key + `."}}`, model.Denied, 1, "Incorrect API key provided: [key]. Check the key."},
		{402, `{"error":{"message":"pay"}}`, model.Denied, 1, "no credit (HTTP 402): pay."},
		{403, `{"detail":"no"}`, model.Denied, 1, "does not accept the API key (HTTP 403): no."},
		{404, `{"error":"model 'fake-1' not found"}`, model.Missing, 1, `does not know the model "fake-1" (HTTP 404): model 'fake-1' not found.`},
		{404, "<html><body>nginx</body></html>", model.Missing, 1, "(HTTP 404). Check the model's name"},
		{408, "", model.Passing, 3, "(HTTP 408)"},
		{409, "", model.Invalid, 1, "(HTTP 409)"},
		{413, "", model.Overflow, 1, "too long"},
		{422, `{"message":"unprocessable\n\tthing"}`, model.Invalid, 1, "unprocessable thing."},
		{429, `{"error":{"message":"slow down"}}`, model.Passing, 3, "slow down. Try again later."},
		{500, "kaputt " + strings.Repeat("é", 1000), model.Passing, 3, "(HTTP 500): kaputt éé"},
		{503, "loading", model.Passing, 3, "(HTTP 503): loading. Try again later."},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Passing, 3, "(HTTP 529): Overloaded."},
		{204, "", model.Garbage, 1, "without content"},
		{304, "", model.Invalid, 1, "redirects"},
	} {
		t.Run(http.StatusText(c.status)+" "+c.body[:min(len(c.body), 20)], func(t *testing.T) {
			var tries atomic.Int64
			m := s.New.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				if b, err := io.ReadAll(r.Body); err != nil || len(b) == 0 {
					t.Errorf("try %d has no body: %v", tries.Load(), err)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := Generate(t.Context(), t, m, Hello())
			if e := Want(t, err, c.class); !strings.Contains(e.Text, c.says) {
				t.Errorf("says %q, want %q", e.Text, c.says)
			}
			if tries.Load() != c.tries {
				t.Errorf("%d tries, want %d", tries.Load(), c.tries)
			}
		})
	}
}

func (s Suite) repeat(t *testing.T) {
	var tries atomic.Int64
	good := s.Good["text"]
	m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		send(w, good.Body)
	})
	if a, err := Generate(t.Context(), t, m, Hello()); err != nil || a.Text != good.Want.Text {
		t.Errorf("got %+v, %v", a, err)
	}
}

// noRepeat: what was streamed to a person must not come again.
func (s Suite) noRepeat(t *testing.T) {
	for name, b := range map[string]string{"some text": s.Start + s.Text("half"), "none": ""} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				send(w, b)
				flush(w)
				panic(http.ErrAbortHandler)
			})
			_, err := Generate(t.Context(), t, m, Hello())
			_ = Want(t, err, model.Garbage)
			if tries.Load() != 1 {
				t.Errorf("%d tries", tries.Load())
			}
		})
	}
}

func (s Suite) nobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := Generate(t.Context(), t, s.New.Client(t, provider.Config{BaseURL: server.URL}), Hello())
	if e := Want(t, err, model.Passing); !strings.Contains(e.Text, "connection refused") || !strings.Contains(e.Text, server.URL) {
		t.Errorf("says %q", e.Text)
	}
	_, err = Generate(t.Context(), t, s.New.Client(t, provider.Config{BaseURL: "http://no-such-host.invalid"}), Hello())
	if e := Want(t, err, model.Passing); !strings.Contains(e.Text, "no-such-host.invalid was not found by name") {
		t.Errorf("says %q", e.Text)
	}
}

// redirect: the key would go with it.
func (s Suite) redirect(t *testing.T) {
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Store(true) }))
	defer thief.Close()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		m := s.New.Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL+"/v1/"+Key, status) })
		_, err := Generate(t.Context(), t, m, Hello())
		if e := Want(t, err, model.Invalid); !strings.Contains(e.Text, "redirects to") || !strings.Contains(e.Text, thief.Listener.Addr().String()) {
			t.Errorf("says %q", e.Text)
		}
	}
	if stolen.Load() {
		t.Error("the redirect was followed")
	}
}

func (s Suite) retryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		header, value string
		within        time.Duration // time left for the call
		tries         int64
		took          time.Duration
		after         time.Duration // what is reported
		says          string
	}{
		"in time":             {"Retry-After", "30", time.Minute, 2, 30 * time.Second, 0, ""},
		"beyond the deadline": {"Retry-After", "90", time.Minute, 1, 0, 90 * time.Second, "Try again in 1m30s."},
		"as a date":           {"Retry-After", time.Date(2000, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat), time.Minute, 2, 20 * time.Second, 0, ""},
		"a date that passed":  {"Retry-After", time.Date(1999, 1, 1, 0, 0, 20, 0, time.UTC).Format(http.TimeFormat), time.Minute, 2, 0, 0, ""},
		"milliseconds":        {"Retry-After-Ms", "4200", time.Minute, 2, 4 * time.Second, 0, ""},
		"absurd":              {"Retry-After", "99999999999999999999", time.Minute, 2, 0, 0, ""},
		"no number":           {"Retry-After", "NaN", time.Minute, 2, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock starts at midnight, 2000-01-01
				var tries atomic.Int64
				m, stop := s.New.InMemory(t, func(w http.ResponseWriter, _ *http.Request) {
					if tries.Add(1) == 1 {
						w.Header().Set(c.header, c.value)
						w.WriteHeader(http.StatusTooManyRequests)
						return
					}
					send(w, s.Good["text"].Body)
				})
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				start := time.Now()
				_, err := Generate(ctx, t, m, Hello())
				if took := time.Since(start).Truncate(time.Second); tries.Load() != c.tries || took != c.took {
					t.Errorf("%d tries in %s", tries.Load(), took)
				}
				switch {
				case c.says == "" && err != nil:
					t.Error(err)
				case c.says != "":
					if e := Want(t, err, model.Passing); !strings.Contains(e.Text, c.says) || e.RetryAfter != c.after {
						t.Errorf("after %s, says %q", e.RetryAfter, e.Text)
					}
				}
			})
		})
	}
}

// kept: a plain turn must not pay for a new connection.
func (s Suite) kept(t *testing.T) {
	peers := map[string]bool{}
	m := s.New.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		send(w, s.Good["text"].Body)
	})
	for range 20 {
		if _, err := Generate(t.Context(), t, m, Hello()); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) > 2 {
		t.Errorf("20 calls over %d connections", len(peers))
	}
}

func (s Suite) config(t *testing.T) {
	const base = "https://api.example.com/v1"
	for _, bad := range []provider.Config{
		{BaseURL: "api.example.com/v1", Model: "m"},
		{BaseURL: "ftp://api.example.com", Model: "m"},
		{BaseURL: "https://user:" + "hunter2@api.example.com/v1", Model: "m"},
		{BaseURL: base + "?key=hunter2", Model: "m"},
		{BaseURL: base},
		{BaseURL: base, Model: "m", APIKey: "hunter2\n"},
	} {
		if _, err := s.New(bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	m, err := s.New(provider.Config{Provider: "p", BaseURL: base + "/", Model: "a/b"})
	if err != nil || m.Name() != "p/a/b" || m.Endpoint() != base {
		t.Errorf("named %q at %q, %v", m.Name(), m.Endpoint(), err)
	}
}
