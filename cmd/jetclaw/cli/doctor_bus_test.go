package cli

import (
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

// TestDoctorOfOpenDoorbells: those that a worker has put off again and again are told of while one runs; without a daemon they are
// what the last one has left, and come again at the next start.
func TestDoctorOfOpenDoorbells(t *testing.T) {
	t.Parallel()
	c := bus.ConsumerState{Service: "outbox", Name: "outbox", AckPending: 184, Redelivered: 184}
	x := examination{}
	if f := x.consumer(c, false); f != nil {
		t.Errorf("without a daemon: %+v", f)
	}
	x.c = app.Client{At: "nats://127.0.0.1:4222"}
	if f := x.consumer(c, false); f == nil || f.ID != "consumer.redelivered" {
		t.Errorf("beside a daemon: %+v", f)
	}
}
