package bus_test

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestRecentIsAsGoodAsARead: what one connection appended, another reads from memory, equal to what the server has. The
// server is gone by then, so that a read could not have answered.
func TestRecentIsAsGoodAsARead(t *testing.T) {
	srv := bustest.New(t, intake, reader)
	memory := bus.NewRecent()
	connect := func(service string) *bus.Conn {
		c, err := bus.Connect(t.Context(), bus.ConnOptions{
			Service: service, InProcess: srv, Seed: srv.Seed(service), Log: srv.Admin().Log(), Recent: memory,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.NATS().Close)
		return c
	}
	writer, other := connect("turns"), connect("intake")
	s := id(t, "recent")
	var cursors []uint64
	var want []envelope.Event
	prev := uint64(0)
	for range 3 {
		body := turnv1.Completed{Outcome: turnv1.Outcome{Turn: "t"}, Answers: nil, Text: "answer"}
		cur, err := writer.Journal().Append(t.Context(), envelope.Event{Session: s, Prev: prev, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := srv.Connect(t, "turns").Journal().Get(t.Context(), cur) // without the memory
		if err != nil {
			t.Fatal(err)
		}
		cursors, want, prev = append(cursors, cur), append(want, ev), cur
	}
	for _, nc := range []*nats.Conn{writer.NATS(), other.NATS()} {
		nc.Close()
	}
	for i, cur := range cursors {
		for range 2 { // as stored, then as decoded
			got, err := other.Journal().Get(t.Context(), cur)
			if err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("from memory %+v, %v\nfrom the server %+v", got, err, want[i])
			}
		}
	}
	if _, err := other.Journal().Get(t.Context(), 99); err == nil {
		t.Fatal("an event that nobody has seen")
	}
}
