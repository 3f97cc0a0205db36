package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestQuiet: of a bus at rest everything comes back exactly: events byte by byte, acks one by one, timers, values, objects.
func TestQuiet(t *testing.T) {
	srv := newBus(t)
	in, worker := srv.Connect(t, "intake"), srv.Connect(t, "turns")
	ctx := t.Context()
	one, other, gone := id(t, "one"), id(t, "other"), id(t, "gone")
	large := strings.Repeat("large ", 20<<10)
	var cursors []uint64
	for i := range 5 {
		cursors = append(cursors, post(t, in, one, fmt.Sprint("hello ", i)))
	}
	blob := post(t, in, other, large)
	dead := post(t, in, gone, "to be deleted")
	stone, err := worker.Journal().Append(ctx, envelope.Event{Session: gone, Prev: dead, Body: turnv1.SessionDeleted{By: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.PurgeSession(ctx, srv.Admin(), gone, stone); err != nil {
		t.Fatal(err)
	}
	// The bells of the first and the third message are acked; the others are delivered or wait.
	bell, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := worker.Doorbells(bell, bus.Spec{Name: "turns", Doorbells: turns.Doorbells}, func(b bus.Bell) {
		switch b.Event().Cursor {
		case cursors[0], cursors[2]:
			if err := b.Ack(); err != nil {
				t.Error(err)
			}
		case blob:
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	due := time.Now().Add(-time.Second)
	if err := worker.SetTimer(ctx, other, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"a": "1", "b.c": strings.Repeat("v", bus.MaxValue)} {
		if err := in.SetValue(ctx, key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	tools := []byte(strings.Repeat("t", bus.MaxCatalog))
	if err := worker.SetCatalog(ctx, "turns", tools); err != nil {
		t.Fatal(err)
	}
	if err := worker.SaveSnapshot(ctx, one, bus.Snapshot{Version: "1", Cursor: 1, State: []byte(`"stale"`)}); err != nil {
		t.Fatal(err)
	}
	consumer, err := srv.Admin().JetStream().Consumer(ctx, journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	for info := consumer.CachedInfo(); info.NumAckPending != 4; { // the server handles acks in its own time
		if info, err = consumer.Info(ctx); err != nil {
			t.Fatal(err)
		}
	}
	dir, m := save(t, srv, backup.Options{Version: "1.2.3"})
	if m.Version != "1.2.3" || m.Events() != 7 || m.Bytes() == 0 || m.Ended.Before(m.Began) {
		t.Errorf("%+v", m)
	}
	if s := stream(t, m, journal); s.First != 1 || s.Last != 8 || s.Consumers != 1 || s.Messages != 7 {
		t.Errorf("%+v", s)
	}

	after := restored(t, dir)
	for seq := range uint64(9) {
		if got, want := raw(t, after, journal, seq), raw(t, srv, journal, seq); got != want {
			t.Errorf("cursor %d: %s, was %s", seq, got, want)
		}
	}
	all := events(t, after)
	if len(all) != 7 || all[5].Body.(messagev1.Received).Text != large {
		t.Errorf("%d events; the large one has %T", len(all), all[5].Body)
	}
	in, worker = after.Connect(t, "intake"), after.Connect(t, "turns")
	if v, ok, err := in.Value(ctx, "b.c"); !ok || err != nil || len(v) != bus.MaxValue {
		t.Errorf("%d bytes, %v %v", len(v), ok, err)
	}
	if all, err := after.Admin().Catalog(ctx); err != nil || !bytes.Equal(all["turns"], tools) {
		t.Errorf("catalogue %d, %v", len(all), err)
	}
	if _, ok, err := worker.LoadSnapshot(ctx, one); ok || err != nil {
		t.Errorf("a snapshot is there: %v %v", ok, err)
	}
	if err := worker.SetTimer(ctx, one, due); err != nil {
		t.Fatal(err)
	}
	fresh := post(t, in, one, "and new")
	if fresh != 9 {
		t.Errorf("the next event has cursor %d", fresh)
	}
	bells := map[uint64]bool{}
	got := rung(t, after, func(b bus.Bell) bool {
		bells[b.Event().Cursor] = true
		return len(bells) == 6 // that many, with the one timer
	})
	want := []uint64{0, cursors[1], cursors[3], cursors[4], blob, fresh}
	if rang := slices.Sorted(maps.Keys(got)); !slices.Equal(rang, want) {
		t.Errorf("bells of %v, want %v", rang, want)
	}
}

// TestTimersRing: one that was due while nothing ran, and one that comes.
func TestTimersRing(t *testing.T) {
	srv := newBus(t)
	worker := srv.Connect(t, "turns")
	at := time.Now().Add(2 * time.Second)
	for _, peer := range []string{"a", "b"} {
		if err := worker.SetTimer(t.Context(), id(t, peer), at); err != nil {
			t.Fatal(err)
		}
	}
	dir, m := save(t, srv, backup.Options{})
	if s := stream(t, m, subject.Timers); s.Messages != 2 {
		t.Errorf("%+v", s)
	}
	after := restored(t, dir)
	sessions := map[string]bool{}
	rung(t, after, func(b bus.Bell) bool {
		sessions[b.Event().Session.Peer()] = true
		return len(sessions) == 2
	})
	if now := time.Now(); now.Before(at.Add(-time.Second)) {
		t.Errorf("they rang at %s, not at %s", now, at)
	}
}

// TestNothingYet: a bus that nothing was ever written to.
func TestNothingYet(t *testing.T) {
	dir, m := save(t, newBus(t), backup.Options{})
	if m.Events() != 0 {
		t.Errorf("%+v", m)
	}
	after := restored(t, dir)
	if got := post(t, after.Connect(t, "intake"), id(t, "a"), "first"); got != 1 {
		t.Errorf("cursor %d", got)
	}
	if err := backup.Empty(t.Context(), after.Admin()); err == nil {
		t.Error("a journal with an event is called empty")
	}
}

func TestFolder(t *testing.T) {
	srv := newBus(t)
	dir, _ := save(t, srv, backup.Options{})
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if st, err := e.Info(); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), st.Mode(), err)
		}
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 || len(entries) != 8 {
		t.Errorf("%v %v, %d files", st.Mode(), err, len(entries))
	}
	if _, err := backup.Save(t.Context(), srv.Admin(), dir, backup.Options{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a backup: %v", err)
	}
	empty := t.TempDir()
	if _, err := backup.Save(t.Context(), srv.Admin(), empty, backup.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := backup.Verify(empty); err != nil {
		t.Error(err)
	}
}

// TestInterruptedSave: cancelled anywhere, it leaves nothing.
func TestInterruptedSave(t *testing.T) {
	srv := newBus(t)
	in := srv.Connect(t, "intake")
	for i := range 600 {
		post(t, in, id(t, fmt.Sprint(i%7)), "x")
	}
	for _, at := range []string{journal, subject.Timers, "KV_settings"} {
		ctx, cancel := context.WithCancel(t.Context())
		parent := t.TempDir()
		_, err := backup.Save(ctx, srv.Admin(), filepath.Join(parent, "b"), backup.Options{Progress: func(p backup.Progress) {
			if p.Stream == at {
				cancel()
			}
		}})
		cancel()
		if left, derr := os.ReadDir(parent); err == nil || derr != nil || len(left) != 0 {
			t.Errorf("at %s: %v; %d files are left, %v", at, err, len(left), derr)
		}
	}
}

// TestNoBus: streams that are not there are named.
func TestNoBus(t *testing.T) {
	srv := newBus(t)
	if err := srv.Admin().JetStream().DeleteStream(t.Context(), subject.Dead); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Save(t.Context(), srv.Admin(), filepath.Join(t.TempDir(), "b"), backup.Options{})
	if err == nil || !strings.Contains(err.Error(), "save stream DEAD: ") {
		t.Errorf("%v", err)
	}
}

// TestConsumersComeBack with what the topology does not say of them, too: one that somebody has paused stays so.
func TestConsumersComeBack(t *testing.T) {
	srv := newBus(t)
	js := srv.Admin().JetStream()
	until := time.Now().Add(time.Hour).UTC()
	if _, err := js.PauseConsumer(t.Context(), journal, "turns", until); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), journal, jetstream.ConsumerConfig{Name: "passing", InactiveThreshold: time.Minute}); err != nil {
		t.Fatal(err)
	}
	dir, m := save(t, srv, backup.Options{})
	if s := stream(t, m, journal); s.Consumers != 1 {
		t.Errorf("%d consumers", s.Consumers)
	}
	after := restored(t, dir).Admin().JetStream()
	c, err := after.Consumer(t.Context(), journal, "turns")
	if err != nil {
		t.Fatal(err)
	}
	if at := c.CachedInfo().Config.PauseUntil; at == nil || !at.Equal(until) {
		t.Errorf("paused until %v, want %v", at, until)
	}
	if _, err := after.Consumer(t.Context(), journal, "passing"); err == nil {
		t.Error("a consumer of nobody came back")
	}
	s, err := after.Stream(t.Context(), journal)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(s.CachedInfo().Config.Metadata); err != nil || strings.Contains(string(data), "restoring") {
		t.Errorf("the mark has stayed: %s %v", data, err)
	}
}
