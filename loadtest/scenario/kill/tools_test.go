package kill

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
)

func TestKillDuringToolCalls(t *testing.T) {
	args := killArgs("--mix", "tools", "--sessions", "12", "--delay", "50ms-200ms", "--drain", "20s", "--callback=false", "--json", "-")
	code, out, _ := standin.Run(t, Command, args...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	c := r.Verdict.Counts
	if len(r.Verdict.Violations) != 0 || code != 0 {
		t.Fatalf("exit %d, %+v", code, r.Verdict.Violations)
	}
	if c.Calls == 0 || c.Outcomes["ok"] == 0 || r.Mix == nil || len(r.Mix.Roles) != 4 || r.Mix.Moments.Rounds == 0 {
		t.Errorf("not all of it happened: %+v, mix %+v", c, r.Mix)
	}
}

func TestKillFindsCallsThatRunTwice(t *testing.T) {
	t.Setenv("STANDIN_BUG", "again")
	code, out, notes := standin.Run(t, Command, killArgs("--mix", "tools", "--sessions", "8", "--kills", "1", "--delay", "50ms-100ms", "--drain", "20s", "--callback=false", "--json", "-")...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 1 || r.Verdict.Of(judge.Doubled) == 0 || !strings.Contains(notes, "was written 2 times, and 1 calls of it have begun") {
		t.Errorf("exit %d, %+v", code, r.Verdict.Violations)
	}
}

func TestAMixOfToolsThatMetNoCallProvesNothing(t *testing.T) {
	m := &mixReport{Name: crowd.MixTools, Moments: judge.Moments{Rounds: 1}}
	if err := m.missing(); err == nil || !strings.Contains(err.Error(), "waits for, nor a tool call that was claimed") {
		t.Errorf("%v", err)
	}
	m.Moments.Calls, m.Moments.Claims = 1, 1
	if err := m.missing(); err != nil {
		t.Error(err)
	}
}

func TestLinesAreCounted(t *testing.T) {
	h := daemon.Home{Dir: t.TempDir()}
	if got, err := crowd.LinesOf(h.Workspace()); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	standin.WriteFile(t, filepath.Join(h.Workspace(), "lines-k-0.txt"), "line k-0-1\nline k-0-2\nline k-0-1\n")
	standin.WriteFile(t, filepath.Join(h.Workspace(), "lines-k-1.txt"), "line k-1-1\n")
	standin.WriteFile(t, filepath.Join(h.Workspace(), "AGENTS.md"), "line\n")
	got, err := crowd.LinesOf(h.Workspace())
	if err != nil || len(got) != 3 || got["line k-0-1"] != 2 || got["line k-1-1"] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if text := crowd.CallWrite("mk-k-0-1"); !strings.Contains(text, `"path":"lines-k-0.txt"`) || !strings.Contains(text, `"content":"line k-0-1\n"`) {
		t.Error(text)
	}
}
