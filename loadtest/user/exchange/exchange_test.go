package exchange

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestAMeasuredCallHasToSucceed(t *testing.T) {
	rec := func(b envelope.Body) store.Record { return store.Record{Event: envelope.Event{Body: b}} }
	for text, b := range map[string]envelope.Body{
		"":                      callv1.Completed{Outcome: callv1.OK},
		"denied: not today":     callv1.Denied{Reason: "not today"},
		"outcome refused: away": callv1.Completed{Outcome: callv1.Refused, Content: "away"},
		"refused: no such tool": turnv1.Stepped{Calls: []turnv1.Call{{Refusal: "no such tool"}}},
	} {
		err := CallsFailed([]store.Record{rec(turnv1.Stepped{Calls: []turnv1.Call{{}}}), rec(b)})
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
