package bus_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

// TestLostQuestion: a question for a part of the journal that nobody answers, as when a server is restarted, is not an empty part.
func TestLostQuestion(t *testing.T) {
	t.Parallel() // it takes as long as an answer is waited for
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	deaf, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(deaf.Close)
	if _, err := deaf.Subscribe("$JS.API.DIRECT.GET.>", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	if err := deaf.Flush(); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := bus.Connect(t.Context(), bus.ConnOptions{Service: "reader", URL: s.ClientURL(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	err = c.Replay(t.Context(), bus.ReplayOptions{From: 1, To: 10}, func(envelope.Event) error { return nil })
	if k := fault.KindOf(err); k != fault.Timeout && k != fault.Unavailable {
		t.Errorf("it counts as read: %v", err)
	}
}
