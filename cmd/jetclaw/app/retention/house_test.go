package retention_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

// today is far from the real now, so that what the service appends in a test is as old as what a test has made up.
var today = time.Now().Add(365 * day)

// house is a bus with the turns service on it, and a folder for archives.
type house struct {
	t      *testing.T
	server *bustest.Server
	intake *bus.Conn
	turns  *bus.Conn
	cli    *bus.Conn
	dir    string

	mu    sync.Mutex
	asked []string // guarded by mu; requests that the model has got
}

func build(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: filepath.Join(t.TempDir(), "archive")}
	h.server = bustest.New(t, turns.Spec(),
		bus.Spec{Name: "intake", Appends: []string{"message.received", "access.granted"}},
		bus.Spec{Name: "cli", Asks: []string{"turns.delete"}, Follows: true})
	h.intake, h.turns, h.cli = h.server.Connect(t, "intake"), h.server.Connect(t, "turns"), h.server.Connect(t, "cli")
	return h
}

// live starts the service.
func (h *house) live() {
	h.t.Helper()
	ended := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.asked = append(h.asked, string(body))
		h.mu.Unlock()
		if strings.Contains(string(body), "hold on") {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
			return
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"yes"}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
	}))
	h.t.Cleanup(provider.Close)
	c, err := turns.NewCatalog(turns.CatalogConfig{Providers: map[string]turns.Provider{"local": {API: turns.OpenAI, BaseURL: provider.URL + "/v1"}}})
	if err != nil {
		h.t.Fatal(err)
	}
	m, err := c.Model("local/fake")
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := turns.New(turns.Config{Conn: h.server.Connect(h.t, "turns"), Catalog: turns.Only(m), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(h.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			h.t.Errorf("run: %v", err)
		}
	})
	h.t.Cleanup(func() {
		close(ended)
		stop()
		running.Wait()
	})
	if err := s.Ready(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func id(t *testing.T, name string) session.ID {
	t.Helper()
	s, err := session.New("main", "terminal", "local", name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// say hands in a message at a time.
func (h *house) say(s session.ID, text string, at time.Time) (cursor uint64, id string) {
	h.t.Helper()
	ev := envelope.Event{Session: s, Time: at, Body: messagev1.Received{From: messagev1.Sender{ID: "local"}, Text: text}}
	h.intake.Journal().Stamp(&ev)
	cursor, err := h.intake.Journal().AppendFact(h.t.Context(), ev, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return cursor, ev.ID
}

// answered hands in a message, and returns once it has its answer.
func (h *house) answered(s session.ID, text string) {
	h.t.Helper()
	done := make(chan struct{})
	ctx, stop := context.WithCancel(h.t.Context())
	var following sync.WaitGroup
	cursor, _ := h.say(s, text, today.Add(-190*day))
	following.Go(func() {
		err := h.server.Admin().Follow(ctx, bus.ReplayOptions{Session: s, From: cursor}, func(ev envelope.Event) error {
			if _, ok := ev.Body.(turnv1.Completed); ok {
				close(done)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			h.t.Errorf("follow: %v", err)
		}
	})
	<-done
	stop()
	following.Wait()
}

// talked is a conversation of some turns, the last of them at a time.
func (h *house) talked(name string, turnCount int, at time.Time) session.ID {
	h.t.Helper()
	s := id(h.t, name)
	add := func(prev uint64, at time.Time, body envelope.Body) uint64 {
		h.t.Helper()
		c, err := h.turns.Journal().Append(h.t.Context(), envelope.Event{Session: s, Prev: prev, Time: at, Body: body})
		if err != nil {
			h.t.Fatal(err)
		}
		return c
	}
	for i := range turnCount {
		at := at.Add(-time.Duration(turnCount-1-i) * time.Minute)
		c, message := h.say(s, fmt.Sprintf("%s says %d %s", name, i, strings.Repeat("x", 1000)), at)
		claim := turnv1.Claim{Turn: message + "/t", Round: 1, Attempt: 1, Worker: "w", Deadline: at.Add(time.Minute), Messages: []string{message}}
		c = add(c, at, turnv1.Started{Claim: claim})
		outcome := turnv1.Outcome{Turn: claim.Turn, Round: 1, Attempt: 1, Model: "local/fake", Usage: turnv1.Usage{Input: 10, Output: i, Cost: 7, Priced: i%2 == 0}}
		add(c, at, turnv1.Completed{Outcome: outcome, Answers: claim.Messages, Text: "yes"})
	}
	return s
}

// journal is what there is, a line an event, by session.
func (h *house) journal() map[session.ID][]string {
	h.t.Helper()
	all := map[session.ID][]string{}
	err := h.server.Admin().Replay(h.t.Context(), bus.ReplayOptions{}, func(ev envelope.Event) error {
		line, err := envelope.LineOf(ev)
		all[ev.Session] = append(all[ev.Session], string(line))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// totals are the accounts as a reader of the journal sees them now.
func (h *house) totals() map[ledger.By][]ledger.Row {
	h.t.Helper()
	var b ledger.Book
	if err := h.cli.Replay(h.t.Context(), bus.ReplayOptions{}, func(ev envelope.Event) error { b.Add(ev); return nil }); err != nil {
		h.t.Fatal(err)
	}
	out := map[ledger.By][]ledger.Row{}
	for _, by := range append(ledger.Groupings(), ledger.Total) {
		out[by] = b.Rows(by)
	}
	return out
}

// archived are the lines of a file.
func (h *house) archived(name string) (lines []string) {
	h.t.Helper()
	f, err := os.Open(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		h.t.Fatal(err)
	}
	for s := bufio.NewScanner(z); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func (h *house) files() (names []string) {
	h.t.Helper()
	all, err := os.ReadDir(h.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	for _, f := range all {
		if f.Name() != ".lock" {
			names = append(names, f.Name())
		}
	}
	return names
}

func (h *house) bus() retention.SingleBus { return retention.OnBus(h.cli, h.server.Admin()) }

func (h *house) pruner(b retention.Bus, p retention.Policy) *retention.Pruner {
	h.t.Helper()
	r, err := retention.New(retention.Config{Bus: b, Archive: h.dir, Policy: p, By: "cli", Now: func() time.Time { return today }})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) plan(p *retention.Pruner) *retention.Plan {
	h.t.Helper()
	plan, err := p.Plan(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

// prune makes a plan and does it.
func (h *house) prune(p *retention.Pruner) (all []retention.Result) {
	h.t.Helper()
	if err := p.Prune(h.t.Context(), h.plan(p), func(r retention.Result) { all = append(all, r) }); err != nil {
		h.t.Fatal(err)
	}
	return all
}

func names(c []retention.Candidate) (out []string) {
	for _, x := range c {
		out = append(out, x.Session.Peer())
	}
	return out
}

func tombstone(t *testing.T, line string) (l envelope.Line, d turnv1.SessionDeleted) {
	t.Helper()
	var data json.RawMessage
	l.Data = &data
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	if l.Type != d.EventType() {
		t.Fatalf("not a tombstone: %s", line)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return l, d
}
