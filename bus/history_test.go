package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestHistory: a session's events and no others, also where one is missing, and from its tombstone on.
func TestHistory(t *testing.T) {
	srv := bustest.New(t, intake, deleter)
	in, turns, ctx := srv.Connect(t, "intake"), srv.Connect(t, "turns"), t.Context()
	one, other := id(t, "one"), id(t, "other")
	var mine []uint64
	post := func() {
		t.Helper()
		for _, s := range []string{"one", "other"} {
			c, err := in.Journal().AppendFact(ctx, envelope.Event{Session: id(t, s), Body: received(fmt.Sprint(len(mine)))}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if s == "one" {
				mine = append(mine, c)
			}
		}
	}
	history := func(to uint64) (cursors []uint64, err error) {
		t.Helper()
		events, err := turns.History(ctx, one, to)
		for _, ev := range events {
			if ev.Session != one {
				t.Errorf("%d is of %s", ev.Cursor, ev.Session)
			}
			cursors = append(cursors, ev.Cursor)
		}
		return cursors, err
	}
	want := func(what string, to uint64, want []uint64) {
		t.Helper()
		if got, err := history(to); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}
	want("of nobody", 0, nil)
	for range 4 {
		post()
	}
	want("all", 0, mine)
	want("a part", mine[2], mine[:3])
	if got, err := history(mine[1] + 1); !errors.Is(err, bus.ErrNoEvent) {
		t.Errorf("up to an event of another session: %v, %v", got, err)
	}
	stream, err := srv.Admin().JetStream().Stream(ctx, subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(ctx, mine[1]); err != nil {
		t.Fatal(err)
	}
	got, err := history(0)
	hole, ok := errors.AsType[*bus.HoleError](err)
	if !ok || *hole != (bus.HoleError{Session: one, At: mine[2], Missing: mine[1]}) || !slices.Equal(got, mine[2:]) {
		t.Errorf("with a hole: %v, %v", got, err)
	}
	stone, err := turns.Journal().Append(ctx, envelope.Event{Session: one, Prev: mine[3], Body: turnv1.SessionDeleted{By: "cli"}})
	if err != nil {
		t.Fatal(err)
	}
	want("deleted", 0, []uint64{stone})
	if _, err := bus.PurgeSession(ctx, srv.Admin(), one, stone); err != nil {
		t.Fatal(err)
	}
	mine = []uint64{stone}
	post()
	want("begun afresh", 0, mine)
	if events, err := turns.History(ctx, other, 0); err != nil || len(events) != 5 {
		t.Errorf("the other: %d events, %v", len(events), err)
	}
}

// TestALongHistory: what is read in batches is the same chain, with its hole and from its tombstone on.
func TestALongHistory(t *testing.T) {
	srv := bustest.New(t, intake, deleter)
	in, turns, ctx := srv.Connect(t, "intake"), srv.Connect(t, "turns"), t.Context()
	one := id(t, "one")
	var mine []uint64
	post := func(n int) {
		t.Helper()
		for range n {
			for _, s := range []string{"one", "other"} {
				c, err := in.Journal().AppendFact(ctx, envelope.Event{Session: id(t, s), Body: received("hello")}, 0)
				if err != nil {
					t.Fatal(err)
				}
				if s == "one" {
					mine = append(mine, c)
				}
			}
		}
	}
	cursors := func(events []envelope.Event) (all []uint64) {
		for _, ev := range events {
			all = append(all, ev.Cursor)
		}
		return all
	}
	post(200)
	if got, err := turns.History(ctx, one, 0); err != nil || !slices.Equal(cursors(got), mine) {
		t.Errorf("%v, %v", cursors(got), err)
	}
	stone, err := turns.Journal().Append(ctx, envelope.Event{Session: one, Prev: mine[len(mine)-1], Body: turnv1.SessionDeleted{By: "cli"}})
	if err != nil {
		t.Fatal(err)
	}
	mine = []uint64{stone}
	post(199)
	if got, err := turns.History(ctx, one, 0); err != nil || !slices.Equal(cursors(got), mine) {
		t.Errorf("since the tombstone: %v, %v", cursors(got), err)
	}
	if _, err := bus.PurgeSession(ctx, srv.Admin(), one, stone); err != nil {
		t.Fatal(err)
	}
	if got, err := turns.History(ctx, one, 0); err != nil || !slices.Equal(cursors(got), mine) {
		t.Errorf("purged: %v, %v", cursors(got), err)
	}
	stream, err := srv.Admin().JetStream().Stream(ctx, subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(ctx, mine[50]); err != nil {
		t.Fatal(err)
	}
	got, err := turns.History(ctx, one, 0)
	hole, ok := errors.AsType[*bus.HoleError](err)
	if !ok || hole.Missing != mine[50] || !slices.Equal(cursors(got), mine[51:]) {
		t.Errorf("with a hole: %v, %v", cursors(got), err)
	}
}
