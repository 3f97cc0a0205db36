package bus_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// TestCutOff: a server answers its connections and is cut off from its cluster, as one that leads nothing and as the journal's leader.
// Each time appends and doorbells go on at another one, without anything lost or doubled.
func TestCutOff(t *testing.T) {
	t.Parallel() // an election takes seconds
	c := bustest.NewCluster(t, intake, reader)
	c.Near(t, "EV")
	s := id(t, "cut")
	seen := make(chan string, 1024)
	appended := 0
	for _, o := range []struct {
		what string
		pick func() int
	}{
		{"follower", func() int { return bustest.Far }},
		{"leader", func() int { return c.Leader(t, "EV") }},
	} {
		node := o.pick()
		ctx, stop := context.WithCancel(t.Context())
		j, moved := c.Connect(t, "intake", node), c.Connect(t, "turns", node)
		ended := make(chan error, 1)
		go func() {
			ended <- moved.Doorbells(ctx, reader, func(b bus.Bell) {
				seen <- b.Event().Key
				_ = b.Ack()
			})
		}()
		at := j.NATS().ConnectedServerName()
		if at != moved.NATS().ConnectedServerName() {
			t.Fatal("the connections are at two nodes")
		}
		for i := range 20 {
			if i == 10 {
				c.Cut(node, true)
			}
			appended++
			appendUntilTold(t, j.Journal(), s, fmt.Sprint(appended))
		}
		waitFor(t, o.what+": another server", func() bool { return moved.NATS().IsConnected() && moved.NATS().ConnectedServerName() != at })
		if now := j.NATS().ConnectedServerName(); now == at {
			t.Errorf("%s: appends go on at %s, which is cut off", o.what, now)
		}
		rung := map[string]bool{}
		waitFor(t, o.what+": all doorbells", func() bool {
			for len(seen) > 0 {
				rung[<-seen] = true
			}
			return len(rung) >= 20
		})
		c.Cut(node, false)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var events []envelope.Event
		waitFor(t, o.what+": all events at the server that was cut off", func() bool {
			var err error
			events, err = c.Admin().History(t.Context(), s, 0) // of the nearest copy, which learns of them now
			return err == nil && len(events) >= appended && c.Leader(t, "EV") >= 0
		})
		for i, ev := range events {
			if ev.Key != fmt.Sprint(i+1) {
				t.Errorf("event %d is %s", i+1, ev.Key)
			}
		}
		if len(events) != appended {
			t.Fatalf("%d events, want %d", len(events), appended)
		}
	}
}

// appendUntilTold appends a fact as a caller does: with the same key, until it is told that it is there.
func appendUntilTold(t *testing.T, j *bus.Journal, s session.ID, key string) {
	t.Helper()
	for {
		_, err := j.AppendFact(t.Context(), envelope.Event{Session: s, Key: key, Body: received("on and on")}, 0)
		if err == nil {
			return
		}
		if k := fault.KindOf(err); k != fault.Timeout && k != fault.Unavailable && k != fault.Busy {
			t.Fatal(err)
		}
	}
}
