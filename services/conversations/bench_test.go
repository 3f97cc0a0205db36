package conversations

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/internal/store"
)

// journal fills a journal with turns of four events in 500 sessions.
func journal(b *testing.B, turns int) *house {
	b.Helper()
	h := newHouse(b)
	const writers = 16
	var wg sync.WaitGroup
	for w := range writers {
		part := &house{t: b, bus: h.bus, all: h.bus.Connect(b, "all"), last: map[session.ID]uint64{}, n: w * 1_000_000}
		wg.Go(func() {
			for i := range turns / writers {
				s := id(b, "http", fmt.Sprint("s", w, "x", i%31))
				part.turn(s, fmt.Sprint("What is the weather like in Paris on day ", i, ", and what should I wear?"),
					"It is mild and rainy, some 14 degrees. Take a light coat and an umbrella; in the evening it may get windy by the river.")
			}
		})
	}
	wg.Wait()
	return h
}

// BenchmarkRebuild reads a journal of 100,000 events into a new file, beside reading it only.
func BenchmarkRebuild(b *testing.B) {
	h := journal(b, 25_000)
	conn := h.bus.Connect(b, name)
	b.Run("replay", func(b *testing.B) {
		n := 0
		for b.Loop() {
			if err := conn.Replay(b.Context(), bus.ReplayOptions{}, func(envelope.Event) error { n++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("rebuild", func(b *testing.B) {
		s, err := New(Config{Conn: conn, Path: filepath.Join(b.TempDir(), "x"), Log: conn.Log()})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			events, err := s.build(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			n += events
			if err := store.Remove(s.freshPath()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkTurn takes in one turn at a time, and writes it at once: the dearest that a turn can be.
func BenchmarkTurn(b *testing.B) {
	h := journal(b, 1600)
	conn := h.bus.Connect(b, name)
	var events []envelope.Event
	if err := conn.Replay(b.Context(), bus.ReplayOptions{}, func(ev envelope.Event) error { events = append(events, ev); return nil }); err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{Conn: conn, Path: filepath.Join(b.TempDir(), "x"), Log: conn.Log()})
	if err != nil {
		b.Fatal(err)
	}
	for _, turns := range []int{1, 100} {
		b.Run(fmt.Sprint(turns, " a batch"), func(b *testing.B) {
			x, err := s.open(b.Context(), s.path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n, cursor := 0, uint64(0)
			for b.Loop() {
				for range 4 {
					cursor++
					ev := events[n%len(events)]
					ev.Cursor = cursor
					if err := x.add(context.Background(), ev); err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n%(4*turns) == 0 {
					if err := x.commit(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			if err := x.store.Close(); err != nil {
				b.Fatal(err)
			}
			if err := store.Remove(s.path); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkOpen opens a file with what the daemon does before it reads.
func BenchmarkOpen(b *testing.B) {
	h := newHouse(b)
	conn := h.bus.Connect(b, name)
	s, err := New(Config{Conn: conn, Path: filepath.Join(b.TempDir(), "x"), Log: conn.Log()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		x, err := s.begin(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := x.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds()*1000, "last-ms")
	}
}
