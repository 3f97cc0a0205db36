package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// fill writes a store as a daemon would leave it: n messages, of which one was acknowledged and one more delivered.
func fill(t *testing.T, dir string, n int) session.ID {
	t.Helper()
	ctx := t.Context()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: subject.Journal, Subjects: []string{subject.JournalAll}}); err != nil {
		t.Fatal(err)
	}
	s, err := session.New("main", "http", "default", "s1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := envelope.Event{ID: "e" + string(rune('a'+i)), Session: s, Prev: uint64(i), Time: time.Unix(1, 0), Body: messagev1.Received{Text: "hi"}}
		data, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		m := &nats.Msg{Subject: e.Subject(), Header: nats.Header(envelope.HeaderOf(e)), Data: data}
		if _, err := js.PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	cons, err := js.CreateConsumer(ctx, subject.Journal, jetstream.ConsumerConfig{
		Durable: "turns", FilterSubjects: []string{subject.OfKind("message.received")}, AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cons.Fetch(2)
	if err != nil {
		t.Fatal(err)
	}
	acked := false
	for m := range batch.Messages() {
		if !acked {
			if err := m.DoubleAck(ctx); err != nil {
				t.Fatal(err)
			}
			acked = true
		}
	}
	return s
}

func TestReadsWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	s := fill(t, dir, 3)
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	recs, err := st.Journal(t.Context())
	if err != nil || len(recs) != 3 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	for i, r := range recs {
		if r.Cursor != uint64(i+1) || r.Prev != uint64(i) || r.Session != s || r.Data == 0 || r.Header == 0 || r.Stored.IsZero() {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	bells, err := st.Bells(t.Context())
	if err != nil || len(bells) != 1 {
		t.Fatalf("bells %+v, %v", bells, err)
	}
	b := bells[0]
	if b.Name != "turns" || b.Unsent != 1 || b.Unacked != 1 || !b.Rings(recs[0].Subject) ||
		b.Rings(subject.OfEvent(s, "turn.started", "")) {
		t.Errorf("bell %+v", b)
	}
}

func TestNoJournal(t *testing.T) {
	if _, err := store.Open(t.TempDir()); err == nil {
		t.Error("opened a directory without a journal")
	}
}
