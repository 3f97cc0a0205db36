package toolv1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

// An approval is bound to the digest: a tool that changes after it was allowed must not keep it, whatever its schema is like.
func TestTheDigestChangesWithEveryField(t *testing.T) {
	for name, schema := range map[string]string{
		"good":           `{"type":"object"}`,
		"a key twice":    `{"type":"object","title":"a","title":"b"}`,
		"nested deeply":  `{"type":"object","examples":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
		"no JSON at all": `{"type":`,
	} {
		tool := toolv1.Tool{Name: "t", Schema: json.RawMessage(schema), Level: toolv1.L1, Timeout: time.Second}
		same := tool
		same.Schema = json.RawMessage(strings.Clone(schema))
		if tool.Digest() != same.Digest() {
			t.Errorf("%s: the digest is not always the same", name)
		}
		for what, change := range map[string]func(*toolv1.Tool){
			"description": func(t *toolv1.Tool) { t.Description = "x" },
			"level":       func(t *toolv1.Tool) { t.Level = toolv1.L0 },
			"egress":      func(t *toolv1.Tool) { t.Egress = toolv1.Chosen },
			"shell":       func(t *toolv1.Tool) { t.Shell = "x" },
			"fixes":       func(t *toolv1.Tool) { t.Fixes = []string{"x"} },
			"schema": func(t *toolv1.Tool) {
				t.Schema = json.RawMessage(schema[:len(schema)-1] + `,"additionalProperties":true}`)
			},
		} {
			other := tool
			change(&other)
			if other.Digest() == tool.Digest() {
				t.Errorf("%s: another %s has the same digest", name, what)
			}
		}
	}
}
