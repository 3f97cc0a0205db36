package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

// store is a catalogue that a test changes.
type store struct {
	tools map[string]string // by executor; a value that is no list of names is what is published
	err   error
	asked int
}

func (s *store) Catalog(context.Context) (map[string][]byte, error) {
	out := map[string][]byte{}
	for executor, names := range s.tools {
		c := toolv1.Catalogue{Executor: executor}
		for n := range strings.FieldsSeq(names) {
			c.Tools = append(c.Tools, toolv1.Tool{Name: n, Description: "of " + executor})
		}
		data, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(names, "{") {
			data = []byte(names)
		}
		out[executor] = data
	}
	return out, nil
}

// CatalogRevision is another number for other tools.
func (s *store) CatalogRevision(context.Context) (uint64, error) {
	s.asked++
	h := fnv.New64a()
	fmt.Fprint(h, s.tools)
	return h.Sum64(), s.err
}

func offered(s *shelf, a *agent, skills bool) string {
	s.refresh(context.Background(), false)
	var names []string
	for _, t := range s.offer(a, offer.OpenAI, skills).tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestShelf: the catalogue is read once a second at most; one that cannot be read leaves the last one in force.
func TestShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		from := &store{err: errors.New("away")}
		s := newShelf(from, slog.New(slog.NewTextHandler(&log, nil)))
		all, some := &agent{}, &agent{Agent: Agent{Allow: []string{"r*"}, Deny: []string{"*e"}}}
		check := func(a *agent, skills bool, want string) {
			t.Helper()
			if got := offered(s, a, skills); got != want {
				t.Errorf("offered %q, want %q", got, want)
			}
		}
		check(all, false, "")
		check(all, true, "read_skill")
		from.err, from.tools = nil, map[string]string{"builtin": "read write", "web": "read run raise read_skill"}
		check(all, false, "") // within the second
		time.Sleep(shelfTime)
		check(all, false, "raise read run write")
		check(some, true, "read read_skill run")
		if got := s.offer(all, offer.OpenAI, false).tools[1].Description; got != "of builtin" {
			t.Errorf("of two tools with one name it takes the one %s", got)
		}
		if from.asked != 2 {
			t.Errorf("it was read %d times", from.asked)
		}
		from.err = errors.New("away")
		for range 3 {
			time.Sleep(shelfTime)
			check(all, false, "raise read run write")
		}
		from.err, from.tools = nil, map[string]string{"builtin": "now", "web": `{"tools":5}`}
		time.Sleep(shelfTime)
		check(all, false, "now")
		if n := strings.Count(log.String(), "cannot be read; the last one holds"); n != 2 {
			t.Errorf("%d warnings of two failures:\n%s", n, log.String())
		}
		if n := strings.Count(log.String(), "executor=web"); n != 1 {
			t.Errorf("%d warnings of a broken executor:\n%s", n, log.String())
		}
		from.tools = map[string]string{"many": ""}
		for i := range 200 {
			from.tools["many"] += fmt.Sprintf(" a%d", i)
		}
		time.Sleep(shelfTime)
		if got := strings.Fields(offered(s, all, true)); len(got) != offer.MaxTools || got[offer.MaxTools-1] != readSkill || !strings.Contains(log.String(), "left_out=73") {
			t.Errorf("%d tools:\n%s", len(got), log.String())
		}
	})
}

// TestAnEmptyShelfIsLookedAtAgain: the first executor that starts is noticed by the next message.
func TestAnEmptyShelfIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &store{}
		s := newShelf(from, slog.New(slog.DiscardHandler))
		for _, want := range []string{"", "", "read", "read"} {
			if want != "" {
				from.tools = map[string]string{"builtin": "read"}
			}
			if got := offered(s, &agent{}, false); got != want {
				t.Errorf("offered %q, want %q", got, want)
			}
		}
		if from.asked != 3 {
			t.Errorf("it was read %d times", from.asked)
		}
	})
}

// TestTheShelfIsThereMeanwhile: a slow look at the catalogue keeps nobody waiting but those who have nothing yet.
func TestTheShelfIsThereMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := slowly{&store{tools: map[string]string{"builtin": "read"}}}
		s := newShelf(from, slog.New(slog.DiscardHandler))
		begin := time.Now()
		looks := func(want time.Duration) {
			t.Helper()
			done := make(chan time.Duration, 8)
			for range cap(done) {
				go func() {
					if got := offered(s, &agent{}, false); got != "read" {
						t.Errorf("offered %q", got)
					}
					done <- time.Since(begin)
				}()
			}
			for range cap(done) - 1 {
				if took := <-done; took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
			}
			<-done
		}
		looks(time.Second) // all wait for the first look
		time.Sleep(2 * time.Second)
		begin = time.Now()
		looks(0) // all but one have what was there
		if from.asked != 2 {
			t.Errorf("it was read %d times", from.asked)
		}
	})
}

// slowly takes its time.
type slowly struct{ *store }

func (s slowly) CatalogRevision(ctx context.Context) (uint64, error) {
	time.Sleep(time.Second)
	return s.store.CatalogRevision(ctx)
}

// dialogue is a model of which only its names matter.
type dialogue struct {
	Model
	name, endpoint string
}

func (d dialogue) Name() string     { return d.name }
func (d dialogue) Endpoint() string { return d.endpoint }

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		api            API
		name, endpoint string
		want           offer.Dialect
	}{
		{OpenAI, "openai/gpt-5", "https://api.openai.com/v1", offer.OpenAI},
		{OpenAI, "groq/llama", "https://api.groq.com/openai/v1", offer.OpenAI},
		{OpenAI, "google/g", "https://generativelanguage.googleapis.com/v1beta/openai", offer.Gemini},
		{OpenAI, "router/google/gemini-3-pro", "https://openrouter.ai/api/v1", offer.Gemini},
		{OpenAI, "router/anthropic/Claude-5", "https://openrouter.ai/api/v1", offer.Anthropic},
		{Anthropic, "claude/any", "https://api.anthropic.com", offer.Anthropic},
		{Anthropic, "near/any", "http://127.0.0.1:9", offer.Anthropic},
		{OpenAI, "local/qwen3", "http://127.0.0.1:8080/v1", offer.Local},
		{OpenAI, "local/qwen3", "http://[::1]:8080/v1", offer.Local},
		{OpenAI, "local/qwen3", "http://192.168.1.7:11434/v1", offer.Local},
		{OpenAI, "local/qwen3", "http://ollama:11434/v1", offer.Local},
		{OpenAI, "local/qwen3", "http://box.local/v1", offer.Local},
		{"", "offline/echo", "built in", offer.OpenAI},
	} {
		if got := dialectOf(&listed{Model: dialogue{name: c.name, endpoint: c.endpoint}, api: c.api}); got != c.want {
			t.Errorf("%s at %s speaks %s", c.name, c.endpoint, got)
		}
	}
}
