package backup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestTail: what happens between two streams is in the copy. A timer rings, its ring is acked, and the event that came of it
// is in the journal, once the timers have been saved; its body lies in the object store, its bell was never acked.
func TestTail(t *testing.T) {
	srv := newBus(t)
	in, worker := srv.Connect(t, "intake"), srv.Connect(t, "turns")
	ctx := t.Context()
	for i := range 10 {
		post(t, in, id(t, fmt.Sprint(i%2)), "before")
	}
	gone := id(t, "gone")
	last := post(t, in, gone, "to be deleted meanwhile")
	large := strings.Repeat("came of it ", 8<<10)
	var came, stone uint64
	dir, m := save(t, srv, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream != subject.Timers || came > 0 {
			return
		}
		came = post(t, in, id(t, "0"), large)
		if err := in.SetValue(ctx, "referred.to", []byte("x")); err != nil {
			t.Error(err)
		}
		var err error
		if stone, err = worker.Journal().Append(ctx, envelope.Event{Session: gone, Prev: last, Body: turnv1.SessionDeleted{By: "test"}}); err != nil {
			t.Error(err)
		} else if _, err = bus.PurgeSession(ctx, srv.Admin(), gone, stone); err != nil {
			t.Error(err)
		}
	}})
	if s := stream(t, m, journal); came == 0 || s.Last != stone || s.Messages != 13 {
		t.Fatalf("%+v; %d came, and the tombstone %d", s, came, stone)
	}
	after := restored(t, dir)
	var texts []string
	for _, e := range events(t, after) {
		if b, ok := e.Body.(messagev1.Received); ok {
			texts = append(texts, b.Text)
		}
	}
	if len(texts) != 12 || texts[11] != large {
		t.Errorf("%d messages", len(texts))
	}
	if _, ok, err := after.Connect(t, "intake").Value(ctx, "referred.to"); !ok || err != nil {
		t.Errorf("the value: %v %v", ok, err)
	}
	rung(t, after, func(b bus.Bell) bool { return b.Event().Cursor == came })
}

// TestManyTimers: each of them is in the copy once, though some are replaced while they are saved.
func TestManyTimers(t *testing.T) {
	srv := newBus(t)
	worker := srv.Connect(t, "turns")
	at := time.Now().Add(time.Hour)
	for i := range 300 {
		if err := worker.SetTimer(t.Context(), id(t, fmt.Sprint(i)), at); err != nil {
			t.Fatal(err)
		}
	}
	moved := false
	dir, m := save(t, srv, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream != subject.Timers || p.Done != 256 || moved {
			return
		}
		moved = true
		for i := range 20 { // some that are in the copy already, some that are not yet
			if err := worker.SetTimer(t.Context(), id(t, fmt.Sprint(i*15)), at); err != nil {
				t.Error(err)
			}
		}
	}})
	if s := stream(t, m, subject.Timers); !moved || s.Messages != 300 || s.Last != 320 {
		t.Errorf("%v %+v", moved, s)
	}
	after := restored(t, dir)
	s, err := after.Admin().JetStream().Stream(t.Context(), subject.Timers)
	if err != nil || s.CachedInfo().State.Msgs != 300 {
		t.Errorf("%+v %v", s.CachedInfo().State, err)
	}
}
