package result_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// bell has n durations around a middle, by their logarithm.
func bell(middle time.Duration, n int) (h stat.Histogram) {
	for i := range n {
		x := math.Sin(float64(i)*12.9898) + math.Sin(float64(i)*78.233) + math.Sin(float64(i)*37.719)
		h.Add(time.Duration(float64(middle) * math.Pow(10, x/7)))
	}
	return h
}

func sample() result.Result {
	ptr := func(v float64) *float64 { return &v }
	memory := result.Series{Name: "Memory of the daemon", Unit: "B", From: 60, Slope: &stat.Line{At0: 60e6, Slope: 2e3}}
	turns := result.Series{Name: "Turns answered", Unit: "turns/s"}
	for i := range 60 {
		at := float64(i) * 10
		memory.Points = append(memory.Points, result.Point{At: at, Value: 60e6 + 2e3*at + 4e6*math.Sin(float64(i)) - 20e6*math.Exp(-at/30)})
		turns.Points = append(turns.Points, result.Point{At: at, Value: 900 + 200*math.Sin(float64(i)*1.7)})
	}
	return result.Result{
		Format: result.Format, Scenario: "sample", Options: map[string]string{"sessions": "1,8", "sync": "<always>"}, Seed: 7, Rounds: 3,
		Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 95 * time.Second,
		Machine: result.Machine{OS: "linux/amd64", Kernel: "6.1", CPU: "A & B", Cores: 2, Memory: 8e9, Disk: "ext4", Go: "go1.26", NATS: "2.15.0", Version: "0123456789ab"},
		Figures: []result.Figure{
			result.Goal("added latency p50, 1 session", "≤ 2× bus floor", "5.10×", false).As("added").In("ms", 0.91, 0.94, 1.02).Beside(0.2, 0.18, 0.21),
			result.Goal("idle memory", "≤ 45 MB", "44.3 MB", true).As("idle").In("B", 44.3e6),
			result.Of("rate.interval.1", "1 session, interval", "turns/s", 500, 517, 530).Beside(850, 860, 870),
			result.Of("rate.interval.512", "512 sessions, interval", "turns/s", 1400, 1413, 1450).Beside(2850, 2860, 2870),
			result.Of("lost", "messages <lost>", "", 0),
		},
		Distributions: []result.Distribution{{Name: "A turn, 1 session", Curves: []result.Curve{
			{Name: "bus & http", Floor: true, Hist: bell(time.Millisecond, 3000)}, {Name: "measured", Hist: bell(2300*time.Microsecond, 3000)},
		}}},
		Series: []result.Series{memory, turns},
		Marks: []result.Mark{
			{What: "kill", At: 95, Ready: ptr(0.2), Again: ptr(1.1)}, {What: "kill", At: 210}, {What: "kill", At: 333, Ready: ptr(0.3), Again: ptr(0.05)}, {What: "kill", At: 480, Ready: ptr(0.25)},
		},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is another one; look at it, then run the test with -update", path)
	}
}

func TestResult(t *testing.T) {
	r := sample()
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.json", out.Bytes())
	back, err := result.Read(filepath.Join("testdata", "sample.json"))
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%v\nback %+v\nwant %+v", err, back, r)
	}
	f, ok := back.Figure("added")
	if !ok || f.Value != 0.94 || f.Floor != 0.2 || math.Abs(f.Ratio-0.94/0.18) > 0.4 || f.Met {
		t.Errorf("%+v", f)
	}
	if _, ok := back.Figure("none"); ok {
		t.Error("found what is not there")
	}
}

func TestReadRefusesAnotherFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(`{"format":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Read(path); err == nil || !strings.Contains(err.Error(), "format 2, want 1") {
		t.Error(err)
	}
}

func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := sample().HTML(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.html", out.Bytes())
	page := out.String()
	if n := strings.Count(page, "<svg "); n != 5 { // a distribution, bars, two series, recovery
		t.Errorf("%d pictures", n)
	}
	for _, bad := range []string{"<script", "http://", "https://", "url(", "@import", "messages <lost>", "A & B", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1) {
		if !regexp.MustCompile(`role="img" aria-label="[^"]{20,}"`).MatchString(svg) {
			t.Errorf("a picture without a label: %.200s", svg)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %.300s", err, svg)
			}
		}
	}
}

// What a short run or a broken one leaves must still be shown.
func TestPageOfLittle(t *testing.T) {
	r := result.Result{
		Distributions: []result.Distribution{{Name: "none"}, {Name: "one", Curves: []result.Curve{{Name: "x", Hist: bell(time.Millisecond, 1)}, {Name: "y"}}}},
		Series:        []result.Series{{Name: "none"}, {Name: "still", Unit: "B", Points: []result.Point{{}}}},
		Marks:         []result.Mark{{What: "kill"}},
		Figures:       []result.Figure{{}, result.Of("", "none", "B").Beside()},
	}
	var out bytes.Buffer
	if err := r.HTML(&out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Error(s)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		v          float64
		unit, want string
	}{
		{0, "", "0"},
		{3, "", "3"},
		{2345, "", "2,345"},
		{12345.6, "turns/s", "12,346 turns/s"},
		{0.9412, "ms", "0.94 ms"},
		{12.34, "ms", "12.3 ms"},
		{45_000, "ms", "45 s"},
		{44.3e6, "B", "44.3 MB"},
		{999, "B", "999 B"},
		{1.5e9, "B", "1.50 GB"},
		{0.00123, "s", "0.0012 s"},
		{-1234567, "", "-1,234,567"},
		{5.1, "×", "5.10×"},
		{60, "%", "60 %"},
	} {
		if got := result.With(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
