package kill

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/bench/standin"
	"github.com/jetclaw/jetclaw/loadtest/judge"
)

func killArgs(more ...string) []string {
	return append([]string{"--kills", "3", "--sessions", "10", "--sync", "interval", "--delay", "400ms-800ms", "--max-up", "300ms", "--drain", "3s", "--settle", "2s", "--seed", "7"}, more...)
}

func TestKillFindsNothingWrongWithADaemonThatKeepsItsPromises(t *testing.T) {
	code, out, _ := standin.Run(t, Command, killArgs("--json", "-")...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	c := r.Verdict.Counts
	if len(r.Verdict.Violations) != 0 || c.Accepted == 0 || c.Pushed < c.Accepted || len(r.Lives) < r.Kills {
		t.Errorf("exit %d, %+v", code, r)
	}
	if code != 0 { // three kills are too few for their share in flight to count
		t.Errorf("exit %d", code)
	}
}

func TestKillFindsForgottenMessages(t *testing.T) {
	t.Setenv("STANDIN_BUG", "forget")
	code, out, notes := standin.Run(t, Command, killArgs("--json", "-")...)
	var r report
	if err := standin.Decode(out, &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 1 || r.Verdict.Of(judge.Lost) == 0 || !strings.Contains(notes, "accepted and is not in the journal") {
		t.Errorf("exit %d, %d lost", code, r.Verdict.Of(judge.Lost))
	}
}

func TestKillFindsWhatWouldBeDecidedOtherwise(t *testing.T) {
	t.Setenv("STANDIN_BUG", "otherwise")
	code, out, notes := standin.Run(t, Command, killArgs()...)
	if code != 1 || !strings.Contains(out, "1 at least: 4 (turn.started.v1)") || !strings.Contains(notes, "otherwise main.http.default.") ||
		!strings.Contains(notes, `data.attempt: then 1, now 2`) || !strings.Contains(notes, "kept: ") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestKillFailsWhenItsJournalCannotBeReplayed(t *testing.T) {
	t.Setenv("STANDIN_BUG", "silent")
	code, out, notes := standin.Run(t, Command, killArgs()...)
	if code != 1 || !strings.Contains(out, "not known of all") || !strings.Contains(notes, "jetclaw replay, exit code 0") || !strings.Contains(notes, "kept: ") {
		t.Errorf("exit %d", code)
	}
}

func TestKillFindsDoubleAnswers(t *testing.T) {
	t.Setenv("STANDIN_BUG", "twice")
	code, out, notes := standin.Run(t, Command, killArgs()...)
	if code != 1 || !strings.Contains(out, "doubled") || !strings.Contains(notes, "turn.completed of turn") || !strings.Contains(notes, "turn.completed  standin/1") {
		t.Errorf("exit %d, %s", code, out)
	}
}
