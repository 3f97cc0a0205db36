package recheck

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

func TestWhatReplaySaysIsRead(t *testing.T) {
	const found = `{"ok":false,"events":7,"decided":3,"first":{"kind":"different","cursor":5,"session":"main.http.default.a","type":"turn.completed.v1",` +
		`"service":"turns","differences":[{"field":"data.text","then":"\"a\"","now":""}]},"seconds":1}`
	const hole = `{"ok":false,"events":7,"decided":3,"unjudged":2,"others":[{"kind":"hole","cursor":6,"session":"main.http.default.a","type":"turn.started.v1"}]}`
	for _, c := range []struct {
		name, stdout string
		code         int
		err          string // in the error
		broken       string // in the first violation
		value        string // in the goal
	}{
		{"well", `{"ok":true,"events":7,"decided":3,"given":1,"facts":3,"seconds":0.5,"events_per_second":14}`, 0, "", "", "0 of 4, and 3 facts"},
		{"a difference", found, 1, "", `today's turns would not append turn.completed.v1; data.text: then "a", now `, "1 at least: 5 (turn.completed.v1)"},
		{"a hole", hole, 1, "", "hole: turn.started.v1", "not known of all"},
		{"not all of it", `{"ok":true,"events":6,"decided":3}`, 0, "", "has read 6 events, and the journal has 7", "not known of all"},
		{"nothing compared", `{"ok":true,"events":7,"facts":7}`, 0, "", "has compared 0 events", "not known of all"},
		{"left out", `{"ok":true,"events":7,"decided":3,"unjudged":1}`, 0, "", "left 1 out", "not known of all"},
		{"no reason", `{"ok":false,"events":7,"decided":7}`, 1, "", "does not say why", "not known of all"},
		{"nothing", "", 1, "exit code 1", "", ""},
		{"no events", `{"ok":true}`, 0, "exit code 0", "", ""},
		{"at odds", `{"ok":true,"events":7,"decided":3}`, 1, "exit code 1", "", ""},
		{"at odds the other way", `{"ok":false,"events":7,"decided":3}`, 0, "exit code 0", "", ""},
	} {
		r, err := readReplayed(daemon.Output{Stdout: []byte(c.stdout), Code: c.code, Stderr: []byte("told")})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "told") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		v, g := r.Violations(7), r.Goal(7)
		if (len(v) == 0) != (c.broken == "") || len(v) > 0 && (v[0].Kind != judge.Otherwise || !strings.Contains(v[0].Text, c.broken)) {
			t.Errorf("%s: %+v", c.name, v)
		}
		if g.Met != (c.broken == "") || g.Said != c.value {
			t.Errorf("%s: %+v", c.name, g)
		}
	}
}
