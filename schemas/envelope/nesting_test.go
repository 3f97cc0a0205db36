package envelope_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

func TestNesting(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `1`: 0, `"[{"`: 0, `{}`: 1, `{"a":[{}],"b":[]}`: 3, `{"\\":{"\"[[":1}}`: 2, `[[],[[]]]`: 3,
	} {
		if got := envelope.Nesting([]byte(text)); got != want {
			t.Errorf("%s is nested %d deep, got %d", text, want, got)
		}
	}
}
