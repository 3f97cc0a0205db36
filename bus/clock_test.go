package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

// TestTheServerIsAskedForItsTime: a process that was asleep, or whose clock was stepped, learns what time it is.
func TestTheServerIsAskedForItsTime(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	c := srv.Connect(t, "turns")
	bus.Mislead(c, time.Hour)
	if off := time.Until(c.Now()); off < 59*time.Minute {
		t.Fatalf("it is misled by %v", off)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Doorbells(ctx, reader, func(b bus.Bell) { _ = b.Ack() }) }()
	waitFor(t, "the server's time", func() bool { return time.Until(c.Now()).Abs() < time.Minute })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if v := c.Violations(); len(v) > 0 {
		t.Error(v)
	}
}
