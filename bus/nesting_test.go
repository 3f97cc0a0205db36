package bus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestWhatCannotBeReadAgainIsNotWritten: encoding/json writes deeper values than it reads.
func TestWhatCannotBeReadAgainIsNotWritten(t *testing.T) {
	j := bustest.New(t, bus.Spec{Name: "turns", Appends: []string{"turn.stepped"}}).Connect(t, "turns").Journal()
	for depth, ok := range map[int]bool{900: true, 1000: false, 9990: false} {
		deep := json.RawMessage(strings.Repeat(`{"\"[":`, depth) + "1" + strings.Repeat("}", depth))
		body := turnv1.Stepped{Calls: []turnv1.Call{{ID: "c", Tool: "x", Arguments: deep}}}
		at, err := j.Append(t.Context(), envelope.Event{Session: id(t, fmt.Sprint("deep", depth)), Body: body})
		if (err == nil) != ok || !ok && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%d deep: %v", depth, err)
		}
		if !ok {
			continue
		}
		if got, err := j.Get(t.Context(), at); err != nil || got.Kind() != "turn.stepped" {
			t.Errorf("%d deep is read as %+v, %v", depth, got.Body, err)
		}
	}
}
