package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/services/outbox"
)

// childEnv makes this binary an outbox of its own instead of a test; its value is an order.
const childEnv = "JETCLAW_TEST_OUTBOX"

func TestMain(m *testing.M) {
	if told, ok := os.LookupEnv(childEnv); ok {
		if err := child(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// order is what a child is told.
type order struct {
	URL, Seed, Hook string // Hook "": a mailbox
}

// child runs an outbox until the process ends.
func child(told string) error {
	var o order
	if err := json.Unmarshal([]byte(told), &o); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	conn, err := bus.Connect(context.Background(), bus.ConnOptions{Service: "outbox", URL: o.URL, Seed: []byte(o.Seed), Log: log})
	if err != nil {
		return err
	}
	c := outbox.Config{Conn: conn, Log: log}
	if o.Hook != "" {
		s, err := outbox.Callback(outbox.CallbackConfig{URL: o.Hook, Token: "t"})
		if err != nil {
			return err
		}
		c.Senders = map[string]outbox.Sender{"http": s}
	}
	s, err := outbox.New(c)
	if err != nil {
		return err
	}
	return s.Run(context.Background())
}
