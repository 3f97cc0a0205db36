package actor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
)

// many bells come, one for each event of a shelf.
type many struct {
	noted
	shelf *shelf
}

func (m many) Doorbells(ctx context.Context, _ bus.Spec, ring func(bus.Bell)) error {
	for _, e := range m.shelf.events {
		ring(noted{event: e, how: m.how})
	}
	<-ctx.Done()
	return nil
}

// TestLanesLeaveNothing: a session whose lanes have ended is not remembered, whatever the number of its parts.
func TestLanesLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shelf{events: map[uint64]envelope.Event{}}
		h.put(0, 1, 2, 3, 4, 5)
		bells := many{noted{how: make(chan string, 5)}, h}
		a, err := NewOn(Machine[trail]{
			Service: "turns", Version: "1",
			Apply: func(s trail, e envelope.Event) trail { return append(slices.Clip(s), e.Cursor) },
			Next:  func(trail, machine.View) machine.Step { return nil },
			Part:  func(e envelope.Event) string { return fmt.Sprint(e.Cursor % 3) },
		}, Ports{
			Journal: h, Bells: bells, Peers: &scripted{}, Instance: "w", Log: slog.New(slog.DiscardHandler),
		}, bus.Spec{Name: "turns"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if how := <-bells.how; how != "ack" {
				t.Errorf("settled by %s", how)
			}
		}
		if len(a.shell.crews) > 0 || len(a.shell.failures) > 0 {
			t.Errorf("left behind: %v, %v", a.shell.crews, a.shell.failures)
		}
	})
}
