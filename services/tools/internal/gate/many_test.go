package gate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/tools/call"
)

// Many short texts cost no more than one long one: a call must not hold its lane up.
func TestManySmallTextsAreScannedAtOnce(t *testing.T) {
	known := make([]string, 30)
	for i := range known {
		known[i] = fmt.Sprintf("%s-%08d/+&", horse, i)
	}
	g, err := New(Config{Secrets: known})
	if err != nil {
		t.Fatal(err)
	}
	var cc strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&cc, `"%d",`, i)
	}
	list := func(cc string) string { return `{"to":"a","body":"b","cc":[` + strings.TrimSuffix(cc, ",") + `]}` }
	start := time.Now()
	if v := judged(t, g, "mail", list(cc.String()), call.Taint{}); v.Rule != "level L2" {
		t.Errorf("%s by %s", v.Effect, v.Rule)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	if v := judged(t, g, "mail", list(`"`+known[3][:12]+`","`+known[3][12:]+`"`), call.Taint{}); v.Rule != "secret" {
		t.Errorf("a secret in two pieces: %s by %s", v.Effect, v.Rule)
	}
}
