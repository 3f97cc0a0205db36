package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/scenario/report"
)

// Every step is a command line that can be carried out.
func TestStepsOfTheReport(t *testing.T) {
	for _, s := range report.Steps() {
		for _, line := range []string{s.Full, s.Quick} {
			var notes bytes.Buffer
			code := run(t.Context(), append(strings.Fields(line), "extra"), strings.NewReader(""), io.Discard, &notes)
			if code != 2 || !strings.Contains(notes.String(), `unexpected argument "extra"`) {
				t.Errorf("%s: exit %d, %s", line, code, notes.String())
			}
		}
	}
}

// A step is carried out by this program as a process of its own.
func TestReportRunsItsSteps(t *testing.T) {
	dir := t.TempDir()
	code, out, notes := standin.Run(t, report.Command, "--quick", "--only", "start", "--out", dir)
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
