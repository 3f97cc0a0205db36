package turns_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// scripted is a provider whose behaviour a test changes.
type scripted struct {
	url   string
	play  atomic.Pointer[http.HandlerFunc]
	asked atomic.Int64
}

func newScripted(t *testing.T, play http.HandlerFunc) *scripted {
	t.Helper()
	p := &scripted{}
	p.play.Store(&play)
	server := quietServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = refuse(turns.OpenAI, r.Header, body)
		}
		if err != nil {
			t.Errorf("a request is out of order: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		(*p.play.Load())(w, r)
	}))
	server.Start()
	t.Cleanup(server.Close)
	p.url = server.URL + "/v1"
	return p
}

func (p *scripted) now(play http.HandlerFunc) { p.play.Store(&play) }

// since is how often it was asked since n.
func (p *scripted) since(n *int64) int64 {
	now := p.asked.Load()
	d := now - *n
	*n = now
	return d
}

// pair is an agent with a model and a fallback.
func pair(t *testing.T, one, two *scripted, limits turn.Limits) turns.Config {
	t.Helper()
	c, err := turns.NewCatalog(turns.CatalogConfig{Providers: map[string]turns.Provider{
		"one": {API: turns.OpenAI, BaseURL: one.url, APIKey: secretKey}, "two": {API: turns.OpenAI, BaseURL: two.url, APIKey: secretKey},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return turns.Config{Catalog: c, Agents: map[string]turns.Agent{turns.MainAgent: {
		Model: "one/m", Fallbacks: []string{"two/m"}, Limits: limits,
	}}}
}

// TestTheFallbackAnswers when nothing of the first model's answer was used; the next turn asks the first again, unless it
// is on hold.
func TestTheFallbackAnswers(t *testing.T) {
	const answer, again = "from two", "from one"
	_, cut := openAI.halve("look", `{"a":`)
	for _, c := range []struct {
		name  string
		play  http.HandlerFunc
		cause turnv1.Cause
		held  bool
	}{
		{"503", status(503, openAI.body("no luck")), turnv1.ModelUnavailable, false},
		{"529", status(529, ""), turnv1.ModelUnavailable, false},
		{"429 for an hour", status(429, "", "Retry-After", "3600"), turnv1.ModelUnavailable, true},
		{"401", status(401, openAI.body(secretKey)), turnv1.ModelRefused, true},
		{"404", status(404, ""), turnv1.ModelRefused, true},
		{"400", status(400, openAI.body("bad tools")), turnv1.ModelRefused, false},
		{"a web page", sends("<html></html>"), turnv1.ModelGarbage, false},
		{"an empty answer", sends(openAI.start + openAI.end("stop")), turnv1.ModelGarbage, false},
		{"an error first", sends(openAI.start + openAI.fail("server_error", "no luck")), turnv1.ModelUnavailable, false},
		{"cut before the text", sends(openAI.start), turnv1.ModelGarbage, false},
		{"cut in a call", sends(openAI.start + cut), turnv1.ModelGarbage, false},
		{"reset", raw("", true), turnv1.ModelUnavailable, false},
		{"silence", silent, turnv1.TimedOut, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, two := newScripted(t, c.play), newScripted(t, sends(openAI.answer(answer)))
			h := startWith(t, pair(t, one, two, short()))
			h.say(messagev1.Received{Text: firstSaid}, "k1")
			got := until[turnv1.Completed](h)
			if got.Text != answer || got.Model != "two/m" || len(got.Tried) != 1 || got.Tried[0].Model != "one/m" || got.Tried[0].Cause != c.cause {
				t.Errorf("got %+v", got)
			}
			var n int64
			if asked := one.since(&n); asked != 1 { // others can answer: there is no second try
				t.Errorf("the first was asked %d times", asked)
			}
			one.now(sends(openAI.answer(again)))
			h.say(messagev1.Received{Text: nextSaid}, "k2")
			got = until[turnv1.Completed](h)
			switch asked := one.since(&n); {
			case c.held && (got.Text != answer || asked != 0 || len(got.Tried) != 1 || !strings.Contains(got.Tried[0].Detail, "on hold until")):
				t.Errorf("on hold it was asked %d times: %+v", asked, got)
			case !c.held && (got.Text != again || asked != 1 || got.Model != "one/m" || len(got.Tried) != 0):
				t.Errorf("asked %d times: %+v", asked, got)
			}
		})
	}
}

// TestNoFallback: when a part of the answer was shown, or another model would only go round a refusal.
func TestNoFallback(t *testing.T) {
	for _, c := range []struct {
		name  string
		play  http.HandlerFunc
		cause turnv1.Cause
	}{
		{"cut after text", sends(openAI.start + openAI.text("hi")), turnv1.ModelGarbage},
		{"an error after text", sends(openAI.start + openAI.text("hi") + openAI.fail("server_error", "no luck")), turnv1.ModelGarbage},
		{"a break after text", breaks(openAI.start + openAI.text("hi")), turnv1.ModelGarbage},
		{"filtered", sends(openAI.start + openAI.end("content_filter")), turnv1.ModelRefused},
		{"a filter's 400", status(400, `{"error":{"code":"content_filter","message":"no"}}`), turnv1.ModelRefused},
		{"too long", status(400, `{"error":{"code":"context_length_exceeded","message":"too long"}}`), turnv1.ContextOverflow},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one, two := newScripted(t, c.play), newScripted(t, sends(openAI.answer("from two")))
			h := startWith(t, pair(t, one, two, turn.Limits{}))
			h.say(messagev1.Received{Text: firstSaid}, "k1")
			if got := until[turnv1.Failed](h); got.Cause != c.cause || len(got.Tried) != 0 {
				t.Errorf("got %+v", got)
			}
			if n := two.asked.Load(); n != 0 {
				t.Errorf("the fallback was asked %d times", n)
			}
			one.now(sends(openAI.answer(better)))
			h.say(messagev1.Received{Text: nextSaid}, "k2")
			if got := until[turnv1.Completed](h); got.Text != better {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAllFail(t *testing.T) {
	one, two := newScripted(t, status(400, openAI.body("the first has no luck"))), newScripted(t, sends("<html></html>"))
	h := startWith(t, pair(t, one, two, turn.Limits{}))
	h.say(messagev1.Received{Text: firstSaid}, "k1")
	got := until[turnv1.Failed](h)
	if !strings.Contains(got.Text, "the first has no luck") || !strings.Contains(got.Text, "(one/m; two/m failed too.)") ||
		got.Model != "two/m" || len(got.Tried) != 1 || got.Tried[0].Model != "one/m" {
		t.Errorf("got %+v", got)
	}
	one.now(sends(openAI.answer(better)))
	h.say(messagev1.Received{Text: nextSaid}, "k2")
	if got := until[turnv1.Completed](h); got.Text != better || !slices.Equal(got.Answers, []string{"id-k2"}) {
		t.Errorf("got %+v", got)
	}
}

// TestAHoldSurvives a restart of the service and of the bus.
func TestAHoldSurvives(t *testing.T) {
	one, two := newScripted(t, status(429, "", "Retry-After", "3600")), newScripted(t, sends(openAI.answer("from two")))
	server := bustest.New(t, turns.Spec(), intake, executor, cli)
	h := &house{t: t, server: server, intake: server.Connect(t, "intake"), session: "main.http.test.one"}
	for i, key := range []string{"k1", "k2"} {
		end := serve(t, server, pair(t, one, two, turn.Limits{}))
		h.say(messagev1.Received{Text: firstSaid}, key)
		if b := answerTo(t, server, "id-"+key); b.Text != "from two" || len(b.Tried) != 1 || one.asked.Load() != 1 {
			t.Errorf("turn %d: the first was asked %d times: %+v", i+1, one.asked.Load(), b)
		}
		end()
		server.Restart()
	}
}

// answerTo waits for the answer to a message.
func answerTo(t *testing.T, server *bustest.Server, id string) turnv1.Completed {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var found turnv1.Completed
	err := server.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
		if b, ok := e.Body.(turnv1.Completed); ok && slices.Contains(b.Answers, id) {
			found = b
			stop()
		}
		return nil
	})
	if found.Turn == "" {
		t.Fatalf("no answer to %s: %v", id, err)
	}
	return found
}

// serve runs a service until it is told to end.
func serve(t *testing.T, server *bustest.Server, c turns.Config) (end func()) {
	t.Helper()
	c.Conn, c.Log = server.Connect(t, "turns"), slog.New(slog.DiscardHandler)
	s, err := turns.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	end = func() {
		stop()
		running.Wait()
	}
	t.Cleanup(end)
	ready, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Ready(ready); err != nil {
		t.Fatal(err)
	}
	return end
}
