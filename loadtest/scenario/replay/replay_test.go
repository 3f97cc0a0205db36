package replay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

func TestReplayUsage(t *testing.T) {
	for _, args := range [][]string{{"--events", "0"}, {"--rounds", "0"}, {"--explains", "0"}, {"--doctors", "-1"}, {"--limit", "0"}, {"extra"}} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
	}
}

func TestPassesMakeAJournalOfAllKinds(t *testing.T) {
	for _, events := range []int{1, 99, 1000, 20_000, 200_000, 1_000_000} {
		n, long, calls, pass := 0, 0, false, 0
		for ; n < events; pass++ {
			all := passOf(pass, n, events)
			if len(all[0].Sessions) < 1 || len(all[0].Sessions) > madeMost || all[1].Each < 1 {
				t.Fatalf("%d events, pass %d: %+v", events, pass, all)
			}
			n += (len(all[0].Sessions)*all[0].Each + all[1].Each) * madeEvents
			long += all[1].Each * madeEvents
			calls = calls || all[0].Text == exchange.NowText
		}
		if big := events >= 20_000; big && (long < longEvents || long > 2*longEvents || !calls) || n > events+madeMost*madeTurns*madeEvents+2*longEvents {
			t.Errorf("%d events: %d in %d passes, %d of the long session, calls %v", events, n, pass, long, calls)
		}
	}
}

func TestDiagnosis(t *testing.T) {
	var r report
	for range 2 {
		d, err := readDiagnosis(daemon.Output{Code: 1, Stdout: []byte(`{"ok":false,"findings":[{"id":"config.ok","severity":"ok","check":"c","text":"fine"},` +
			`{"id":"session.stuck","severity":"problem","check":"sessions","text":"a"},{"id":"journal.full","severity":"warning","check":"journal","text":"b"}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		r.diagnosed(d)
	}
	if len(r.Problems) != 1 || r.Problems[0].ID != "session.stuck" || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	for _, o := range []daemon.Output{{}, {Stdout: []byte(`{"ok":true,"findings":[]}`)}, {Stdout: []byte(`{"ok":true,"findings":[{"id":"x"}]}`), Code: 1}} {
		if d, err := readDiagnosis(o); err == nil {
			t.Errorf("%q, exit code %d: %+v", o.Stdout, o.Code, d)
		}
	}
	silent := report{}
	if silent.diagnosed(diagnosis{}); len(silent.Problems) != 1 {
		t.Errorf("%+v", silent)
	}
}

func TestReplayReport(t *testing.T) {
	r := report{Made: 10 * time.Second, Explained: "main.http.default.long", ExplainedEvents: 1004}
	for i, rate := range []float64{90, 40, 70} {
		x := round{
			Ordered: floor.Scanned{Events: 500, Bytes: 2e6, Took: time.Second, PerSecond: 100}, Batched: floor.Scanned{Events: 500, Took: time.Second, PerSecond: 200},
			Fold: recheck.Replayed{OK: true, Events: 500, Rate: rate}, Check: recheck.Replayed{OK: true, Events: 500, Sessions: 9, Decided: 400, Facts: 100, Rate: rate / 2},
			Index:   reindexed{Rate: 10},
			Explain: []time.Duration{time.Duration(i) * 150 * time.Millisecond}, Alone: []time.Duration{time.Second}, Doctor: []time.Duration{3 * time.Second},
		}
		r.Rounds = append(r.Rounds, x)
	}
	r.diagnosed(diagnosis{OK: true, Findings: []remark{{ID: "sqlite.behind", Severity: "warning", Check: "reading", Text: "behind"}}})
	r.finish()
	if r.Events != 500 || r.Sessions != 9 || r.Lines[2].Ordered != 0.7 || r.Lines[2].Batched != 0.35 || r.Lines[3].Ordered != 0.35 || r.Lines[4].Ordered != 0.1 {
		t.Errorf("%+v", r.Lines)
	}
	var met []bool
	for _, g := range r.Goals {
		met = append(met, g.Met)
	}
	if want := []bool{true, false, true, false, true, true}; !slices.Equal(met, want) {
		t.Errorf("met %v, want %v: %+v", met, want, r.Goals)
	}
	var b strings.Builder
	r.Print(console.Printer{Out: &b})
	for _, want := range []string{"500 events (2.0 MB of bodies) in 9 sessions, made in 10 s", "150 ms; 300 ms", "70 %", "sqlite.behind", "0 of 400, and 100 facts"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %s", want, b.String())
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestAStoreIsCopiedUnlessSomebodyUsesIt(t *testing.T) {
	from := daemon.Home{Dir: t.TempDir()}
	standin.WriteFile(t, filepath.Join(from.Data(), "jetstream", "x"), "stored")
	standin.WriteFile(t, filepath.Join(from.Dir, "run", "lock"), "")
	lock, err := os.Open(filepath.Join(from.Dir, "run", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	to := daemon.Home{Dir: t.TempDir()}
	if err := to.TakeData(from.Dir); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("%v", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := to.TakeData(from.Dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(to.Data(), "jetstream", "x")); err != nil || string(b) != "stored" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(to.Data()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := to.TakeData(t.TempDir()); err == nil {
		t.Error("there was nothing to copy, and that is no error")
	}
}
