package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

// TestCluster is one cluster with three copies of everything, as it takes seconds to begin.
func TestCluster(t *testing.T) {
	t.Parallel()
	toolbox := bus.Spec{Name: "mcp", Appends: []string{"call.completed.mcp"}, Catalog: "mcp", ReadsCatalog: true, System: true}
	late := bus.Spec{Name: "late", Doorbells: []string{"message.received"}}
	c := bustest.NewCluster(t, intake, reader, toolbox)
	t.Run("conflicts", func(t *testing.T) { clusterConflicts(t, c) })
	t.Run("a copy that lags", func(t *testing.T) { clusterLag(t, c) })
	t.Run("catalogue and state", func(t *testing.T) { clusterLasts(t, c) })
	t.Run("another leader", func(t *testing.T) { clusterLeader(t, c) })
	t.Run("fewer copies", func(t *testing.T) {
		l := limits(1 << 30)
		l.Replicas = 1
		// What is safe is done all the same.
		changes, err := bus.ApplyCarefully(t.Context(), c.Admin().JetStream(), bus.TopologyOf([]bus.Spec{intake, reader, toolbox, late}, l))
		risky, ok := errors.AsType[*bus.RiskError](err)
		if !ok || len(risky.Changes) != 8 || !strings.Contains(err.Error(), "stream EV") {
			t.Errorf("%v", err)
		}
		if !strings.Contains(changed(t, changes), "create consumer EV/late") {
			t.Errorf("%s", changed(t, changes))
		}
		if _, err := c.Admin().JetStream().Consumer(t.Context(), "EV", "late"); err != nil {
			t.Error(err)
		}
		l.Replicas = 0 // as many as there are
		plan, err := bus.Plan(t.Context(), c.Admin().JetStream(), bus.TopologyOf([]bus.Spec{intake, reader}, l))
		if err != nil || changed(t, plan) != "" {
			t.Errorf("%v\n%s", err, changed(t, plan))
		}
		l.Replicas = 5
		_, err = bus.Apply(t.Context(), c.Admin().JetStream(), bus.TopologyOf(nil, l))
		if err == nil || !strings.Contains(err.Error(), "too few servers") {
			t.Errorf("%v", err)
		}
	})
	t.Run("check", func(t *testing.T) {
		if err := c.Connect(t, "turns", 1).Check(t.Context(), reader, bus.PermissionsOf(reader)); err != nil {
			t.Error(err)
		}
	})
}

