package retention_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// dying is a bus on which the process dies at a step: it panics there, so that nothing is tidied up but what the
// kernel would.
type dying struct {
	retention.Bus
	step  string
	after int  // events that are read before it dies in "archive"
	lost  bool // it only loses the answer
}

type death struct{}

func (d *dying) die(step string) error {
	if d.step != step {
		return nil
	}
	if d.lost {
		return fault.New(fault.Timeout, "no answer in time")
	}
	panic(death{})
}

func (d *dying) Get(ctx context.Context, cursor uint64) (envelope.Event, error) {
	if d.after--; d.after < 0 {
		if err := d.die("archive"); err != nil {
			return envelope.Event{}, err
		}
	}
	return d.Bus.Get(ctx, cursor)
}

func (d *dying) Delete(ctx context.Context, s session.ID, cursor uint64, r turnv1.SessionDeleted) (uint64, error) {
	if err := d.die("before delete"); err != nil {
		return 0, err
	}
	at, err := d.Bus.Delete(ctx, s, cursor, r)
	if derr := d.die("after delete"); derr != nil {
		return 0, derr
	}
	return at, err
}

func (d *dying) Purge(ctx context.Context, s session.ID, stone uint64) (uint64, error) {
	if err := d.die("before purge"); err != nil {
		return 0, err
	}
	n, err := d.Bus.Purge(ctx, s, stone)
	if derr := d.die("after purge"); derr != nil {
		return 0, derr
	}
	return n, err
}

// dies prunes on a bus that dies.
func (h *house) dies(p *retention.Pruner, plan *retention.Plan) (died bool, err error) {
	h.t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(death); !ok {
				panic(r)
			}
			died = true
		}
	}()
	return false, p.Prune(h.t.Context(), plan, func(retention.Result) {})
}

// TestItDiesAtEachStep, or an answer is lost there; then the next run goes on.
func TestItDiesAtEachStep(t *testing.T) {
	for _, step := range []string{"archive", "before delete", "after delete", "before purge", "after purge"} {
		for _, lost := range []bool{false, true} {
			t.Run(strings.ReplaceAll(step, " ", "_")+map[bool]string{true: "_answer_lost"}[lost], func(t *testing.T) {
				h := build(t)
				one, two := h.talked("one", 4, today.Add(-200*day)), h.talked("two", 2, today.Add(-199*day))
				other := h.talked("other", 2, today.Add(-10*day))
				h.live()
				before, totals := h.journal(), h.totals()
				policy := retention.Policy{Dormant: 180 * day}
				plan := h.plan(h.pruner(h.bus(), policy))
				died, err := h.dies(h.pruner(&dying{Bus: h.bus(), step: step, after: 5, lost: lost}, policy), plan)
				if died == lost || (err != nil) != lost {
					t.Fatalf("%v, died: %v", err, died)
				}
				if got := h.totals(); !reflect.DeepEqual(got, totals) {
					t.Errorf("in between, accounts %+v\nwere %+v", got, totals)
				}
				results := h.prune(h.pruner(h.bus(), policy))
				again := slices.ContainsFunc(results, func(r retention.Result) bool { return r.Again && r.Session == one && r.Events == 12 })
				if want := step == "after delete" || step == "before purge"; again != want {
					t.Errorf("%+v", results)
				}
				after := h.journal()
				for _, s := range []session.ID{one, two} {
					if len(after[s]) != 1 {
						t.Fatalf("%s has %q", s, after[s])
					}
					_, stone := tombstone(t, after[s][0])
					if lines := h.archived(stone.Archive); !reflect.DeepEqual(lines, before[s]) || stone.Events != len(lines) {
						t.Errorf("%s: archived %q, want %q", s, lines, before[s])
					}
				}
				if !reflect.DeepEqual(after[other], before[other]) {
					t.Error("another session is touched")
				}
				if got := h.totals(); !reflect.DeepEqual(got, totals) {
					t.Errorf("accounts %+v\nwere %+v", got, totals)
				}
				files := slices.DeleteFunc(h.files(), func(f string) bool { return strings.HasPrefix(f, ".unnamed-") })
				if len(files) != 2 {
					t.Errorf("files %q", files)
				}
				if rest := h.prune(h.pruner(h.bus(), policy)); len(rest) != 0 {
					t.Errorf("a third run: %+v", rest)
				}
			})
		}
	}
}

