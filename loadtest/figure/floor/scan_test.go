package floor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// stored makes the store of a daemon that has stopped, with so many messages.
func stored(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
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
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: subject.Journal, Subjects: []string{subject.JournalAll}, AllowDirect: true,
	}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		id, err := session.New("main", "http", "default", fmt.Sprintf("s%d", i%3))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), subject.OfEvent(id, "message.received", ""), []byte("seven b")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestScan(t *testing.T) {
	dir := stored(t, 1201)
	for _, batched := range []bool{false, true} {
		in, err := json.Marshal(floor.Scan{Data: dir, Batched: batched})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := floor.ServeScan(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatalf("batched %v: %v", batched, err)
		}
		var r floor.Scanned
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Events != 1201 || r.Bytes != 7*1201 || r.PerSecond <= 0 {
			t.Errorf("batched %v: %v, %+v", batched, err, r)
		}
	}
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if all, err := st.Sessions(t.Context()); err != nil || len(all) != 3 || all["main.http.default.s0"] != 401 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestScanOfNothing(t *testing.T) {
	if _, err := floor.RunScan(t.Context(), floor.Scan{Data: stored(t, 0)}); err == nil {
		t.Error("nothing was read, and that is no error")
	}
	if _, err := floor.RunScan(t.Context(), floor.Scan{Data: t.TempDir()}); err == nil {
		t.Error("there was no journal, and that is no error")
	}
}
