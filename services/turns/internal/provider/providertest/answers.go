package providertest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// hang ends with the context: before the headers, in the middle of the answer.
func (s Suite) hang(t *testing.T) {
	for name, start := range map[string]string{"before": "", "within": s.Start + s.Text("half")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, stop := s.New.InMemory(t, func(w http.ResponseWriter, r *http.Request) {
					if start != "" {
						send(w, start)
						flush(w)
					}
					<-r.Context().Done()
				})
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := Generate(ctx, t, m, Hello()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// endless streams never end by themselves: one that says something for ever ends at the size limit, one of keep-alives
// with the context.
func (s Suite) endless(t *testing.T) {
	for name, piece := range map[string]string{"text": s.Text("more and more"), "one line": "data: " + strings.Repeat("x", 1000), "comments": ": ping\n\n"} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{})
			server := s.New.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(left)
				send(w, s.Start)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, piece); err != nil {
						return
					}
				}
			})
			m := s.New.Client(t, provider.Config{BaseURL: server.Endpoint(), MaxAnswer: 1 << 20})
			_, err := Generate(t.Context(), t, m, Hello())
			if e := Want(t, err, model.Garbage); !strings.Contains(e.Text, "longer than the 1048576 bytes") {
				t.Errorf("says %q", e.Text)
			}
			<-left
		})
	}
	t.Run("slow keep-alives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, stop := s.New.InMemory(t, func(w http.ResponseWriter, r *http.Request) {
				send(w, s.Start)
				tick := time.NewTicker(time.Second)
				for {
					_, _ = io.WriteString(w, ": ping\n\n")
					flush(w)
					select {
					case <-tick.C:
					case <-r.Context().Done():
						return
					}
				}
			})
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := Generate(ctx, t, m, Hello()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
}

// large is 10 MB: dropped under the usual limit, whole under a higher one.
func (s Suite) large(t *testing.T) {
	piece := strings.Repeat("0123456789", 1000)
	server := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		send(w, s.Start)
		for range 1000 {
			_, _ = io.WriteString(w, s.Text(piece))
		}
		_, _ = io.WriteString(w, s.End)
	})
	_, err := Generate(t.Context(), t, server, Hello())
	if e := Want(t, err, model.Garbage); !strings.Contains(e.Text, "longer than the 8388608 bytes") {
		t.Errorf("says %q", e.Text)
	}
	m := s.New.Client(t, provider.Config{BaseURL: server.Endpoint(), MaxAnswer: 1 << 24})
	if a, err := Generate(t.Context(), t, m, Hello()); err != nil || len(a.Text) != 10_000_000 {
		t.Errorf("got %d bytes, %v", len(a.Text), err)
	}
}

// noStream is what else may answer with status 200.
func (s Suite) noStream(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		class      model.Class
		says       string
	}{
		"a web page":         {"text/html", "<html><h1>It works</h1></html>", model.Garbage, "does not speak the"},
		"one answer":         {"application/json", `{"choices":[{"message":{"content":"hi"}}],"content":[]}`, model.Garbage, "does not speak the"},
		"nothing":            {"text/event-stream", "", model.Garbage, "broke off"},
		"noise":              {"application/octet-stream", strings.Repeat("\x00x", 100_000), model.Garbage, "does not speak the"},
		"an error":           {"application/json", s.ErrorBody("no luck today: " + Key), model.Passing, "The provider reports an error: no luck today: [key]."},
		"an error, indented": {"application/json", "{\n \"error\": {\n  \"message\": \"out of luck\"\n }\n}\n", model.Passing, "out of luck."},
		"too long":           {"application/json", s.ErrorBody("prompt is too long: 9 tokens > 8 maximum"), model.Overflow, "too long"},
		"a code":             {"application/json", `{"error":{"message":"no such key","code":401}}`, model.Denied, "no such key. Check the key."},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				tries.Add(1)
				w.Header().Set("Content-Type", c.kind)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := Generate(t.Context(), t, m, Hello())
			if e := Want(t, err, c.class); !strings.Contains(e.Text, c.says) {
				t.Errorf("says %q, want %q", e.Text, c.says)
			}
			if tries.Load() != 1 {
				t.Errorf("%d tries after a byte of an answer", tries.Load())
			}
		})
	}
	t.Run("a stream under another name", func(t *testing.T) {
		good := s.Good["text"]
		m := s.New.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, good.Body)
		})
		if a, err := Generate(t.Context(), t, m, Hello()); err != nil || a.Text != good.Want.Text {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// inStream has the provider give up, before and after it has said something.
func (s Suite) inStream(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		class model.Class
		cause turnv1.Cause
		says  string
	}{
		"overloaded at once":     {s.Start + s.Overloaded, model.Passing, turnv1.ModelUnavailable, "The provider reports an error: "},
		"overloaded from nought": {s.Overloaded, model.Passing, turnv1.ModelUnavailable, "The provider reports an error: "},
		"overloaded later":       {s.Start + s.Text("half") + s.Overloaded, model.Garbage, turnv1.ModelGarbage, "broke off in the middle of the answer"},
		"too long":               {s.Start + s.TooLong, model.Overflow, turnv1.ContextOverflow, "too long"},
		"no JSON":                {s.Start + s.Text("half") + "event: x\ndata: {{{\n\n" + s.End, model.Garbage, turnv1.ModelGarbage, "could not be read"},
		"a list":                 {s.Start + "data: []\n\n" + s.End, model.Garbage, turnv1.ModelGarbage, "could not be read"},
		"a number":               {s.Start + "data: 7\n\n" + s.End, model.Garbage, turnv1.ModelGarbage, "could not be read"},
		"deep":                   {s.Start + "data: " + strings.Repeat("[", 100_000) + "\n\n", model.Garbage, turnv1.ModelGarbage, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Generate(t.Context(), t, s.New.Serve(t, body(c.body)), Hello())
			if e := Want(t, err, c.class); !strings.Contains(e.Text, c.says) || e.Cause != c.cause {
				t.Errorf("cause %s, says %q, want %q", e.Cause, e.Text, c.says)
			}
		})
	}
}
