package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

const driving = "a\x1b[31m\u009b2J\a\x7f\u202eb"

// TestNothingDrivesTheTerminal: events hold what strangers wrote, in any field.
func TestNothingDrivesTheTerminal(t *testing.T) {
	t.Parallel()
	for _, e := range []envelope.Event{
		{Body: messagev1.Received{From: messagev1.Sender{ID: driving + "\n"}, Text: driving}},
		{Body: messagev1.Refused{From: messagev1.Sender{ID: driving}, Reason: driving}},
		{Body: envelope.Unknown{Type: driving, Err: errors.New(driving)}},
	} {
		e.Time = time.Unix(0, 0)
		line := strings.TrimSuffix(textLine(e, false), "\n")
		if strings.ContainsFunc(line, drives) || strings.Contains(line, "\n") || !strings.Contains(line, "a[31m2Jb") {
			t.Errorf("%q", line)
		}
	}
	raw, err := json.Marshal(driving)
	if err != nil {
		t.Fatal(err)
	}
	line := jsonForTerminal(raw)
	var back string
	if err := json.Unmarshal(line, &back); err != nil || back != driving || strings.ContainsFunc(string(line), drives) {
		t.Errorf("%s is %q, %v", line, back, err)
	}
}

func TestComplaintsDoNotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	u := newUser(t, "\"\\e[31mred\": 1\n")
	for _, args := range [][]string{{"--\x1b[31mx"}, {"events", "--since", "\x1b[31m"}, {"config", "check"}} {
		if r := u.run(args...); r.code == 0 || strings.Contains(r.stderr, "\x1b") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
