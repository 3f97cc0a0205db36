package bustest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServer(t *testing.T) {
	spec := bus.Spec{Name: "turns", Appends: []string{"turn.started"}, Doorbells: []string{"message.received"}, Timers: true}
	t0 := time.Now()
	s := bustest.New(t, spec)
	t.Logf("ready after %v", time.Since(t0))
	c := s.Connect(t, "turns")
	cons, err := c.JetStream().Consumer(t.Context(), "EV", "turns")
	if err != nil {
		t.Fatal(err)
	}
	t0 = time.Now()
	s.Restart()
	t.Logf("restarted after %v", time.Since(t0))
	if _, err := cons.Info(t.Context()); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
}
