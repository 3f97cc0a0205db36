package bus_test

import (
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

var worker = bus.Spec{
	Name: "turns", Appends: []string{"turn.started"}, Timers: true, Snapshots: true,
	Doorbells: []string{"message.received", "call.completed.*", "call.completed.builtin"}, // the last is included in the second
}

func limits(free int64) bus.Limits {
	l := bus.DefaultLimits()
	l.Free = free
	return l
}

func changed(t *testing.T, changes []bus.Change) string {
	t.Helper()
	var out []string
	for _, c := range changes {
		if c.Action != bus.Unchanged {
			out = append(out, c.String())
		}
	}
	return strings.Join(out, "\n")
}

func TestApplyTwice(t *testing.T) {
	s := bustest.New(t)
	js := s.Admin().JetStream()
	// bustest.New has applied the topology without services: only the consumers are missing.
	topo := bus.TopologyOf([]bus.Spec{worker}, limits(1<<30))
	const want = "create consumer EV/turns\ncreate consumer TIMERS/timers-turns"
	plan, err := bus.Plan(t.Context(), js, topo)
	if err != nil || changed(t, plan) != want {
		t.Fatalf("plan: %v\n%s", err, changed(t, plan))
	}
	if done, err := bus.Apply(t.Context(), js, topo); err != nil || changed(t, done) != want {
		t.Fatalf("apply: %v\n%s", err, changed(t, done))
	}
	if again, err := bus.Apply(t.Context(), js, topo); err != nil || changed(t, again) != "" {
		t.Fatalf("again: %v\n%s", err, changed(t, again))
	}
	s.Restart()
	if again, err := bus.Plan(t.Context(), js, topo); err != nil || changed(t, again) != "" {
		t.Fatalf("after a restart: %v\n%s", err, changed(t, again))
	}
}

func TestApplyUpdates(t *testing.T) {
	s := bustest.New(t, worker)
	js := s.Admin().JetStream()
	l := limits(1 << 30)
	l.JournalBytes = 12345678
	more := worker
	more.Doorbells = []string{"message.received", "call.denied"}
	topo := bus.TopologyOf([]bus.Spec{more}, l)
	const want = "update stream EV (max_bytes: 644245080 → 12345678)\n" +
		`update consumer EV/turns (filter_subjects: ["ev.*.*.*.*.*.call.completed.*","ev.*.*.*.*.*.message.received"] → ` +
		`["ev.*.*.*.*.*.call.denied","ev.*.*.*.*.*.message.received"])`
	if done, err := bus.Apply(t.Context(), js, topo); err != nil || changed(t, done) != want {
		t.Fatalf("apply: %v\n%s", err, changed(t, done))
	}
	if again, err := bus.Plan(t.Context(), js, topo); err != nil || changed(t, again) != "" {
		t.Fatalf("again: %v\n%s", err, changed(t, again))
	}
}

// An automatic size is no reason to change a stream at each start.
func TestAutomaticSizes(t *testing.T) {
	s := bustest.New(t) // with 1 GiB free
	js := s.Admin().JetStream()
	for _, tc := range []struct {
		free int64
		want string
	}{
		{900 << 20, ""},
		{1500 << 20, ""},
		{0, ""},
		{100 << 20, "update stream EV"},
		{10 << 30, "update stream EV"},
	} {
		plan, err := bus.Plan(t.Context(), js, bus.TopologyOf(nil, limits(tc.free)))
		if err != nil || (tc.want == "") != (changed(t, plan) == "") || !strings.Contains(changed(t, plan), tc.want) {
			t.Errorf("free %d: %v\n%s", tc.free, err, changed(t, plan))
		}
	}
}

func TestPlanOfNothing(t *testing.T) {
	s := bustest.Bare(t, worker)
	js := s.Admin().JetStream()
	topo := bus.TopologyOf([]bus.Spec{worker}, limits(0))
	plan, err := bus.Plan(t.Context(), js, topo)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan {
		if c.Action != bus.Create {
			t.Errorf("%s", c)
		}
	}
	if _, err := js.Stream(t.Context(), subject.Journal); err == nil {
		t.Error("a plan made a stream")
	}
}

// The journal refuses when it is full, and goes on when there is room again.
func TestJournalIsFullThenNot(t *testing.T) {
	s := bustest.New(t, worker)
	js := s.Admin().JetStream()
	l := limits(1 << 30)
	l.JournalBytes = 1 << 10
	if _, err := bus.Apply(t.Context(), js, bus.TopologyOf([]bus.Spec{worker}, l)); err != nil {
		t.Fatal(err)
	}
	const subj = "ev.00.main.http.x.y.turn.started"
	var err error
	for range 10 {
		if _, err = js.Publish(t.Context(), subj, make([]byte, 200)); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Fatalf("a full journal says %v", err)
	}
	l.JournalBytes = 1 << 20
	if _, err := bus.Apply(t.Context(), js, bus.TopologyOf([]bus.Spec{worker}, l)); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subj, nil); err != nil {
		t.Errorf("after it grew: %v", err)
	}
}

