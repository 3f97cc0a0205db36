package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	secretKey = "sk-very-secret-123"
	firstSaid = "do your worst"
	nextSaid  = "are you still there?"
	better    = "I am better now"
	patience  = time.Minute // for an event
)

// kind is one way to misbehave, and what must come of it.
type kind struct {
	name string
	play http.HandlerFunc
	bad  int    // calls that are played so; 0: one; -1: all until the next message
	at   string // address of the provider; "": the stage's own
	want want
	// limits of the agent; the zero value takes the default.
	limits turn.Limits
	api    turns.API
	api2   string // names the protocol where a kind exists for several
}

// want is the outcome of a turn. text is an answer, else cause and says are of a failure.
type want struct {
	text    string
	cause   turnv1.Cause
	says    string
	made    []string      // tool calls that left the turn: "tool arguments"
	refused []string      // what the model was told about calls that did not
	asks    int           // requests of the turn; 0: it does not matter
	gap     time.Duration // at least between the first two
	held    string        // what is told for the next message, without a request; "": it is answered
	stuck   bool          // the next message ends in the same way
	long    bool          // the next request has no room for the turn
}

func (k kind) agent() string {
	return strings.Trim(k.api2+"-"+strings.ReplaceAll(k.name, " ", "-"), "-")
}

// stage is a house with a provider for each kind.
type stage struct {
	*house
	talks map[string]*talk
	tools *bus.Conn
}

// talk is the conversation in which one kind is played.
type talk struct {
	kind   kind
	events chan envelope.Event

	mu       sync.Mutex
	asked    []time.Time // guarded by mu
	bodies   []string    // guarded by mu
	problems []error     // guarded by mu; of requests, and of what was streamed
}

// ServeHTTP plays the provider.
func (k *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = refuse(k.kind.api, r.Header, body)
	}
	k.mu.Lock()
	k.asked = append(k.asked, time.Now())
	k.bodies = append(k.bodies, string(body))
	n := len(k.asked)
	if err != nil {
		k.problems = append(k.problems, fmt.Errorf("request %d: %w", n, err))
	}
	k.mu.Unlock()
	if n <= max(1, k.kind.bad) || k.kind.bad < 0 && !strings.Contains(string(body), nextSaid) {
		k.kind.play(w, r)
		return
	}
	d := openAI
	if k.kind.api == turns.Anthropic {
		d = anthropic
	}
	_, _ = io.WriteString(w, d.answer(better))
}

// quiet is a server that logs nothing: strange requests are the point.
func quietServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	return s
}

