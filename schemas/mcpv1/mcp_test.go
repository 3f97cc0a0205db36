package mcpv1_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/mcpv1"
)

// TestGolden: what was written once is read for ever, and is written the same.
func TestGolden(t *testing.T) {
	until := time.Date(2026, 9, 18, 10, 21, 30, 0, time.UTC)
	for wire, e := range map[string]mcpv1.Event{
		`{"transport":"stdio","protocol":"2025-11-25","name":"secure-filesystem-server","version":"0.2.0","worker":"W7kq2nRz"}`: mcpv1.Connected{
			Transport: "stdio", Protocol: "2025-11-25", Name: "secure-filesystem-server", Version: "0.2.0", Worker: "W7kq2nRz",
		},
		`{"reason":"exited with status 1","failures":2}`: mcpv1.Failed{Reason: "exited with status 1", Failures: 2},
		`{"reason":"exited with status 1","until":"2026-09-18T10:21:30Z","pauses":1}`: mcpv1.Paused{
			Reason: "exited with status 1", Until: until, Pauses: 1,
		},
		`{"by":"time","pauses":1}`:                              mcpv1.Resumed{By: "time", Pauses: 1},
		`{"tools":14,"filtered":3,"dropped":1,"digest":"e3b0"}`: mcpv1.Listed{Tools: 14, Filtered: 3, Dropped: 1, Digest: "e3b0"},
		`{"reason":"idle","worker":"W7kq2nRz"}`:                 mcpv1.Closed{Reason: "idle", Worker: "W7kq2nRz"},
	} {
		raw, err := json.Marshal(e)
		if err != nil || string(raw) != wire {
			t.Errorf("%s: written as %s (%v)", wire, raw, err)
		}
		if back, err := mcpv1.Decode(e.Verb(), []byte(wire)); err != nil || back != e {
			t.Errorf("%s: read as %#v (%v)", wire, back, err)
		}
	}
	if _, err := mcpv1.Decode("danced", []byte("{}")); err == nil {
		t.Error("a verb that there is not can be read")
	}
}
