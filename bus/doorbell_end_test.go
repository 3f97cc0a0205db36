package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// TestDoorbellsRingForAllThatCame: what the server has sent before a stop is rung for, so that it can be handed over; it
// would be hidden from other workers until AckWait is over.
func TestDoorbellsRingForAllThatCame(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	const n = 300
	for i := range n {
		if _, err := j.AppendFact(t.Context(), envelope.Event{Session: id(t, fmt.Sprint("d", i)), Body: received("x")}, 0); err != nil {
			t.Fatal(err)
		}
	}
	before := c.NATS().Stats().InMsgs
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	rung := 0
	if err := c.Doorbells(ctx, reader, func(bus.Bell) {
		if rung++; rung == 1 {
			// One more: the answer about the consumer.
			waitFor(t, "all to arrive", func() bool { return c.NATS().Stats().InMsgs-before > n })
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if rung != n {
		t.Errorf("%d of %d bells were rung", rung, n)
	}
}

// TestDoorbellsFindTheirConsumerAgain: a consumer that is deleted ends its readers; the service is not deaf for ever.
func TestDoorbellsFindTheirConsumerAgain(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	admin := srv.Admin().JetStream()
	cons, err := admin.Consumer(t.Context(), subject.Journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	rings := make(chan bus.Bell, 10)
	done := make(chan error, 1)
	go func() { done <- c.Doorbells(ctx, reader, func(b bus.Bell) { rings <- b }) }()
	ring := func(name string) {
		t.Helper()
		if _, err := j.AppendFact(ctx, envelope.Event{Session: id(t, name), Body: received("x")}, 0); err != nil {
			t.Fatal(err)
		}
		select {
		case b := <-rings:
			_ = b.Ack()
		case <-ctx.Done():
			t.Fatalf("nothing rang for %s", name)
		}
	}
	ring("before")
	if why := c.Trouble(); why != "" {
		t.Error(why)
	}
	if err := admin.DeleteConsumer(ctx, subject.Journal, "turns"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the consumer is missed", func() bool { return c.Trouble() == "its consumer is gone" })
	if _, err := admin.CreateConsumer(ctx, subject.Journal, cons.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	ring("after") // rung by the old event or by the new one: a new consumer begins at the start
	waitFor(t, "no trouble any more", func() bool { return c.Trouble() == "" })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestNobodyIsDeadRightAfterAnOutage: who asks first after an outage must not take the others for dead.
func TestNobodyIsDeadRightAfterAnOutage(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "turns")
	if a := c.AskWorker(t.Context(), "nobody", bus.ClaimRef{}); a != bus.Absent {
		t.Fatalf("answer %d of a worker that never was", a)
	}
	srv.Restart()
	if a := c.AskWorker(t.Context(), "nobody", bus.ClaimRef{}); a != bus.Silent {
		t.Fatalf("answer %d right after the server was away", a)
	}
}