// newStage starts one service for all kinds: each has an agent, a provider and a session of its own.
func newStage(t *testing.T, kinds []kind) *stage {
	t.Helper()
	s := &stage{talks: map[string]*talk{}}
	server := quietServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		s.talks[name].ServeHTTP(w, r)
	}))
	server.Start()
	t.Cleanup(server.Close)
	agents, providers := map[string]turns.Agent{}, map[string]turns.Provider{}
	for _, k := range kinds {
		name := k.agent()
		if s.talks[name] != nil {
			t.Fatalf("two kinds are called %s", name)
		}
		s.talks[name] = &talk{kind: k, events: make(chan envelope.Event, 1000)}
		at := k.at
		if at == "" {
			at = server.URL + "/" + name + "/v1"
		}
		providers[name] = turns.Provider{API: k.api, BaseURL: at, APIKey: secretKey}
		agents[name] = turns.Agent{Model: name + "/fake-1", Limits: k.limits}
	}
	c, err := turns.NewCatalog(turns.CatalogConfig{Providers: providers})
	if err != nil {
		t.Fatal(err)
	}
	agents[turns.MainAgent] = turns.Agent{Model: turns.OfflineProvider}
	s.house = startWith(t, turns.Config{Catalog: c, Agents: agents}, toolv1.Tool{Name: "look"}, toolv1.Tool{Name: "find"})
	s.tools = s.server.Connect(t, "tools")
	s.follow(t)
	for _, k := range s.talks {
		if err := s.server.Admin().SubscribeLive(t.Context(), k.session(t), k.streamed); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// follow gives every talk its events.
func (s *stage) follow(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		err := s.server.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			if k := s.talks[e.Session.Agent()]; k != nil {
				k.events <- e
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.Errorf("follow: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		following.Wait()
	})
}

func (k *talk) session(t *testing.T) session.ID {
	t.Helper()
	id, err := session.New(k.kind.agent(), "http", "test", "one")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// streamed checks a piece of a running answer.
func (k *talk) streamed(data []byte) {
	var d turns.Delta
	err := json.Unmarshal(data, &d)
	if err == nil && (strings.Contains(d.Text, secretKey) || strings.ContainsFunc(d.Text, steers)) {
		err = fmt.Errorf("a watcher is shown %.1000q", d.Text)
	}
	if err != nil {
		k.mu.Lock()
		k.problems = append(k.problems, err)
		k.mu.Unlock()
	}
}

// steers says whether a sign drives a terminal.
func steers(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func (s *stage) tell(t *testing.T, k *talk, text, key string) {
	t.Helper()
	key = k.kind.agent() + "-" + key
	fact := envelope.Event{ID: "id-" + key, Session: k.session(t), Key: key, Body: messagev1.Received{Text: text}}
	if _, err := s.intake.Journal().AppendFact(t.Context(), fact, 0); err != nil {
		t.Fatal(err)
	}
}

// outcome is what came of a message.
type outcome struct {
	completed *turnv1.Completed
	failed    *turnv1.Failed
	made      []string
	refused   []string
}

// outcome follows the turn that answers a message to its end, and answers its tool calls.
func (s *stage) outcome(t *testing.T, k *talk, key string) outcome {
	t.Helper()
	id := "id-" + k.kind.agent() + "-" + key
	var o outcome
	late := time.After(patience)
	for {
		var e envelope.Event
		select {
		case e = <-k.events:
		case <-late:
			t.Fatalf("nothing came of %s: the lane is not free", key)
		}
		public(t, e)
		switch b := e.Body.(type) {
		case turnv1.Stepped:
			s.answerCalls(t, e.Session, b, &o)
		case turnv1.Completed:
			if slices.Contains(b.Answers, id) {
				o.completed = &b
				return o
			}
		case turnv1.Failed:
			if slices.Contains(b.Answers, id) {
				o.failed = &b
				return o
			}
		}
	}
}

func (s *stage) answerCalls(t *testing.T, id session.ID, b turnv1.Stepped, o *outcome) {
	t.Helper()
	for _, c := range b.Calls {
		if c.Refusal != "" {
			o.refused = append(o.refused, c.Refusal)
			continue
		}
		o.made = append(o.made, c.Tool+" "+string(c.Arguments))
		fact := envelope.Event{Session: id, Key: b.Turn + c.ID, Body: callv1.Completed{
			Executor: "builtin", Turn: b.Turn, Call: c.ID, Outcome: callv1.OK, Content: "done",
		}}
		if _, err := s.tools.Journal().AppendFact(t.Context(), fact, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// public checks what an event shows: no key, and nothing that drives a terminal in what a person reads.
func public(t *testing.T, e envelope.Event) {
	t.Helper()
	data, err := json.Marshal(e.Body)
	if err != nil {
		t.Errorf("%T: %v", e.Body, err)
	}
	if strings.Contains(string(data), secretKey) {
		t.Errorf("the key is in %.2000s", data)
	}
	var text string
	switch b := e.Body.(type) {
	case turnv1.Failed:
		text = b.Text
		if len(b.Text) > 800 || len(b.Detail) > 800 || strings.Contains(b.Detail, "panic") || strings.ContainsFunc(b.Detail, steers) {
			t.Errorf("a failure that is too long, or a panic: %s (%s)", b.Text, b.Detail)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) || r == '\n' }) {
			t.Errorf("a failure is told as %q", text)
		}
	case turnv1.Completed:
		text = b.Text
		if u := b.Usage; min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 || max(u.Input, u.Output) > 1<<40 || u.CacheRead > u.Input {
			t.Errorf("the usage is %+v", u)
		}
	case turnv1.Stepped:
		text = b.Text
	}
	if strings.ContainsFunc(text, steers) {
		t.Errorf("a person is shown %.2000q", text)
	}
}

func (k *talk) seen() (asked []time.Time, bodies []string, problems []error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked), slices.Clone(k.bodies), slices.Clone(k.problems)
}

// check compares what came of a message with what must.
func (w want) check(t *testing.T, o outcome) {
	t.Helper()
	switch {
	case w.cause == "" && (o.completed == nil || o.completed.Text != w.text):
		t.Errorf("got %.1000s, want the answer %.100q", told(o), w.text)
	case w.cause != "" && (o.failed == nil || o.failed.Cause != w.cause || !strings.Contains(o.failed.Text, w.says)):
		t.Errorf("got %.1000s, want %s: …%s…", told(o), w.cause, w.says)
	}
	if !slices.Equal(o.made, w.made) {
		t.Errorf("the tool calls %.500q were made, want %.500q", o.made, w.made)
	}
	if !slices.EqualFunc(o.refused, w.refused, strings.Contains) {
		t.Errorf("the model was told %.500q, want %.500q", o.refused, w.refused)
	}
}

func told(o outcome) string {
	if o.failed != nil {
		return fmt.Sprintf("%s: %s (%s)", o.failed.Cause, o.failed.Text, o.failed.Detail)
	}
	return fmt.Sprintf("the answer %.500q of %d bytes", o.completed.Text, len(o.completed.Text))
}
