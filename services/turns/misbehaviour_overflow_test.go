package turns_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
)

// narrow is a provider whose window is smaller than anybody knows.
type narrow struct {
	t        *testing.T
	api      turns.API
	dialect  dialect
	limit    int  // bytes of a request
	noResume bool // summaries are too long as well

	mu        sync.Mutex
	tooLong   int // guarded by mu; requests that were
	summaries int // guarded by mu
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = refuse(n.api, r.Header, body)
	}
	if err != nil {
		n.t.Errorf("a request is out of order: %v", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	summary := isSummary(string(body))
	switch {
	case summary && !n.noResume:
		n.summaries++
		_, _ = io.WriteString(w, n.dialect.answer("SUMMARY"))
	case summary || len(body) > n.limit:
		n.tooLong++
		status(http.StatusBadRequest, n.dialect.body("prompt is too long: 9 tokens > 8 maximum"))(w, r)
	default:
		_, _ = io.WriteString(w, n.dialect.answer("fine"))
	}
}

// TestTooLongWithAPast: the past is summarised, and the answer comes. When that does not help, it is told, after a bounded
// number of calls, and a new beginning helps.
func TestTooLongWithAPast(t *testing.T) {
	long := strings.Repeat("and so on ", 200)
	for _, d := range []dialect{openAI, anthropic} {
		for _, c := range []struct {
			name     string
			limit    int
			noResume bool
		}{{"it helps", 9000, false}, {"the summary is too long", 9000, true}, {"it does not help", 1500, false}} {
			t.Run(string(d.api)+" "+c.name, func(t *testing.T) {
				n := &narrow{t: t, api: d.api, dialect: d, limit: 1 << 20, noResume: c.noResume}
				server := quietServer(n)
				server.Start()
				t.Cleanup(server.Close)
				h := startWith(t, turns.Config{
					Catalog: turns.Only(modelAt(t, d.api, server.URL+"/v1")), Agents: map[string]turns.Agent{turns.MainAgent: {Window: 8000}},
				})
				for i := range 5 {
					h.say(messagev1.Received{Text: fmt.Sprint(i, " ", long)}, fmt.Sprint("k", i))
					until[turnv1.Completed](h)
				}
				n.mu.Lock()
				n.limit = c.limit
				n.mu.Unlock()
				h.say(messagev1.Received{Text: firstSaid + " " + long}, "k5")
				until[turnv1.Overflowed](h)
				if c.limit < len(long) {
					if got := until[turnv1.Failed](h); got.Cause != turnv1.ContextOverflow || !strings.Contains(got.Text, "/new") {
						t.Errorf("got %+v", got)
					}
				} else {
					if c.noResume {
						until[turnv1.CompactionFailed](h)
					} else {
						until[turnv1.SessionCompacted](h)
					}
					if got := until[turnv1.Completed](h); got.Text != "fine" || got.Answers[0] != "id-k5" {
						t.Errorf("got %+v", got)
					}
				}
				n.mu.Lock()
				if n.tooLong > 6 || n.summaries > 1 {
					t.Errorf("%d requests were too long, %d summaries were made", n.tooLong, n.summaries)
				}
				n.mu.Unlock()
				h.say(messagev1.Control{Verb: messagev1.New}, "new")
				until[turnv1.SessionReset](h)
				h.say(messagev1.Received{Text: nextSaid}, "k6")
				if got := until[turnv1.Completed](h); got.Text != "fine" {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}
