package cli

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/conversations"
)

func TestBehindIsTold(t *testing.T) {
	t.Parallel()
	for events, want := range map[uint64]string{
		0: "", 1: "note: the read model is 1 event behind the journal\n", 4711: "note: the read model is 4,711 events behind the journal\n",
	} {
		var b strings.Builder
		(&shell{err: &b}).behind(conversations.Behind{Events: events})
		if b.String() != want {
			t.Errorf("%q", b.String())
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
