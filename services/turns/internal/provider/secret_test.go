package provider

import (
	"strings"
	"testing"
)

// TestOtherSpellingsOfTheKey: JSON, JSON within JSON and addresses write its signs in other ways.
func TestOtherSpellingsOfTheKey(t *testing.T) {
	odd, plain := Secret(`CANARY/"x`), Secret("Sk-CANARY1")
	for name, got := range map[string]string{
		"a slash":          odd.Raw(`{"k":"CANARY\/\"x"}`),
		"quotes":           odd.Raw(`{"k":"CANARY/\"x"}`),
		"within JSON":      odd.Raw(`"{\"k\":\"CANARY/\\\"x\"}"`),
		"an address":       odd.Raw("https://x/?k=CANARY%2F%22x"),
		"escaped signs":    plain.JSON(`{"k":"Sk\u002dCANARY1"}`),
		"a code in small":  plain.read([]byte(`{"error":{"code":"Sk-CANARY1"}}`)).full,
		"a message escape": plain.read([]byte(`{"error":{"message":"k=Sk\u002dCANARY1"}}`)).text,
	} {
		if strings.Contains(strings.ToUpper(got), "CANARY") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
