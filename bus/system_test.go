package bus_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

// TestSystemSince: who has read all up to a cursor is told what is newer, of all items.
func TestSystemSince(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "mcp", System: true})
	c := srv.Connect(t, "mcp")
	var last uint64
	read := func(after uint64) (got string) {
		t.Helper()
		all, err := c.SystemSince(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range all {
			got += fmt.Sprint(ev.Item, " ", ev.Verb, "; ")
			last = ev.Cursor
		}
		return got
	}
	if got := read(0); got != "" {
		t.Errorf("at first: %s", got)
	}
	for i, item := range []string{"a", "b", "c"} {
		if _, err := c.AppendSystem(t.Context(), item, "failed", i, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(0); got != "a failed; b failed; c failed; " {
		t.Error(got)
	}
	if got := read(last - 1); got != "c failed; " {
		t.Error(got)
	}
	if got := read(last); got != "" {
		t.Errorf("nothing is newer: %s", got)
	}
}

// TestNothingNewCostsLittle: a process at rest asks every second, and must not be taken for a busy one.
func TestNothingNewCostsLittle(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "mcp", System: true})
	c := srv.Connect(t, "mcp")
	last, err := c.AppendSystem(t.Context(), "a", "failed", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		after uint64
		most  uint64 // bytes allocated for one question, the server's part included
	}{{last, 32 << 10}, {last - 1, 128 << 10}} {
		const times = 16
		before := allocated()
		for range times {
			if _, err := c.SystemSince(t.Context(), x.after); err != nil {
				t.Fatal(err)
			}
		}
		if each := (allocated() - before) / times; each > x.most {
			t.Errorf("asking what is newer than %d of %d: %d bytes allocated, at most %d", x.after, last, each, x.most)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
