package bus_test

import (
	"testing"

	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

func TestBefore(t *testing.T) {
	srv := bustest.New(t, intake)
	j := srv.Connect(t, "intake").Journal()
	s, other := id(t, "s"), id(t, "other")
	var mine []uint64
	prev := uint64(0)
	for i := range 5 {
		if _, err := j.AppendFact(t.Context(), envelope.Event{Session: other, Body: received("x")}, 0); err != nil {
			t.Fatal(err)
		}
		e := envelope.Event{Session: s, Prev: prev, Body: received("x")}
		if i%2 == 1 {
			e.Body = control()
		}
		cur, err := j.Append(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		before, err := j.Before(t.Context(), s, cur)
		if err != nil || before != prev {
			t.Errorf("before %d: %d, %v, want %d", cur, before, err, prev)
		}
		mine, prev = append(mine, cur), cur
	}
	for i, cur := range mine[1:] {
		if before, err := j.Before(t.Context(), s, cur); err != nil || before != mine[i] {
			t.Errorf("before %d: %d, %v, want %d", cur, before, err, mine[i])
		}
	}
}
