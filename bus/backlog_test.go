package bus_test

import (
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// TestBacklogTellsPartsApart: the newest doorbell of each session, or of each part of it, oldest first.
func TestBacklogTellsPartsApart(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	j := srv.Connect(t, "intake").Journal()
	c := srv.Connect(t, "turns")
	for _, said := range []struct{ session, text string }{{"a", "x"}, {"b", "x"}, {"a", "y"}, {"a", "x"}, {"b", "x"}} {
		ev := envelope.Event{Session: id(t, said.session), Body: received(said.text)}
		if _, err := j.AppendFact(t.Context(), ev, 0); err != nil {
			t.Fatal(err)
		}
	}
	collect(t, c, 5, func(bus.Bell) {})
	text := func(ev envelope.Event) string { return ev.Body.(messagev1.Received).Text }
	for want, part := range map[string]func(envelope.Event) string{"[4 5]": nil, "[3 4 5]": text} {
		events, err := c.Backlog(t.Context(), reader, part)
		var got []uint64
		for _, ev := range events {
			got = append(got, ev.Cursor)
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("backlog %v, %v; want %s", got, err, want)
		}
	}
}
