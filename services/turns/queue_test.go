package turns_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// gate is a provider that holds each call until it is let go, and keeps what it was asked. Only the newest call is
// answered: one that was given up may be served for a while yet, and would take the answer of the next.
type gate struct {
	mu     sync.Mutex
	bodies []string
	asked  chan string   // the body of each call
	answer chan []string // the chunks of each answer
}

func newGate() *gate { return &gate{asked: make(chan string, 20), answer: make(chan []string, 20)} }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.bodies = append(g.bodies, string(body))
	mine := len(g.bodies)
	g.mu.Unlock()
	g.asked <- string(body)
	select {
	case chunks := <-g.answer:
		g.mu.Lock()
		newest := mine == len(g.bodies)
		g.mu.Unlock()
		if !newest {
			g.answer <- chunks
			<-r.Context().Done()
			return
		}
		speak(w, chunks...)
	case <-r.Context().Done():
	}
}

func text(t string) []string { return []string{fmt.Sprintf(`{"content":%q}`, t)} }

// call asks for a tool that nobody has: it is refused within the turn, so that there is another round.
func call() []string {
	return []string{`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"nope","arguments":"{}"}}]}`}
}

func queued(t *testing.T, g *gate, mode turn.Mode) *house {
	t.Helper()
	q := turn.DefaultQueue()
	q.Mode, q.Debounce = mode, 0
	return startWith(t, turns.Config{
		Catalog: turns.Only(provider(t, g.ServeHTTP)), Agents: map[string]turns.Agent{turns.MainAgent: {Queue: q}},
	})
}

func TestSteer(t *testing.T) {
	g := newGate()
	h := queued(t, g, turn.Steer)
	h.say(messagev1.Received{Text: "look it up"}, "k1")
	within(t, g.asked)
	h.say(messagev1.Received{Text: "in Zurich, I mean"}, "k2")
	g.answer <- call()
	if body := within(t, g.asked); !strings.Contains(body, "in Zurich, I mean") {
		t.Errorf("the second round does not know of the message: %s", body)
	}
	h.say(messagev1.Received{Text: "too late for this one"}, "k3")
	g.answer <- text("sunny")
	if got := until[turnv1.Completed](h); !slices.Equal(got.Answers, []string{"id-k1", "id-k2"}) {
		t.Errorf("got %+v", got)
	}
	g.answer <- text("yes")
	if got := until[turnv1.Completed](h); !slices.Equal(got.Answers, []string{"id-k3"}) {
		t.Errorf("got %+v", got)
	}
}

func TestInterrupt(t *testing.T) {
	g := newGate()
	h := queued(t, g, turn.Interrupt)
	h.say(messagev1.Received{Text: "tell me a long story"}, "k1")
	within(t, g.asked)
	h.say(messagev1.Received{Text: "no, a short one"}, "k2")
	if got := until[turnv1.Cancelled](h); got.Reason != turnv1.Interrupted || !slices.Equal(got.Answers, []string{"id-k1"}) || got.By != "id-k2" {
		t.Errorf("got %+v", got)
	}
	if body := within(t, g.asked); !strings.Contains(body, "tell me a long story") || !strings.Contains(body, "no, a short one") {
		t.Errorf("the new turn does not know what was asked before: %s", body)
	}
	g.answer <- text("once")
	if got := until[turnv1.Completed](h); got.Text != "once" || !slices.Equal(got.Answers, []string{"id-k2"}) {
		t.Errorf("got %+v", got)
	}
}

func TestAStopDropsWhatWaits(t *testing.T) {
	g := newGate()
	h := queued(t, g, turn.Followup)
	h.say(messagev1.Received{Text: "one"}, "k1")
	within(t, g.asked)
	h.say(messagev1.Received{Text: "two"}, "k2")
	h.say(messagev1.Received{Text: "three"}, "k3")
	h.say(messagev1.Control{Verb: messagev1.Stop}, "stop")
	got := until[turnv1.Cancelled](h)
	if !slices.Equal(got.Answers, []string{"id-k1", "id-k2", "id-k3"}) || !strings.Contains(got.Text, "2 waiting messages") {
		t.Errorf("got %+v", got)
	}
	h.say(messagev1.Control{Verb: messagev1.Stop}, "again")
	if got := until[noticev1.Posted](h); !strings.Contains(got.Text, "nothing to stop") || got.Answers[0] != "id-again" {
		t.Errorf("got %+v", got)
	}
}

// TestCommandsAreAnsweredBesideARunningCall: nobody waits for the model to be told what is going on.
func TestCommandsAreAnsweredBesideARunningCall(t *testing.T) {
	g := newGate()
	h := queued(t, g, turn.Followup)
	h.say(messagev1.Received{Text: "one"}, "k1")
	within(t, g.asked)
	h.say(messagev1.Received{Text: "two"}, "k2")
	h.say(messagev1.Control{Verb: messagev1.Status}, "status")
	if got := until[noticev1.Posted](h); !strings.Contains(got.Text, "local/fake-1") || !strings.Contains(got.Text, "followup, 1 message waits") ||
		!strings.Contains(got.Text, "a model call") {
		t.Errorf("got %s", got.Text)
	}
	h.say(messagev1.Control{Verb: messagev1.Queue, Argument: "steer"}, "queue")
	if got := until[turnv1.SessionConfigured](h); got.Setting != turnv1.QueueSetting || got.Value != "steer" || got.By != "id-queue" {
		t.Errorf("got %+v", got)
	}
	g.answer <- call()
	if body := within(t, g.asked); !strings.Contains(body, `"two"`) {
		t.Errorf("the new mode does not hold yet: %s", body)
	}
	g.answer <- text("both")
	if got := until[turnv1.Completed](h); !slices.Equal(got.Answers, []string{"id-k1", "id-k2"}) {
		t.Errorf("got %+v", got)
	}
	if len(g.bodies) != 2 {
		t.Errorf("%d calls were made: a command has ended one", len(g.bodies))
	}
}

func TestAFullQueueIsTold(t *testing.T) {
	g := newGate()
	q := turn.DefaultQueue()
	q.Cap = 1
	h := startWith(t, turns.Config{
		Catalog: turns.Only(provider(t, g.ServeHTTP)), Agents: map[string]turns.Agent{turns.MainAgent: {Queue: q}},
	})
	h.say(messagev1.Received{Text: "one"}, "k1")
	within(t, g.asked)
	h.say(messagev1.Received{Text: "two"}, "k2")
	h.say(messagev1.Received{Text: "three"}, "k3")
	if got := until[turnv1.Cancelled](h); got.Turn != "" || got.Reason != turnv1.QueueFull || !slices.Equal(got.Answers, []string{"id-k3"}) {
		t.Errorf("got %+v", got)
	}
	g.answer <- text("first")
	g.answer <- text("second")
	for _, want := range []string{"id-k1", "id-k2"} {
		if got := until[turnv1.Completed](h); !slices.Equal(got.Answers, []string{want}) {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}
