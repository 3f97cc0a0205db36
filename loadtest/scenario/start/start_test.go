package start

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
)

func TestStartReports(t *testing.T) {
	dir := t.TempDir()
	data, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	code, out, _ := standin.Run(t, Command, "--starts", "2", "--turns", "10", "--json", data, "--html", page)
	if code != 0 || !strings.Contains(out, "idle memory") || !strings.Contains(out, "start to ready") {
		t.Errorf("exit %d, %s", code, out)
	}
	r, err := result.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := r.Figure("start.ready"); !ok || len(f.Values) != 2 || f.Value <= 0 || f.Unit != "ms" || f.Goal == "" {
		t.Errorf("%+v", f)
	}
	if r.Scenario != "start" || r.Options["turns"] != "10" || r.Options["binary"] != "" || r.Machine.Cores == 0 || r.Machine.NATS == "" || len(r.Series) != 1 {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "<svg ") || !strings.Contains(string(b), "start to ready, empty home") {
		t.Errorf("%v, %.500s", err, b)
	}
}
