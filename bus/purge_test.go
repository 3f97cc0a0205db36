package bus_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var deleter = bus.Spec{
	Name: "turns", Appends: []string{"turn.completed", "session.deleted"}, Doorbells: []string{"message.received"},
	Timers: true, Snapshots: true,
}

// foldOf lists what a session's fold sees, as "kind cursor".
func foldOf(t *testing.T, c *bus.Conn, spec bus.Spec, s session.ID) []string {
	t.Helper()
	f := actor.NewFolder(c, spec, "1", func(st []string, e envelope.Event) []string {
		return append(slices.Clip(st), fmt.Sprint(e.Kind(), " ", e.Cursor))
	})
	st, _, err := f.Fold(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestPurgeSession(t *testing.T) {
	srv := bustest.New(t, intake, deleter)
	in, turns := srv.Connect(t, "intake"), srv.Connect(t, "turns")
	ctx := t.Context()
	one, other := id(t, "one"), id(t, "one more")
	post := func(s session.ID, text string) uint64 {
		t.Helper()
		c, err := in.Journal().AppendFact(ctx, envelope.Event{Session: s, Body: received(text)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var last uint64
	for i := range 5 {
		last = post(one, fmt.Sprint(i))
		post(other, fmt.Sprint(i))
	}
	state, err := json.Marshal([]string{"old"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []session.ID{one, other} {
		for _, c := range []*bus.Conn{in, turns} {
			if err := c.SaveSnapshot(ctx, s, bus.Snapshot{Version: "1", Cursor: 1, State: state}); err != nil {
				t.Fatal(err)
			}
		}
		if err := turns.SetTimer(ctx, s, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bus.PurgeSession(ctx, srv.Admin(), one, last); fault.KindOf(err) != fault.Invalid {
		t.Fatalf("below no tombstone: %v", err)
	}
	stone, err := turns.Journal().Append(ctx, envelope.Event{Session: one, Prev: last, Body: turnv1.SessionDeleted{By: "retention"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.PurgeSession(ctx, srv.Admin(), other, stone); fault.KindOf(err) != fault.Invalid {
		t.Fatalf("below another session's tombstone: %v", err)
	}
	for _, want := range []uint64{5, 0} { // it may be repeated
		if n, err := bus.PurgeSession(ctx, srv.Admin(), one, stone); err != nil || n != want {
			t.Fatalf("%d events went, want %d; %v", n, want, err)
		}
	}
	next := post(one, "again")
	want := []string{fmt.Sprint("session.deleted ", stone), fmt.Sprint("message.received ", next)}
	for c, spec := range map[*bus.Conn]bus.Spec{in: intake, turns: deleter} {
		if got := foldOf(t, c, spec, one); !slices.Equal(got, want) {
			t.Errorf("%s folds %v, want %v", spec.Name, got, want)
		}
		if _, ok, err := c.LoadSnapshot(ctx, one); ok || err != nil {
			t.Errorf("%s has a snapshot left; %v", spec.Name, err)
		}
		if _, ok, err := c.LoadSnapshot(ctx, other); !ok || err != nil {
			t.Errorf("%s lost another session's snapshot; %v", spec.Name, err)
		}
	}
	var left []string
	if err := srv.Admin().Replay(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
		left = append(left, fmt.Sprint(e.Session.Peer(), " ", e.Cursor))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one more 2", "one more 4", "one more 6", "one more 8", "one more 10", "one 11", "one 12"}; !slices.Equal(left, want) {
		t.Errorf("the journal has %v, want %v", left, want)
	}
	stream, err := srv.Admin().JetStream().Stream(ctx, subject.Timers)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("%d timers are left", n)
	}
}