// A lost compare-and-set may come without the number; facts find their place all the same.
func clusterConflicts(t *testing.T, c *bustest.Cluster) {
	s := id(t, "conflicts")
	const writers = 24
	var conns []*bus.Conn
	for node := range bustest.Nodes {
		conns = append(conns, c.Connect(t, "intake", node))
	}
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			_, errs[i] = conns[i%bustest.Nodes].Journal().Append(t.Context(), envelope.Event{Session: s, Body: received("first")})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if _, lost := errors.AsType[*bus.Conflict](err); err == nil {
			won++
		} else if !lost {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d appends to one place", won)
	}
	for i := range writers {
		wg.Go(func() {
			_, errs[i] = conns[i%bustest.Nodes].Journal().AppendFact(t.Context(), envelope.Event{Session: s, Key: fmt.Sprint(i), Body: received("fact")}, 0)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	events, err := conns[0].History(t.Context(), s, 0)
	if err != nil || len(events) != writers+1 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// What was acknowledged is read on every node at once, whatever copy answers there: events, large bodies, all of a session, and the
// newest ones by time.
func clusterLag(t *testing.T, c *bustest.Cluster) {
	s := id(t, "lag")
	c.Near(t, "EV", "OBJ_blobs")
	writer := c.Connect(t, "intake", 0).Journal()
	other := c.Connect(t, "turns", bustest.Far)
	large := strings.Repeat("x", bus.ClaimCheckSize+1)
	for prev, i := uint64(0), 0; i < 6; i++ {
		text := fmt.Sprint("text ", i)
		if i%4 == 0 {
			text += large
		}
		file, err := c.Connect(t, "intake", 0).PutFile(t.Context(), s, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := other.GetFile(t.Context(), s, file); err != nil || string(got) != text {
			t.Fatalf("file %d: %v", i, err)
		}
		began := time.Now()
		cursor, err := writer.Append(t.Context(), envelope.Event{Session: s, Prev: prev, Body: received(text)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := other.Replay(t.Context(), bus.ReplayOptions{From: cursor, To: cursor}, func(envelope.Event) error { n++; return nil }); err != nil || n != 1 {
			t.Fatalf("event %d is replayed %d times, %v", cursor, n, err)
		}
		want := fmt.Sprint(received(text))
		if ev, err := other.Journal().Get(t.Context(), cursor); err != nil || fmt.Sprint(ev.Body) != want {
			t.Fatalf("event %d: %v %.80v", cursor, err, ev.Body)
		}
		for name, o := range map[string]bus.ReplayOptions{
			"all": {From: cursor}, "session": {From: prev + 1, Session: s}, "time": {Since: began},
			"kinds": {From: cursor, Kinds: "message.*"}, "kinds since": {Since: began, Kinds: "message.*"},
		} {
			n := 0
			err := other.Replay(t.Context(), o, func(ev envelope.Event) error {
				if ev.Cursor == cursor {
					n++
				}
				return nil
			})
			if err != nil || n != 1 {
				t.Fatalf("replay of %s reads event %d %d times, %v", name, cursor, n, err)
			}
		}
		prev = cursor
	}
}

// Who was told that there is something newer gets it: what executors offer, and what happened to servers.
func clusterLasts(t *testing.T, c *bustest.Cluster) {
	c.Near(t, "KV_catalog", "SYS")
	writer := c.Connect(t, "mcp", 0)
	other := c.Connect(t, "mcp", bustest.Far)
	for prev, i := uint64(0), 0; i < 12; i++ {
		if err := writer.SetCatalog(t.Context(), "mcp", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if got, err := other.CatalogOf(t.Context(), "mcp"); err != nil || string(got) != fmt.Sprint(i) {
			t.Fatalf("%d: %s, %v", i, got, err)
		}
		cursor, err := writer.AppendSystem(t.Context(), "files", "connected", i, prev)
		if err != nil {
			t.Fatal(err)
		}
		all, err := other.SystemLast(t.Context(), "files")
		if err != nil || len(all) != 1 || all[0].Cursor != cursor {
			t.Fatalf("%d: %v, %v", i, all, err)
		}
		prev = cursor
	}
}

// Nothing that was acknowledged is lost, doubled or out of order when another node becomes the leader, and doorbells go on.
func clusterLeader(t *testing.T, c *bustest.Cluster) {
	s := id(t, "leader")
	j := c.Connect(t, "intake", 0).Journal()
	bells := c.Connect(t, "turns", 1)
	seen := make(chan string, 1024)
	go func() {
		_ = bells.Doorbells(t.Context(), reader, func(b bus.Bell) {
			seen <- b.Event().Key
			_ = b.Ack()
		})
	}()
	want := map[string]bool{}
	for i := range 90 {
		switch i {
		case 30:
			c.StepDown(t, "EV")
		case 60:
			if _, err := c.Admin().NATS().Request("$JS.API.CONSUMER.LEADER.STEPDOWN.EV.turns", nil, time.Second); err != nil {
				t.Error(err)
			}
		}
		key := fmt.Sprint("leader ", i)
		appendUntilTold(t, j, s, key)
		want[key] = true
	}
	events, err := c.Connect(t, "turns", 2).History(t.Context(), s, 0)
	if err != nil || len(events) != len(want) {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, ev := range events {
		if ev.Key != fmt.Sprint("leader ", i) {
			t.Errorf("event %d is %s", i, ev.Key)
		}
	}
	for limit := time.After(20 * time.Second); len(want) > 0; {
		select {
		case key := <-seen:
			delete(want, key)
		case <-limit:
			t.Fatalf("%d doorbells are missing", len(want))
		}
	}
}
