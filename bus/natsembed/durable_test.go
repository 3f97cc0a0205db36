package natsembed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// What a power failure leaves of files that were not synced is a name with nothing in it.
func tear(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
}

func TestATornStreamThatCanBeBuiltAgainIsBegunAnew(t *testing.T) {
	f := begin(t, func(o *Options) { o.Rebuildable = []string{"S"} })
	c := f.connect(t)
	store(t, c)
	if _, err := c.JetStream().Publish(t.Context(), "s.1", nil); err != nil {
		t.Fatal(err)
	}
	end(t, f.Server)
	tear(t, filepath.Join(f.opts.StoreDir, streamsFolder, "S", "meta.inf"))
	o := f.opts
	o.Rebuildable = nil
	if s, err := Start(t.Context(), o); err == nil {
		end(t, s)
		t.Fatal("a stream that is no cache was done without")
	}
	s, err := Start(t.Context(), f.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, s)
	c = (&fixture{s, f.key, f.log}).connect(t)
	if _, err := c.JetStream().Stream(t.Context(), "S"); !strings.Contains(err.Error(), "not found") {
		t.Errorf("%v", err)
	}
	store(t, c)
}

func TestAConsumerWithATornStateDeliversAgain(t *testing.T) {
	f := begin(t, nil)
	c := f.connect(t)
	s := store(t, c)
	cons, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.JetStream().Publish(t.Context(), "s.1", nil); err != nil {
		t.Fatal(err)
	}
	m, err := cons.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	end(t, f.Server)
	tear(t, filepath.Join(f.opts.StoreDir, streamsFolder, "S", "obs", "c", "o.dat"))
	again, err := Start(t.Context(), f.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, again)
	c = (&fixture{again, f.key, f.log}).connect(t)
	if cons, err = c.JetStream().Consumer(t.Context(), "S", "c"); err != nil {
		t.Fatal(err)
	}
	if _, err := cons.Next(); err != nil {
		t.Error(err)
	}
	if err := again.Settle(); err != nil {
		t.Error(err)
	}
}
