package actor_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// BenchmarkTurn is one message through the shell on a real server: append, doorbell, claim, effect, outcome, ack. The
// last event is awaited as a client would, by what the server announces. What it costs beside the bus itself is
// measured by loadtest.
func BenchmarkTurn(b *testing.B) {
	srv := bustest.New(b, spec, outside)
	in, c := srv.Connect(b, "intake"), srv.Connect(b, "turns")
	a, err := actor.New(machineOf(0), c, spec, actor.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	answered := make(chan uint64, 1)
	if err := in.Watch(ctx, []string{"turn.completed"}, func(ev envelope.Event) { answered <- ev.Cursor }); err != nil {
		b.Fatal(err)
	}
	if err := a.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	last, n := uint64(0), 0
	for b.Loop() {
		n++
		ev := envelope.Event{Session: sessionID(b, n%100), Key: fmt.Sprint(n), Body: messagev1.Received{Text: "hi"}}
		if n > 100 {
			last -= 297
		} else {
			last = 0
		}
		if _, err := in.Journal().AppendFact(ctx, ev, last); err != nil {
			b.Fatal(err)
		}
		last = <-answered
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
