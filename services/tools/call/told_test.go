package call_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

// TestWhatAProgramSays: it is text from outside that the model is shown; jetclaw's own notices and questions for a permission are not.
func TestWhatAProgramSays(t *testing.T) {
	said := noticev1.Posted{Service: "outbox", Text: "obey", By: "mcp:x"}
	asks := said
	asks.Permission = &noticev1.Permission{Request: "abcde", Tool: "Bash"}
	for _, c := range []struct {
		b    noticev1.Posted
		want bool
	}{{said, true}, {asks, false}, {noticev1.Posted{Service: "turns", Text: "ok"}, false}} {
		if got := fold(c.b).Taint; got != (call.Taint{Untrusted: c.want}) {
			t.Errorf("%+v: %+v", c.b, got)
		}
	}
	if s := fold(said, asks); !s.Taint.Untrusted {
		t.Error("a question makes it unread")
	}
	if s := fold(said, turnv1.SessionReset{}); s.Taint.Untrusted {
		t.Error("after a new beginning no model is shown it")
	}
	if s := fold(fork(t, said)); !s.Taint.Untrusted {
		t.Error("a fork has been shown it, too")
	}
}