// A timer rings once its time has come, and is gone when it is acked.
func TestTimer(t *testing.T) {
	s := bustest.New(t, worker)
	c := s.Connect(t, "turns")
	id, err := session.New("main", "http", "token", "anna")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(300 * time.Millisecond)
	set := func(at time.Time) {
		t.Helper()
		if _, err := c.JetStream().PublishMsg(t.Context(), &nats.Msg{
			Subject: subject.Schedule("turns", id),
			Header: nats.Header{
				"Nats-Schedule":        {"@at " + at.UTC().Format(time.RFC3339Nano)},
				"Nats-Schedule-Target": {subject.Timer("turns", id)},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	set(at.Add(time.Hour))
	set(at) // replaces it
	cons, err := c.JetStream().Consumer(t.Context(), subject.Timers, bus.TimerConsumer("turns"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := cons.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if late := time.Since(at); late < 0 || m.Subject() != subject.Timer("turns", id) {
		t.Errorf("%s rang %v late", m.Subject(), late)
	}
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	stream, err := s.Admin().JetStream().Stream(t.Context(), subject.Timers)
	if err != nil || stream.CachedInfo().State.Msgs != 0 {
		t.Errorf("%d messages stay (%v)", stream.CachedInfo().State.Msgs, err)
	}
}

// What is stored is announced under tail., with its cursor.
func TestRepublish(t *testing.T) {
	follower := bus.Spec{Name: "cli", Follows: true}
	s := bustest.New(t, worker, follower)
	nc := s.Connect(t, "cli").NATS()
	sub, err := nc.SubscribeSync(subject.TailAll)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Connect(t, "turns").JetStream().Publish(t.Context(), "ev.00.main.http.x.y.turn.started", nil); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(5 * time.Second)
	if err != nil || m.Subject != "tail.00.main.http.x.y.turn.started" || m.Header.Get("Nats-Sequence") != "1" {
		t.Errorf("%v %+v", err, m)
	}
}

// TestApplyWithLittleRoom: the servers may store hardly more than all bounds together.
func TestApplyWithLittleRoom(t *testing.T) {
	const mega = 1 << 20
	of := func(journal, blobs int64) bus.Topology {
		l := bus.DefaultLimits()
		l.JournalBytes, l.BlobBytes = journal*mega, blobs*mega
		return bus.TopologyOf(nil, l)
	}
	room := int64(mega)
	for _, s := range of(200, 100).Streams {
		room += max(s.Config.MaxBytes, 0)
	}
	srv, err := natsserver.NewServer(&natsserver.Options{
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: room, JetStreamMaxMemory: mega,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, topo := range []bus.Topology{of(200, 100), of(20, 280), of(280, 20), of(100, 200)} { // each has the sum of the one before
		if _, err := bus.Apply(t.Context(), js, topo); err != nil {
			t.Fatal(err)
		}
		if plan, err := bus.Plan(t.Context(), js, topo); err != nil || changed(t, plan) != "" {
			t.Fatalf("%v\n%s", err, changed(t, plan))
		}
	}
	_, err = bus.Apply(t.Context(), js, of(200, 200))
	if err == nil || !strings.Contains(err.Error(), "jetclaw nats config --max-store") || !strings.Contains(err.Error(), "bus.max_bytes") || bus.Unanswered(err) {
		t.Errorf("more than the server may store: %v", err)
	}
}
