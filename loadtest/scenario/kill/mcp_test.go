package kill

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

func TestKillDuringMCPCalls(t *testing.T) {
	args := killArgs("--mix", "mcp", "--sessions", "12", "--delay", "50ms-200ms", "--drain", "20s", "--callback=false", "--json", "-")
	code, out, _ := standin.Run(t, Command, args...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if c := r.Verdict.Counts; len(r.Verdict.Violations) != 0 || code != 0 || c.Calls == 0 || c.Outcomes["ok"] == 0 {
		t.Fatalf("exit %d, %+v, %+v", code, c, r.Verdict.Violations)
	}
}

func TestKillFindsMCPCallsThatRunTwice(t *testing.T) {
	t.Setenv("STANDIN_BUG", "again")
	code, out, notes := standin.Run(t, Command, killArgs("--mix", "mcp", "--sessions", "8", "--kills", "1", "--delay", "50ms-100ms", "--drain", "20s", "--callback=false", "--json", "-")...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 1 || r.Verdict.Of(judge.Doubled) == 0 || !strings.Contains(notes, "was written 2 times, and 1 calls of it have begun") {
		t.Errorf("exit %d, %+v", code, r.Verdict.Violations)
	}
}
