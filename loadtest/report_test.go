package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/floor"
	"github.com/jetclaw/jetclaw/loadtest/result"
)

// Every step is a command line that can be carried out, every row has a step, and none is there twice.
func TestStepsAndRowsOfTheReport(t *testing.T) {
	for _, s := range steps() {
		for _, line := range []string{s.full, s.quick} {
			var notes bytes.Buffer
			code := run(t.Context(), append(strings.Fields(line), "extra"), strings.NewReader(""), io.Discard, &notes)
			if code != 2 || !strings.Contains(notes.String(), `unexpected argument "extra"`) {
				t.Errorf("%s: exit %d, %s", line, code, notes.String())
			}
		}
	}
	var ids []string
	for _, s := range sections() {
		for _, r := range s.rows {
			if stepOf(r.step) == nil || slices.Contains(ids, r.id) {
				t.Errorf("%s of %s", r.id, r.step)
			}
			ids = append(ids, r.id)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func machine() result.Machine {
	return result.Machine{OS: "linux/amd64", Cores: 2, Go: "go1.26", NATS: "2.15.0"}
}

func sizesResult() result.Result {
	r := sizesReport{Messages: 5, Deep: &sized{Sessions: 100, Turns: 2000, Snapshots: 1_400_000, Subjects: 600}}
	for _, n := range []int{1000, 10_000, 50_000} {
		r.Sizes = append(r.Sizes, sized{
			Sessions: n, Turns: 5 * n, Events: uint64(20 * n), Subjects: uint64(4 * n), Streams: 8, Consumers: 12,
			Journal: int64(5 * n * 2600), Index: int64(5 * n * 1300), Ready: 150*time.Millisecond + time.Duration(n)*10*time.Microsecond,
			RSS: int64(60e6 + 5000*float64(n)), Floor: floor.Opened{Took: time.Duration(n) * 9 * time.Microsecond, RSS: int64(26e6 + 4000*float64(n))},
		})
	}
	r.finish()
	res := result.Result{Options: map[string]string{"sizes": "1000,10000,50000"}, Took: 3 * time.Minute}
	r.fill(&res)
	return res
}

func TestReportText(t *testing.T) {
	r := reported{results: map[string]result.Result{
		"turn": {Took: time.Minute, Figures: []result.Figure{
			result.Goal("x", "≤ 2×", "5×", false).As("turn.added_p50").In("ms", 0.9, 1, 1.1).Beside(0.2, 0.2, 0.2),
			result.Of("turn.cpu.interval.512", "y", "ms", 1.2), result.Of("turn.cpu.interval.1", "z", "ms", 0.9),
		}},
		"sizes": sizesResult(),
		"start": {Figures: []result.Figure{result.Goal("x", "≤ 100 ms", "200 ms", false).As("start.version").In("ms", 200)}},
	}, trouble: map[string]error{"kill": errors.New("broken | pipe\nand more")}}
	got := r.markdown(machine(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Hour)
	path := filepath.Join("testdata", "report.md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%v: it is another one than %s; look at it, then run the test with -update:\n%s", err, path, got)
	}
	for _, part := range []string{
		"| 1 ms [0.90–1.10 ms] | 0.20 ms | 5× | **missed**: the way to the model",
		"| 1.20 ms |  |  | **missed**: 1.1 ms with many sessions |",
		"| 0.90 ms |  |  | met |",
		"**missed**: why is not known yet",
		"not measured: the step came to nothing",
		"came to nothing: broken | pipe",
		"| 100,000 | 8 | 12 | 560 MB | 15.6 GB | 7.80 GB | 1.40 GB | 1.00 s |",
		"| 10,000,000 | 8 | 12 | 50.1 GB |",
		"8 GB of memory are full at about 1,600,000 sessions",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestReportUsage(t *testing.T) {
	for _, args := range [][]string{{"--only", "dance"}, {"extra"}} {
		if code := run(t.Context(), append([]string{"report"}, args...), strings.NewReader(""), io.Discard, io.Discard); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	if f, err := parseReport([]string{"--quick"}, printer{err: io.Discard}); err != nil || f.md != "-" {
		t.Errorf("%v, a quick report goes to %q", err, f.md)
	}
	if f, err := parseReport(nil, printer{err: io.Discard}); err != nil || f.md != resultsFile {
		t.Errorf("%v, the report goes to %q", err, f.md)
	}
}

// A step is carried out by this program as a process of its own.
func TestReportRunsItsSteps(t *testing.T) {
	dir := t.TempDir()
	code, out, notes := scenario(t, "report", "--quick", "--only", "start", "--out", dir)
	if code != 0 || !strings.Contains(out, "| `jetclaw version`: CPU | ≤ 100 ms |") || strings.Contains(out, "not measured") {
		t.Errorf("exit %d, %s\n%s", code, out, notes)
	}
	if _, err := result.Read(filepath.Join(dir, "start.json")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "start.html")); err != nil || !bytes.Contains(b, []byte("<svg ")) {
		t.Error(err)
	}
}

// soakOf has readings of a run of an hour, a turn a second, of which of gives the memory.
func soakOf(of func(turns float64) float64) (r soakReport) {
	r = soakReport{For: time.Hour, Warmup: 0.25, Replay: replayed{OK: true, Events: 7, Decided: 7}}
	for i := range 240 {
		turns := float64(15 * (i + 1))
		noise := 4e6 * math.Sin(float64(i)*1.7)
		r.Samples = append(r.Samples, soakSample{
			At: time.Duration(15*(i+1)) * time.Second, Turns: int64(turns), Sessions: int64(turns / 20), RSS: int64(of(turns) + noise), Disk: int64(6000 * turns), Files: 50,
		})
	}
	r.finish(7)
	return r
}

func TestSoakFindsWhatGrows(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(turns float64) float64
		met  bool
	}{
		{"flat", func(float64) float64 { return 100e6 }, true},
		{"falls", func(n float64) float64 { return 200e6 - 1000*n }, true},
		{"only while it warms up", func(n float64) float64 { return 60e6 + 60e6*min(1, n/900) }, true},
		{"by what the turns leave", func(n float64) float64 { return 100e6 + 1000*n }, true},
		{"a leak", func(n float64) float64 { return 100e6 + 9000*n }, false},
	} {
		r := soakOf(c.of)
		if missed := missedOf(r.Goals); (len(missed) == 0) != c.met {
			t.Errorf("%s: %v, %+v", c.name, missed, r.Slopes)
		}
	}
	if r := soakOf(func(n float64) float64 { return 100e6 + 9000*n }); math.Abs(r.perSession()-20*9000) > 2e4 {
		t.Errorf("a session of 20 turns of 9 kB leaves %.0f B", r.perSession())
	}
}

func TestSoakShowsItsSeries(t *testing.T) {
	r := soakOf(func(float64) float64 { return 100e6 })
	var res result.Result
	r.fill(&res)
	var names []string
	for _, s := range res.Series {
		names = append(names, s.Name)
	}
	want := []string{"Memory of the daemon", "Open files", "Disk that the home takes", "Doorbells not settled", "Turns"}
	if !slices.Equal(names, want) { // what is not known has none
		t.Errorf("%q", names)
	}
	var b strings.Builder
	r.print(printer{out: &b})
	if !strings.Contains(b.String(), "3600 turns in 180 sessions") {
		t.Error(b.String())
	}
}

func TestSoakUsage(t *testing.T) {
	for _, args := range [][]string{{"--for", "10s"}, {"--warmup", "1"}, {"--sessions", "0"}, {"--delay", "x"}, {"extra"}} {
		if code := run(t.Context(), append([]string{"soak"}, args...), strings.NewReader(""), io.Discard, io.Discard); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}
