package bus_test

import (
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func control() messagev1.Control {
	return messagev1.Control{From: messagev1.Sender{ID: "local"}, Verb: messagev1.Stop}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// waitFor asks again until ok says yes; the test's own deadline is the limit.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not seen", what)
		}
	}
}
