package backup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	intake = bus.Spec{Name: "intake", Appends: []string{"message.received"}, Values: true, Follows: true}
	turns  = bus.Spec{
		Name: "turns", Appends: []string{"turn.completed", "session.deleted"}, Doorbells: []string{"message.received"},
		Timers: true, Snapshots: true, Follows: true, Catalog: "turns",
	}
)

func newBus(t *testing.T) *bustest.Server { return bustest.New(t, intake, turns) }

func id(t testing.TB, peer string) session.ID {
	t.Helper()
	s, err := session.New("main", "http", "test", peer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func received(text string) messagev1.Received {
	return messagev1.Received{From: messagev1.Sender{ID: "local"}, Text: text}
}

func post(t testing.TB, in *bus.Conn, s session.ID, text string) uint64 {
	t.Helper()
	cursor, err := in.Journal().AppendFact(t.Context(), envelope.Event{Session: s, Body: received(text)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

func save(t *testing.T, srv *bustest.Server, o backup.Options) (string, backup.Manifest) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backup")
	m, err := backup.Save(t.Context(), srv.Admin(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

// restored is a new bus with a backup, and the topology applied again.
func restored(t *testing.T, dir string) *bustest.Server {
	t.Helper()
	srv := newBus(t)
	if _, err := backup.Restore(t.Context(), srv.Admin(), dir, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	apply(t, srv)
	return srv
}

func apply(t *testing.T, srv *bustest.Server) {
	t.Helper()
	limits := bus.DefaultLimits()
	limits.Free = 1 << 30
	if _, err := bus.Apply(t.Context(), srv.Admin().JetStream(), bus.TopologyOf([]bus.Spec{intake, turns}, limits)); err != nil {
		t.Fatal(err)
	}
}

// stream is one stream of the manifest.
func stream(t *testing.T, m backup.Manifest, name string) backup.Stream {
	t.Helper()
	for _, s := range m.Streams {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("the manifest has no %s: %+v", name, m)
	return backup.Stream{}
}

// raw is a message exactly as it is stored, "" when there is none.
func raw(t *testing.T, srv *bustest.Server, name string, seq uint64) string {
	t.Helper()
	m, err := srv.Admin().NATS().Request("$JS.API.STREAM.MSG.GET."+name, fmt.Appendf(nil, `{"seq":%d}`, seq), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		t.Fatal(err)
	}
	return string(r.Message)
}

// events are all of a journal; their chains must be whole, but where a tombstone stands.
func events(t *testing.T, srv *bustest.Server) []envelope.Event {
	t.Helper()
	var all []envelope.Event
	last := map[session.ID]uint64{}
	err := srv.Admin().Replay(t.Context(), bus.ReplayOptions{}, func(e envelope.Event) error {
		if e.Prev != last[e.Session] && e.Kind() != "session.deleted" {
			t.Errorf("%s: %d follows %d, but %d is before it", e.Session, e.Cursor, e.Prev, last[e.Session])
		}
		last[e.Session] = e.Cursor
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rung counts the bells that come, by cursor, and acks them, until the right ones have. Timers are cursor 0.
func rung(t *testing.T, srv *bustest.Server, until func(bus.Bell) bool) map[uint64]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex // bells and timers ring from two goroutines
	got, done := map[uint64]int{}, false
	err := srv.Connect(t, "turns").Doorbells(ctx, turns, func(b bus.Bell) {
		mu.Lock()
		defer mu.Unlock()
		got[b.Event().Cursor]++
		if err := b.Ack(); err != nil {
			t.Error(err)
		}
		if until(b) {
			done = true
			cancel()
		}
	})
	if err != nil || !done {
		t.Fatalf("%d bells, but not those that were to come; %v", len(got), err)
	}
	return got
}

const journal = subject.Journal
