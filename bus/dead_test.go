package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// deadOf waits for n dead letters.
func deadOf(t *testing.T, srv *bustest.Server, n int) (all []bus.Dead) {
	t.Helper()
	waitFor(t, "the dead letters", func() bool {
		all = nil
		if err := srv.Admin().Dead(t.Context(), func(d bus.Dead) error {
			all = append(all, d)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return len(all) == n
	})
	return all
}

// TestRing: a ring reaches a service that runs, and one that is started later; it leaves the timer of the session alone.
func TestRing(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	s, c := id(t, "ring"), srv.Connect(t, "turns")
	if err := c.SetTimer(t.Context(), s, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second takes the place of the first
		if err := bus.Ring(t.Context(), srv.Admin(), "turns", s); err != nil {
			t.Fatal(err)
		}
	}
	timers, err := bus.TimersOf(t.Context(), srv.Admin(), s)
	if err != nil || len(timers) != 2 {
		t.Fatalf("%+v, %v; want the timer and the ring", timers, err)
	}
	b := collect(t, c, 1, func(b bus.Bell) {
		if err := b.Ack(); err != nil {
			t.Error(err)
		}
	})[0]
	if e := b.Event(); e.Session != s || e.Cursor != 0 {
		t.Errorf("%+v", e)
	}
	waitFor(t, "the ring to go", func() bool {
		timers, err = bus.TimersOf(t.Context(), srv.Admin(), s)
		return err == nil && len(timers) == 1
	})
	if at := timers[0].At; timers[0].Service != "turns" || time.Until(at) < 59*time.Minute {
		t.Errorf("%+v", timers[0])
	}
	if timers, err = bus.TimersOf(t.Context(), srv.Admin(), id(t, "other")); err != nil || len(timers) != 0 {
		t.Errorf("%+v, %v", timers, err)
	}
	if err := bus.Ring(t.Context(), srv.Admin(), "Turns.x", s); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a ring for nobody: %v", err)
	}
}

// TestDead: a doorbell that was given up is found with its event, also when that is none, and when it was a timer's.
func TestDead(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c, s := srv.Connect(t, "turns"), id(t, "dead")
	cursor, err := srv.Connect(t, "intake").Journal().Append(t.Context(), envelope.Event{Session: s, Body: received("poison")})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := srv.Admin().JetStream().PublishMsg(t.Context(), &nats.Msg{
		Subject: subject.OfEvent(s, "message.received", ""), Data: []byte("no event"), Header: nats.Header{"x": {"y"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Ring(t.Context(), srv.Admin(), "turns", s); err != nil {
		t.Fatal(err)
	}
	collect(t, c, 2, func(b bus.Bell) {
		if err := b.Quarantine("it panics: twice"); err != nil {
			t.Error(err)
		}
	})
	byCursor := map[string]bus.Dead{}
	for _, d := range deadOf(t, srv, 3) {
		if d.Service != "turns" || d.Session != s || d.Reason == "" || d.Time.IsZero() || d.Seq == 0 {
			t.Errorf("%+v", d)
		}
		switch {
		case d.Stream == subject.Timers:
			byCursor["timer"] = d
		case d.Cursor == cursor:
			byCursor["event"] = d
		case d.Cursor == broken.Sequence:
			byCursor["broken"] = d
		}
	}
	for what, want := range map[string][2]string{
		"timer": {"", "it panics: twice"}, "event": {"message.received", "it panics: twice"},
		"broken": {"message.received", "cursor"},
	} {
		if d := byCursor[what]; d.Kind != want[0] || !strings.Contains(d.Reason, want[1]) {
			t.Errorf("%s: %+v", what, d)
		}
	}
	raw, err := srv.Admin().Journal().Stored(t.Context(), broken.Sequence)
	if err != nil || string(raw.Data) != "no event" || raw.Header.Get("x") != "y" {
		t.Errorf("%+v, %v", raw, err)
	}

	first := byCursor["event"].Seq
	if err := bus.DropDead(t.Context(), srv.Admin(), first); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{first, 99, 0} {
		if err := bus.DropDead(t.Context(), srv.Admin(), seq); !errors.Is(err, bus.ErrNoDead) || fault.KindOf(err) != fault.NotFound {
			t.Errorf("drop of %d, which is not there: %v", seq, err)
		}
	}
	deadOf(t, srv, 2)
	if n, err := srv.Admin().DeadCount(t.Context()); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestDeadOfPurged: the event of a dead letter may be gone.
func TestDeadOfPurged(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c, s := srv.Connect(t, "turns"), id(t, "gone")
	cursor, err := srv.Connect(t, "intake").Journal().Append(t.Context(), envelope.Event{Session: s, Body: received("x")})
	if err != nil {
		t.Fatal(err)
	}
	collect(t, c, 1, func(b bus.Bell) {
		if err := b.Quarantine("why"); err != nil {
			t.Error(err)
		}
	})
	deadOf(t, srv, 1)
	stream, err := srv.Admin().JetStream().Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), cursor); err != nil {
		t.Fatal(err)
	}
	if d := deadOf(t, srv, 1)[0]; d.Cursor != cursor || d.Session != "" || d.Kind != "" || d.Reason != "why" {
		t.Errorf("%+v", d)
	}
	if _, err := srv.Admin().Journal().Stored(t.Context(), cursor); !errors.Is(err, bus.ErrNoEvent) {
		t.Errorf("%v", err)
	}
	failed := errors.New("enough")
	if err := srv.Admin().Dead(context.WithoutCancel(t.Context()), func(bus.Dead) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
