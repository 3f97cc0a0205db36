package bus_test

import (
	"context"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
)

// TestPartOfAnAnswer: the last messages of some subjects are not those of all.
func TestPartOfAnAnswer(t *testing.T) {
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	falters, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(falters.Close)
	if _, err := falters.Subscribe("$JS.API.DIRECT.GET.EV", func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Data: []byte("{}"), Header: nats.Header{
			"Nats-Stream": {"EV"}, "Nats-Subject": {"ev.00.main.http.test.a.message.received"}, "Nats-Sequence": {"3"},
			"Nats-Time-Stamp": {"2026-01-02T03:04:05Z"}, "Nats-Num-Pending": {"2"},
		}})
		// nothing more comes
	}); err != nil {
		t.Fatal(err)
	}
	if err := falters.Flush(); err != nil {
		t.Fatal(err)
	}
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: "reader", URL: s.ClientURL(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if before, err := c.Journal().Before(ctx, id(t, "a"), 10); err == nil {
		t.Errorf("it counts as read: %d", before)
	}
}
