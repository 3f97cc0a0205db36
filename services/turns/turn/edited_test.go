package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
)

// TestTheModelIsToldOfEditedArguments: what ran is not what it asked for.
func TestTheModelIsToldOfEditedArguments(t *testing.T) {
	for name, c := range map[string]struct {
		ran      string
		approved bool
		told     bool
	}{
		"edited":           {`{"n":2}`, true, true},
		"as it was":        {`{"n":1}`, true, false},
		"without a person": {`{"n":2}`, false, false},
	} {
		call := Call{ID: "c1", Tool: "send", Arguments: `{ "n": 1 }`}
		d := callv1.Dispatched{Request: callv1.Request{Arguments: json.RawMessage(c.ran), Digest: canonical.Digest([]byte(c.ran))}}
		if c.approved {
			d.Approval = &callv1.Approval{ID: "a1"}
		}
		call.edited(d)
		if told := strings.Contains(call.Note, c.ran); told != c.told {
			t.Errorf("%s: %q", name, call.Note)
		}
	}
}
