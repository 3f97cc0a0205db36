package bustest_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

// representative has a service of each shape: a front door, two workers, an executor, one that runs others, a decider, a reader, a client.
var representative = []bus.Spec{
	{
		Name: "intake", Appends: []string{"message.received", "message.refused", "control.requested"},
		Serves: []string{"submit", "stop"}, Follows: true,
	},
	{
		Name: "turns", Appends: []string{"turn.started", "turn.completed", "session.reset", "notice.posted.turns"},
		Doorbells: []string{"message.received", "call.completed.*", "call.denied"},
		Timers:    true, Snapshots: true, Values: true, Live: true,
	},
	{
		Name: "outbox", Appends: []string{"delivery.started", "delivery.sent"},
		Doorbells: []string{"turn.completed", "notice.posted.*"}, Timers: true, Snapshots: true,
	},
	{Name: "tools", Appends: []string{"call.denied", "call.completed.builtin"}, Doorbells: []string{"turn.stepped"}, Rung: true},
	{Name: "builtin", Appends: []string{"call.started.builtin"}, Doorbells: []string{"turn.cancelled"}, Catalog: "builtin"},
	{
		Name: "mcp", Appends: []string{"call.started.*", "call.completed.*"}, Doorbells: []string{"turn.cancelled"},
		Executors: true, System: true, ReadsCatalog: true,
	},
	{Name: "approvals", Appends: []string{"approval.decided"}, Timers: true, Serves: []string{"decide"}},
	{Name: "conversations", Serves: []string{"list"}, Follows: true},
	{Name: "cli", Asks: []string{"intake.submit", "intake.stop", "conversations.list"}, Follows: true},
	{Name: "keeper", Values: true},
	{Name: "idle"},
}

func TestPermissions(t *testing.T) { bustest.CheckPermissions(t, representative) }
