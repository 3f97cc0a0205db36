package health_test

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestKept(t *testing.T) {
	m := script{"turns", due(nil)}
	events := history(messagev1.Received{Text: "two"}, messagev1.Edited{}, messagev1.Received{Text: "three"})
	for name, c := range map[string]struct {
		cursor uint64
		state  string
		why    string // "" when it is right
	}{
		"right":         {11, " 2 ", ""},
		"the newest":    {13, "3", ""},
		"wrong":         {11, "3", "something else"},
		"of no event":   {14, "3", "event 14"},
		"no JSON":       {11, "{", "cannot be read"},
		"another shape": {11, `"2"`, "something else"},
	} {
		t.Run(name, func(t *testing.T) {
			ok, why := health.Kept(m, somebody, bus.Snapshot{Cursor: c.cursor, State: []byte(c.state)}, events)
			if ok != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%v, %q; want %q", ok, why, c.why)
			}
		})
	}
	poisoned := history(messagev1.Received{Text: "poison"})
	if ok, why := health.Kept(m, somebody, bus.Snapshot{Cursor: 11, State: []byte("1")}, poisoned); ok || !strings.Contains(why, "panics") {
		t.Errorf("%v, %q", ok, why)
	}
}
