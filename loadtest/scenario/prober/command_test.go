package prober

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

// lines is a writer that several goroutines may use.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// probed has a prober look at a stand-in until its metrics say that enough has happened, and ends it as SIGTERM would.
func probed(t *testing.T, enough *regexp.Regexp) (out, metrics string) {
	t.Helper()
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := standin.Bench(t)
	h, err := b.Home("probed", "interval", m.URL())
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Kill()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	var said, notes lines
	done := make(chan int, 1)
	go func() {
		p := console.Printer{Out: &said, Err: &notes}
		done <- console.Code(p, "prober", Command(ctx, []string{
			"--url", h.URL(), "--token-file", filepath.Join(h.Dir, "keys", "http.token"), "--monitor", "127.0.0.1:0",
			"--every", "1ms", "--patience", "5s", "--sessions", "2", "--run", "x",
		}, p))
	}()
	at := regexp.MustCompile(`metrics at (\S+)`)
	for ctx.Err() == nil {
		if m := at.FindStringSubmatch(notes.String()); m != nil {
			if metrics = get(t, m[1]); enough.MatchString(metrics) {
				break
			}
		}
		pace.Wait(ctx, 10*time.Millisecond)
	}
	late := ctx.Err()
	end()
	if code := <-done; code != 0 || late != nil {
		t.Errorf("exit %d, %v: %s\n%s", code, late, notes.String(), metrics)
	}
	return said.String(), metrics
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var manyGood = regexp.MustCompile(`_duration_seconds_count [1-9]\d`)

func TestProberIsContent(t *testing.T) {
	out, metrics := probed(t, manyGood)
	failed := regexp.MustCompile(`failures_total{kind="(\w+)"} [1-9]`).FindAllString(metrics, -1)
	if out != "" || failed != nil || strings.Contains(metrics, "last_success_timestamp_seconds 0.000") {
		t.Errorf("%s\n%s", out, metrics)
	}
}

func TestProberFinds(t *testing.T) {
	for bug, want := range map[string]string{"twice": "doubled", "skip": "order", "forget": "reply"} {
		t.Run(bug, func(t *testing.T) {
			t.Setenv("STANDIN_BUG", bug)
			out, metrics := probed(t, regexp.MustCompile(`failures_total{kind="`+want+`"} [1-9]`))
			if !regexp.MustCompile(`(?m)^\S+ prober-x-\d message \d+: ` + want + `: `).MatchString(out) {
				t.Errorf("%s\n%s", out, metrics)
			}
		})
	}
}

func TestProberUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--url", "x", "--token-file", "y"}, {"--token-file", "y", "--sessions", "0"}, {"--token-file", "y", "--run", "A"}, {"--token-file", "y", "extra"},
	} {
		if code := standin.Misused(t, Command, args...); code != 2 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}
