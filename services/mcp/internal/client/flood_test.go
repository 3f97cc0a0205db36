package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

const (
	storm = 3000 // of what nobody has asked for
	most  = 64   // requests of a server that are open at a time
)

// TestFlood: a server that asks and does not read the answers, or that tells too much, costs no more than a bit of memory, and its
// other answers arrive.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts, answers, progress atomic.Int32
		changed := make(chan struct{}, 10)
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			switch {
			case m.Method == "" && m.ID != nil:
				answers.Add(1)
			case p.greet(m):
			case m.Method == "tools/list":
				for i := range storm {
					p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i))
				}
				p.answer(m, `{"tools":[]}`)
			case m.Method == "tools/call":
				p.say(`{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`)
				var asked struct {
					Meta struct {
						Token json.RawMessage `json:"progressToken"`
					} `json:"_meta"`
				}
				_ = json.Unmarshal(m.Params, &asked)
				for i := range storm {
					p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, asked.Meta.Token, i))
				}
				p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				p.answer(m, `{"content":[]}`)
			}
		}))
		o.Changed = func(client.Kind) { changed <- struct{}{} }
		s := connect(t, o)
		if _, err := s.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := answers.Load(); n < 1 || n > 2*most { // some are read while others come
			t.Errorf("%d answers to %d requests", n, storm)
		}
		if _, err := s.Call(t.Context(), "x", nil, func(client.Progress) { progress.Add(1) }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := progress.Load(); n < 1 || n > storm/2 {
			t.Errorf("told of %d of %d steps", n, storm)
		}
		<-changed // it came behind all that was too much
		was := answers.Load()
		if _, err := s.Tools(t.Context()); err != nil { // they can be asked again
			t.Fatal(err)
		}
		synctest.Wait()
		if n := answers.Load() - was; n < 1 || n > 2*most {
			t.Errorf("%d answers to %d more requests", n, storm)
		}
	})
}

// TestFloodHTTP is the same over streams of events, where each answer is a request of its own that the server may hold.
func TestFloodHTTP(t *testing.T) {
	site := newSite(t, false)
	var open atomic.Int32
	var past atomic.Bool
	var once sync.Once
	full, over := make(chan struct{}), make(chan struct{})
	site.before(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range storm {
				_, _ = fmt.Fprintf(w, "id: %d\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"p%d\",\r\ndata: \"m\\u0065thod\":\"ping\"}\n\n", i, i)
			}
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			w.(http.Flusher).Flush()
			<-over
			return true
		case r.Method == http.MethodPost && methodOf(r) == "":
			n := open.Add(1)
			if n > most {
				past.Store(true)
			}
			if n == most {
				once.Do(func() { close(full) })
			}
			<-over
			open.Add(-1)
			w.WriteHeader(http.StatusAccepted)
			return true
		}
		return false
	})
	changed := make(chan struct{}, 10)
	o := at(site.URL)
	o.Legacy = true
	o.Changed = func(client.Kind) { changed <- struct{}{} }
	s := connect(t, o)
	<-full
	<-changed // it came behind all of them
	if _, err := s.Tools(t.Context()); err != nil {
		t.Error(err)
	}
	if past.Load() {
		t.Errorf("more than %d answers at a time", most)
	}
	close(over)
	closed(t, s)
}

// TestSecretsAndCuts: what a text is shortened to has no half of a secret at its end.
func TestSecretsAndCuts(t *testing.T) {
	const secret = "hunter2-hunter2"
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			switch {
			case m.Method == "initialize":
				p.answer(m, strings.NewReplacer(`"old"`, `"`+strings.Repeat("x", 195)+secret+`"`, `"0.1"`, `"`+secret+`"`).Replace(hello))
			case p.greet(m):
			case m.Method == "tools/call":
				p.refuse(m, -32603, strings.Repeat("x", 2<<10-5)+secret)
			}
		}))
		o.Redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
		s := connect(t, o)
		if i := s.Info(); strings.Contains(i.Name+i.Version, "hunter") {
			t.Errorf("%+v", i)
		}
		_, err := s.Call(t.Context(), "x", nil, nil)
		if err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%v", err)
		}
	})
}
