package report

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func machine() result.Machine {
	return result.Machine{OS: "linux/amd64", Cores: 2, Go: "go1.26", NATS: "2.15.0"}
}

// sizesFigures has what the paper is made of.
func sizesFigures() result.Result {
	of := func(id string, value float64) result.Figure { return result.Of("sizes."+id, id, "", value) }
	return result.Result{
		Options: map[string]string{"sizes": "1000,10000,50000"}, Took: 3 * time.Minute,
		Figures: []result.Figure{
			result.Goal("start", "≤ 1.1×", "1.44×", false).As("sizes.ready").In("ms", 650).Beside(450),
			result.Goal("memory", "≤ 1.2×", "1.37×", false).As("sizes.rss").In("B", 310e6).Beside(226e6),
			of("memory.slope", 5000).Beside(4000), of("memory.base", 60e6).Beside(26e6), of("ready.slope", 10e-6),
			of("journal", 2600), of("index", 1300), of("snapshots", 14_000), of("events", 4), of("subjects", 6), of("streams", 8), of("consumers", 12),
		},
	}
}

func TestReportText(t *testing.T) {
	r := reported{results: map[string]result.Result{
		"turn": {Took: time.Minute, Figures: []result.Figure{
			result.Goal("x", "≤ 2×", "5×", false).As("turn.added_p50").In("ms", 0.9, 1, 1.1).Beside(0.2, 0.2, 0.2),
			result.Of("turn.cpu.interval.512", "y", "ms", 1.2), result.Of("turn.cpu.interval.1", "z", "ms", 0.9),
		}},
		"sizes": sizesFigures(),
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
		"8 GB of memory are full at about 1,600,000 sessions",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

func TestReportUsage(t *testing.T) {
	for _, args := range [][]string{{"--only", "dance"}, {"extra"}} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	if f, err := parseReport([]string{"--quick"}, console.Printer{Err: io.Discard}); err != nil || f.md != "-" {
		t.Errorf("%v, a quick report goes to %q", err, f.md)
	}
	if f, err := parseReport(nil, console.Printer{Err: io.Discard}); err != nil || f.md != resultsFile {
		t.Errorf("%v, the report goes to %q", err, f.md)
	}
}

// Every row has a step, and none is there twice.
func TestRowsOfTheReport(t *testing.T) {
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