// TestTheArchiveIsGone: what an earlier run has not purged is archived again before it is.
func TestTheArchiveIsGone(t *testing.T) {
	h := build(t)
	s := h.talked("s", 2, today.Add(-200*day))
	h.live()
	before := h.journal()[s]
	policy := retention.Policy{Dormant: 180 * day}
	if died, err := h.dies(h.pruner(&dying{Bus: h.bus(), step: "before purge"}, policy), h.plan(h.pruner(h.bus(), policy))); !died {
		t.Fatal(err)
	}
	for _, f := range h.files() {
		if err := os.Remove(filepath.Join(h.dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	h.prune(h.pruner(h.bus(), policy))
	left := h.journal()[s]
	if len(left) != 1 {
		t.Fatalf("%q", left)
	}
	if _, stone := tombstone(t, left[0]); !reflect.DeepEqual(h.archived(stone.Archive), before) {
		t.Error("what was purged is not in the archive")
	}
}

// TestAnOldPlan must not take away the archive that a tombstone names.
func TestAnOldPlan(t *testing.T) {
	h := build(t)
	s := h.talked("s", 2, today.Add(-200*day))
	h.live()
	policy := retention.Policy{Dormant: 180 * day}
	plan := h.plan(h.pruner(h.bus(), policy))
	if died, err := h.dies(h.pruner(&dying{Bus: h.bus(), step: "before purge"}, policy), plan); !died {
		t.Fatal(err)
	}
	var got []retention.Result
	if err := h.pruner(h.bus(), policy).Prune(t.Context(), plan, func(r retention.Result) { got = append(got, r) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Skipped == "" || len(h.files()) != 1 || len(h.journal()[s]) != 7 {
		t.Errorf("%+v, files %q", got, h.files())
	}
}

// TestSomebodyComesBackInBetween: to a session that is deleted and not purged yet.
func TestSomebodyComesBackInBetween(t *testing.T) {
	h := build(t)
	s := h.talked("s", 2, today.Add(-200*day))
	h.live()
	policy := retention.Policy{Dormant: 180 * day}
	if died, err := h.dies(h.pruner(&dying{Bus: h.bus(), step: "before purge"}, policy), h.plan(h.pruner(h.bus(), policy))); !died {
		t.Fatal(err)
	}
	h.answered(s, "I am back")
	totals, above := h.totals(), h.journal()[s][6:]
	for _, want := range []retention.Result{
		{Session: s, Events: 6, Again: true},
		{Session: s, Events: 4, Archive: string(s) + "-10.jsonl.gz"},
	} {
		got := h.prune(h.pruner(h.bus(), policy))
		if len(got) == 1 {
			got[0].Bytes = 0
		}
		if !reflect.DeepEqual(got, []retention.Result{want}) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if lines := h.archived(string(s) + "-10.jsonl.gz"); !reflect.DeepEqual(lines, above) {
		t.Errorf("archived %q, want %q", lines, above)
	}
	if got := h.totals(); !reflect.DeepEqual(got, totals) {
		t.Errorf("accounts %+v\nwere %+v", got, totals)
	}
}

func TestWhatLiesInTheFolder(t *testing.T) {
	h := build(t)
	s := h.talked("s", 2, today.Add(-200*day))
	h.live()
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := string(s) + "-6"
	var other bytes.Buffer // of another journal
	z := gzip.NewWriter(&other)
	if _, err := z.Write([]byte(`{"cursor":6}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	stale, running := filepath.Join(h.dir, ".unnamed-1"), filepath.Join(h.dir, ".unnamed-2")
	for path, at := range map[string]time.Time{
		filepath.Join(h.dir, name+".jsonl.gz"): today, stale: today.Add(-2 * time.Hour), running: today,
	} {
		if err := os.WriteFile(path, other.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	got := h.prune(h.pruner(h.bus(), retention.Policy{Dormant: 180 * day}))
	if len(got) != 1 || got[0].Archive != name+".2.jsonl.gz" {
		t.Errorf("%+v", got)
	}
	if want := []string{".unnamed-2", name + ".2.jsonl.gz", name + ".jsonl.gz"}; !slices.Equal(h.files(), want) {
		t.Errorf("files %q, want %q", h.files(), want)
	}
}

func TestALongName(t *testing.T) {
	h := build(t)
	s := h.talked(strings.Repeat("n", session.MaxToken), 1, today.Add(-200*day))
	h.live()
	long, err := session.New("main", strings.Repeat("c", 50), "local", strings.Repeat("n", session.MaxToken))
	if err != nil {
		t.Fatal(err)
	}
	h.say(long, "hello", today)
	got := h.prune(h.pruner(h.bus(), retention.Policy{Dormant: 180 * day}))
	if len(got) != 1 || got[0].Session != s || len(got[0].Archive) > 220 || len(h.archived(got[0].Archive)) != 3 {
		t.Errorf("%+v", got)
	}
}

// TestOneAtATime: while a run works on the folder, another one is refused.
func TestOneAtATime(t *testing.T) {
	h := build(t)
	h.talked("s", 1, today.Add(-200*day))
	h.live()
	policy := retention.Policy{Dormant: 180 * day}
	second := h.pruner(h.bus(), policy)
	plan := h.plan(second)
	var refused error
	first := h.pruner(&meanwhile{h.bus(), func() { refused = second.Prune(t.Context(), plan, func(retention.Result) {}) }}, policy)
	h.prune(first)
	if refused == nil || !strings.Contains(refused.Error(), retention.ErrAtWork.Error()) {
		t.Errorf("%v", refused)
	}
}

// meanwhile does something before a session is deleted.
type meanwhile struct {
	retention.Bus
	do func()
}

func (m *meanwhile) Delete(ctx context.Context, s session.ID, cursor uint64, r turnv1.SessionDeleted) (uint64, error) {
	m.do()
	return m.Bus.Delete(ctx, s, cursor, r)
}

// TestADamagedArchiveIsNotTrusted: between the tombstone and the purge a file can come to harm; the events are written again.
func TestADamagedArchiveIsNotTrusted(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"emptied": func(p string) error { return os.Truncate(p, 0) },
		"half":    func(p string) error { return os.Truncate(p, 60) },
		"another": func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		"folder":  func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			one := h.talked("one", 4, today.Add(-200*day))
			h.live()
			policy := retention.Policy{Dormant: 180 * day}
			p := h.pruner(&dying{Bus: h.bus(), step: "before purge", after: 1000}, policy)
			if _, err := h.dies(p, h.plan(p)); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(h.dir, h.files()[0])); err != nil {
				t.Fatal(err)
			}
			h.prune(h.pruner(h.bus(), policy))
			if len(h.journal()[one]) == 1 && len(h.files()) == 1 {
				t.Error("the events are purged, and their only archive is damaged")
			}
		})
	}
}
