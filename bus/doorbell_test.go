package bus_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// collect takes bells until n came, and hands each to do.
func collect(t *testing.T, c *bus.Conn, n int, do func(bus.Bell)) []bus.Bell {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var mu sync.Mutex // timers ring beside events
	var bells []bus.Bell
	if err := c.Doorbells(ctx, reader, func(b bus.Bell) {
		mu.Lock()
		defer mu.Unlock()
		bells = append(bells, b)
		do(b)
		if len(bells) == n {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(bells) != n {
		t.Fatalf("%d bells, want %d", len(bells), n)
	}
	return bells
}

func TestDoorbells(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	s := id(t, "bell")
	cursor, err := j.AppendFact(t.Context(), envelope.Event{Session: s, Body: received("ring")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	bells := collect(t, c, 2, func(b bus.Bell) {
		if b.Deliveries() == 1 {
			if err := b.Nak(50 * time.Millisecond); err != nil {
				t.Error(err)
			}
		}
	})
	for i, b := range bells {
		if b.Event().Cursor != cursor || b.Event().Session != s || b.Deliveries() != i+1 {
			t.Errorf("bell %d: cursor %d of %s, delivery %d", i, b.Event().Cursor, b.Event().Session, b.Deliveries())
		}
	}
	backlog, err := c.Backlog(t.Context(), reader, nil)
	if err != nil || len(backlog) != 1 || backlog[0].Cursor != cursor {
		t.Fatalf("backlog %v, %v", backlog, err)
	}
	if err := bells[1].Ack(); err != nil {
		t.Fatal(err)
	}
	if err := c.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the ack to be seen", func() bool { // the server handles acks in its own time
		backlog, err = c.Backlog(t.Context(), reader, nil)
		return err != nil || len(backlog) == 0
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUndecodableEvents: what today's code cannot read is kept apart or given up with a reason, and the rest goes on.
func TestUndecodableEvents(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "turns")
	admin := srv.Admin().JetStream()
	s := id(t, "odd")
	e := envelope.Event{ID: "odd", Session: s, Time: time.Now(), Source: "test/1", Body: received("x")}
	put := func(h envelope.Header, data string) uint64 {
		ack, err := admin.PublishMsg(t.Context(), &nats.Msg{Subject: e.Subject(), Header: nats.Header(h), Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		return ack.Sequence
	}
	broken := put(envelope.Header{"x": {"no envelope"}}, "")
	garbage := put(envelope.HeaderOf(e), "{not json")
	future := envelope.HeaderOf(e)
	future[envelope.HeaderType] = []string{"message.received.v9"}
	newer := put(future, "{}")

	bells := collect(t, c, 2, func(b bus.Bell) {
		if _, ok := b.Event().Body.(envelope.Unknown); !ok {
			t.Errorf("cursor %d was decoded as %T", b.Event().Cursor, b.Event().Body)
		}
		if err := b.Quarantine("cannot decode"); err != nil {
			t.Error(err)
		}
	})
	if bells[0].Event().Cursor != garbage || bells[1].Event().Cursor != newer {
		t.Fatalf("bells for %d and %d", bells[0].Event().Cursor, bells[1].Event().Cursor)
	}
	dead, err := admin.Stream(t.Context(), subject.Dead)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "three dead letters", func() bool {
		info, err := dead.Info(t.Context())
		return err == nil && info.State.Msgs == 3
	})
	msg, err := dead.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var advisory struct {
		Sequence uint64 `json:"stream_seq"`
		Reason   string `json:"reason"`
	}
	decode(t, msg.Data, &advisory)
	if advisory.Sequence != broken || advisory.Reason == "" {
		t.Fatalf("dead letter %+v, want one of cursor %d with a reason", advisory, broken)
	}
}

// TestForeignSubjectRingsNobody: a consumer that somebody re-filtered must not start work.
func TestForeignSubjectRingsNobody(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "turns")
	cons, err := srv.Admin().JetStream().Consumer(t.Context(), subject.Journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	cfg := cons.CachedInfo().Config
	cfg.FilterSubjects = []string{subject.OfKind("message.received"), subject.OfKind("control.requested")}
	cfg.FilterSubject = ""
	if _, err := srv.Admin().JetStream().UpdateConsumer(t.Context(), subject.Journal, cfg); err != nil {
		t.Fatal(err)
	}
	j := srv.Connect(t, "intake").Journal()
	s := id(t, "foreign")
	first, err := j.Append(t.Context(), envelope.Event{Session: s, Body: control()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), envelope.Event{Session: s, Prev: first, Body: received("x")}); err != nil {
		t.Fatal(err)
	}
	bells := collect(t, c, 1, func(b bus.Bell) { _ = b.Ack() })
	if k := bells[0].Event().Kind(); k != "message.received" {
		t.Fatalf("rang for %s", k)
	}
}

// TestDoorbellsSurviveARestart: the server goes away with a bell in hand; the bell comes again.
func TestDoorbellsSurviveARestart(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	if _, err := j.AppendFact(t.Context(), envelope.Event{Session: id(t, "r"), Body: received("x")}, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	rings := make(chan bus.Bell, 10)
	done := make(chan error, 1)
	go func() { done <- c.Doorbells(ctx, reader, func(b bus.Bell) { rings <- b }) }()
	<-rings
	srv.Restart()
	if _, err := j.AppendFact(ctx, envelope.Event{Session: id(t, "r2"), Body: received("y")}, 0); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for len(seen) < 2 {
		select {
		case b := <-rings:
			seen[b.Event().Cursor] = true
			_ = b.Ack()
		case <-ctx.Done():
			t.Fatalf("only %v rang after the restart", seen)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestDoorbellsOfOneChannel: a kind may ring in the sessions of one channel only.
func TestDoorbellsOfOneChannel(t *testing.T) {
	one := bus.Spec{Name: "outbox", Doorbells: []string{"turn.completed@telegram", "turn.failed"}}
	srv := bustest.New(t, one, bus.Spec{Name: "turns", Appends: []string{"turn.completed", "turn.failed"}})
	turns := srv.Connect(t, "turns").Journal()
	for _, s := range []session.ID{"main.http.a.b", "main.telegram.a.b"} {
		for _, b := range []envelope.Body{turnv1.Completed{}, turnv1.Failed{}} {
			if _, err := turns.AppendFact(t.Context(), envelope.Event{Session: s, Body: b}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	rings, done := make(chan bus.Bell, 8), make(chan error, 1)
	go func() { done <- srv.Connect(t, "outbox").Doorbells(ctx, one, func(b bus.Bell) { rings <- b }) }()
	var got []string
	for range 3 {
		b := <-rings
		got = append(got, b.Event().Kind()+" "+b.Event().Session.Channel())
		if err := b.Ack(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	slices.Sort(got)
	if want := []string{"turn.completed telegram", "turn.failed http", "turn.failed telegram"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
