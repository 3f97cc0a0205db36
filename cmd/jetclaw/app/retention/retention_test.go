package retention_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

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
	h.answered(old, "I am back")
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

// TestWhoWasLetInStays: that somebody was let in is never too old.
func TestWhoWasLetInStays(t *testing.T) {
	h := build(t)
	_, err := h.intake.Journal().AppendFact(t.Context(), envelope.Event{
		Session: accessv1.Session, Time: today.Add(-400 * day).UTC(), Body: accessv1.Granted{Who: "telegram:1", By: "local"},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if plan := h.plan(h.pruner(h.bus(), retention.Policy{Dormant: day, MaxBytes: 1})); !plan.Empty() {
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
