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
	"reflect"
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
		bus.Spec{Name: "intake", Appends: []string{"message.received"}},
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

func (h *house) bus() retention.Bus { return retention.OnBus(h.cli, h.server.Admin()) }

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

func TestPrune(t *testing.T) {
	h := build(t)
	old, fresh := h.talked("old", 5, today.Add(-200*day)), h.talked("fresh", 3, today.Add(-100*day))
	h.live()
	busy, waiting := id(t, "busy"), id(t, "waiting")
	h.say(busy, "hold on", today.Add(-300*day))
	before, totals := h.journal(), h.totals()
	h.say(waiting, "hold on", today.Add(-300*day))

	p := h.pruner(h.bus(), retention.Policy{Dormant: 180 * day})
	plan := h.plan(p)
	if len(plan.Candidates) != 1 || plan.Candidates[0].Session != old || plan.Candidates[0].Events != 15 || !plan.Candidates[0].At.Equal(today.Add(-200*day).UTC()) {
		t.Fatalf("%+v", plan.Candidates)
	}
	if len(plan.Kept) != 2 || !strings.Contains(plan.Kept[0].Why, "it is at work: ") {
		t.Errorf("kept %+v", plan.Kept)
	}
	if plan.After >= plan.Bytes || plan.After < plan.Bytes/4 {
		t.Errorf("%d bytes, %d after", plan.Bytes, plan.After)
	}
	if got := h.journal(); !reflect.DeepEqual(got[old], before[old]) || len(h.files()) != 0 {
		t.Error("a plan changes something")
	}
	got := h.prune(p)
	file := string(old) + "-15.jsonl.gz"
	if want := []retention.Result{{Session: old, Events: 15, Bytes: plan.Candidates[0].Bytes, Archive: file}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	after := h.journal()
	if lines := h.archived(file); !reflect.DeepEqual(lines, before[old]) {
		t.Errorf("archived %q\nwant %q", lines, before[old])
	}
	if len(after[old]) != 1 {
		t.Fatalf("left are %q", after[old])
	}
	line, stone := tombstone(t, after[old][0])
	if stone.By != "cli" || stone.Events != 15 || stone.Archive != file || len(stone.Spent) == 0 || line.Prev != 15 {
		t.Errorf("%+v", stone)
	}
	if !reflect.DeepEqual(after[fresh], before[fresh]) || len(after[busy]) == 0 || len(after[waiting]) == 0 {
		t.Error("other sessions are touched")
	}
	if now := h.totals(); !reflect.DeepEqual(now, totals) {
		t.Errorf("accounts %+v\nwere %+v", now, totals)
	}
	for path, want := range map[string]os.FileMode{h.dir: 0o700, filepath.Join(h.dir, file): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
	}
	if again := h.prune(p); len(again) != 0 {
		t.Errorf("a second run: %+v", again)
	}

	// Somebody comes back.
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		err := h.server.Admin().Follow(ctx, bus.ReplayOptions{Session: old}, func(ev envelope.Event) error {
			if _, ok := ev.Body.(turnv1.Completed); ok {
				close(done)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.Errorf("follow: %v", err)
		}
	})
	h.say(old, "I am back", today)
	<-done
	stop()
	following.Wait()
	h.mu.Lock()
	last := h.asked[len(h.asked)-1]
	h.mu.Unlock()
	if !strings.Contains(last, "I am back") || strings.Contains(last, "old says") {
		t.Errorf("the model is shown %s", last)
	}
	if lines := h.journal()[old]; len(lines) != 4 || !strings.Contains(lines[1], fmt.Sprintf(`"prev":%d,`, line.Cursor)) {
		t.Errorf("%q", lines)
	}
}

// TestNews: what has changed since the plan stays, and its archive does not.
func TestNews(t *testing.T) {
	h := build(t)
	one, two := h.talked("one", 1, today.Add(-200*day)), h.talked("two", 1, today.Add(-199*day))
	h.live()
	p := h.pruner(h.bus(), retention.Policy{Dormant: 180 * day})
	plan := h.plan(p)
	h.say(one, "hold on", today)
	var got []retention.Result
	if err := p.Prune(t.Context(), plan, func(r retention.Result) { got = append(got, r) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Session != one || !strings.Contains(got[0].Skipped, "news") || got[1].Session != two || got[1].Skipped != "" {
		t.Errorf("%+v", got)
	}
	if files := h.files(); len(files) != 1 || !strings.HasPrefix(files[0], string(two)) {
		t.Errorf("files %q", files)
	}
	if len(h.journal()[one]) < 4 {
		t.Error("something has gone")
	}
	// The plan is old: what it wanted has been done.
	got = nil
	if err := p.Prune(t.Context(), plan, func(r retention.Result) { got = append(got, r) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Skipped == "" || got[1].Skipped == "" || len(h.files()) != 1 {
		t.Errorf("%+v %q", got, h.files())
	}
}

func TestMaxBytes(t *testing.T) {
	h := build(t)
	for i, ago := range []time.Duration{5 * day, 12 * time.Hour, 10 * day, 2 * day} {
		h.talked(fmt.Sprint("s", i), 10, today.Add(-ago))
	}
	size, err := h.bus().Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy retention.Policy
		want   []string
	}{
		{retention.Policy{MaxBytes: size}, nil},
		{retention.Policy{MaxBytes: size - 1}, []string{"s2"}},
		{retention.Policy{MaxBytes: size * 3 / 5}, []string{"s2", "s0"}},
		{retention.Policy{MaxBytes: 1}, []string{"s2", "s0", "s3"}},
		{retention.Policy{Dormant: 4 * day}, []string{"s2", "s0"}},
		{retention.Policy{Dormant: 4 * day, MaxBytes: size * 3 / 5}, []string{"s2", "s0"}},
		{retention.Policy{Dormant: 4 * day, MaxBytes: size * 2 / 5}, []string{"s2", "s0", "s3"}},
		{retention.Policy{Dormant: 30 * day}, nil},
	} {
		plan := h.plan(h.pruner(h.bus(), c.policy))
		if got := names(plan.Candidates); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.policy, got, c.want)
		}
	}
}

// TestUnreadable: a session with something in it that cannot be archived stays.
func TestUnreadable(t *testing.T) {
	h := build(t)
	s := h.talked("s", 2, today.Add(-200*day))
	subj := envelope.Event{Session: s, Body: messagev1.Received{}}.Subject()
	if _, err := h.server.Admin().JetStream().Publish(t.Context(), subj, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	h.say(s, "after it", today.Add(-200*day))
	plan := h.plan(h.pruner(h.bus(), retention.Policy{Dormant: day}))
	if len(plan.Candidates) != 0 || len(plan.Kept) != 1 || !strings.Contains(plan.Kept[0].Why, "cannot be read") {
		t.Errorf("%+v", plan)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	good := retention.Config{Bus: retention.OnBus(nil, nil), Archive: t.TempDir(), By: "cli"}
	for name, spoil := range map[string]func(*retention.Config){
		"bus":  func(c *retention.Config) { c.Bus = nil },
		"path": func(c *retention.Config) { c.Archive = "archive" },
		"who":  func(c *retention.Config) { c.By = "" },
	} {
		c := good
		spoil(&c)
		if _, err := retention.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
