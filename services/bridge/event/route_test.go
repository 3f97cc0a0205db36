package event

import (
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/session"
)

func TestRouteOf(t *testing.T) {
	escaped, err := session.New("main", "http", "ada@example.org", "a.b c_t5")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[session.ID]Route{
		"main.telegram.mybot.12345":       {Agent: "main", Channel: "telegram", Account: "mybot", To: "12345"},
		"main.telegram.mybot.-100777_t42": {Agent: "main", Channel: "telegram", Account: "mybot", To: "-100777", Thread: "42"},
		"main.http.default.job_t42":       {Agent: "main", Channel: "http", Account: "default", To: "job_t42"}, // no topic: only Telegram has them
		"two.terminal.local.default":      {Agent: "two", Channel: "terminal", Account: "local", To: "default"},
		escaped:                           {Agent: "main", Channel: "http", Account: "ada@example.org", To: "a.b c_t5"},
	} {
		want.Session = string(id)
		if got := RouteOf(id); got != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func TestFinal(t *testing.T) {
	for _, c := range []struct {
		d    Delivery
		want bool
	}{
		{Delivery{Status: "sent"}, true},
		{Delivery{Status: "sent", More: true}, false},
		{Delivery{Status: "deferred"}, false},
		{Delivery{Status: "failed"}, true},
		{Delivery{Status: "unknown"}, true},
		{Delivery{Status: "unknown", Again: true}, false},
	} {
		if got := c.d.Final(); got != c.want {
			t.Errorf("%+v: %v", c.d, got)
		}
	}
}

func TestTypes(t *testing.T) {
	all := All()
	if len(all) != 10 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("types: %v", all)
	}
	if got := Usual(); !slices.Equal(got, all[:len(got)]) {
		t.Errorf("the usual ones are the first: %v", got)
	}
	for executor, want := range map[string]string{"builtin": "exec", "mcp-files": "plugin", "": "plugin"} {
		if got := KindOf(executor); got != want {
			t.Errorf("%q: %s", executor, got)
		}
	}
}
