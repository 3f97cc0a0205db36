package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is when the server saw calls.
type seen struct {
	mu    sync.Mutex
	all   []time.Time
	chats map[int64][]time.Time
}

func (s *seen) note(chat int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, time.Now())
	s.chats[chat] = append(s.chats[chat], time.Now())
}

func pass(d time.Duration) { <-time.After(d) }

// TestGateCrowd: 200 chats send 10 messages each, with deadlines as the outbox sets them, over a network of moods.
func TestGateCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s, began := newGate(Limits{}), &seen{chats: map[int64][]time.Time{}}, time.Now()
		var wg sync.WaitGroup
		var turns sync.Map
		for id := range int64(200) {
			wg.Go(func() {
				for n := 0; n < 10; {
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					tk, no := g.enter(ctx, fmt.Sprint(id), 1+id, false)
					cancel()
					if no != nil {
						count, _ := turns.LoadOrStore(id, new(int))
						*count.(*int)++
						pass(no.after)
						continue
					}
					pass(time.Duration(rand.IntN(200)) * time.Millisecond)
					s.note(1 + id)
					pass(time.Duration(rand.IntN(200)) * time.Millisecond)
					g.leave(tk)
					n++
				}
			})
		}
		wg.Wait()
		check(t, "overall", s.all, Limit{30, time.Second})
		for id, times := range s.chats {
			check(t, fmt.Sprint(id), times, Limit{1, time.Second})
		}
		turns.Range(func(id, n any) bool {
			if *n.(*int) > 20 {
				t.Errorf("chat %d was told %d times to come back", id, *n.(*int))
			}
			return true
		})
		// Each second holds 30 calls, and the time of the one that began last.
		if took := time.Since(began); len(s.all) != 2000 || took > 2000/30*1400*time.Millisecond {
			t.Errorf("%d calls took %s", len(s.all), took)
		}
	})
}

// TestGateWaits until there is room, or is told when to come back before it is too late for the call.
func TestGateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := newGate(Limits{}), time.Now()
		g.hold(1, 15*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if tk, no := g.enter(ctx, "a", 1, false); tk != nil || no.after != 15*time.Second || !no.held || time.Since(began) != 0 {
			t.Errorf("%v, %+v after %s", tk, no, time.Since(began))
		}
		ctx, cancel = context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		tk, no := g.enter(ctx, "a", 1, false)
		if no != nil || time.Since(began) != 15*time.Second {
			t.Fatalf("%+v after %s", no, time.Since(began))
		}
		g.leave(tk)
		if d := g.held(1); d != 0 {
			t.Errorf("still held for %s", d)
		}
		synctest.Wait()
	})
}

// TestGateChangesItsMind: a 429 that comes while somebody waits sends them away in time, and their place is kept.
func TestGateChangesItsMind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := newGate(Limits{}), time.Now()
		tk, _ := g.enter(t.Context(), "a", 1, false)
		var no *full
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, no = g.enter(ctx, "b", 1, false)
		})
		synctest.Wait()
		if !g.hold(1, time.Minute) {
			t.Error("the hold is no news")
		}
		g.leave(tk)
		wg.Wait()
		if no == nil || no.after != 40*time.Second || time.Since(began) != 20*time.Second {
			t.Fatalf("%+v after %s", no, time.Since(began))
		}
		if g.lim.places["b"] == nil {
			t.Error("the place is lost")
		}
	})
}

// TestGateIsLeft by who is cut off: the others do not wait for them.
func TestGateIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{})
		tk, _ := g.enter(t.Context(), "a", 1, false)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, no := g.enter(ctx, "b", 1, false); no == nil {
				t.Error("who was cut off was called")
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		g.leave(tk)
		began := time.Now()
		tk, no := g.enter(t.Context(), "c", 1, false)
		if no != nil || time.Since(began) != time.Second {
			t.Fatalf("%+v after %s", no, time.Since(began))
		}
		g.leave(tk)
		synctest.Wait()
	})
}

// TestGateBeyondTheDeadline: room that is there is taken, whatever the deadline.
func TestGateBeyondTheDeadline(t *testing.T) {
	g := newGate(Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	tk, no := g.enter(ctx, "a", 1, false)
	if no != nil {
		t.Fatalf("%+v", no)
	}
	g.leave(tk)
	if tk, no = g.enter(ctx, "a", 1, false); no == nil || no.after > time.Second || no.held {
		t.Errorf("%v, %+v", tk, no)
	}
}

// TestRoomKeepsAPlace: who asks when there is room is told the times at which the limits have it, in the order in which they asked,
// and finds room then.
func TestRoomKeepsAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(Limits{Overall: Limit{2, time.Second}})
		began := time.Now()
		for id := range int64(2) {
			ticket, _ := g.enter(t.Context(), "before", 100+id, false)
			g.leave(ticket)
		}
		var at []time.Duration
		for i := range 6 {
			room := g.room(fmt.Sprint("s", i), int64(i+1))
			if again := g.room(fmt.Sprint("s", i), int64(i+1)); !again.Equal(room) {
				t.Errorf("asked again: %s, then %s", room.Sub(began), again.Sub(began))
			}
			at = append(at, room.Sub(began))
		}
		if want := []time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("%v, want %v", at, want)
		}
		time.Sleep(time.Second)
		for i := range 2 {
			if room := g.room(fmt.Sprint("s", i), int64(i+1)); !room.IsZero() {
				t.Errorf("s%d has to wait until %s", i, room.Sub(began))
			}
			ticket, no := g.enter(t.Context(), fmt.Sprint("s", i), int64(i+1), false)
			if no != nil || time.Since(began) != time.Second {
				t.Errorf("s%d entered after %s: %v", i, time.Since(began), no)
				continue
			}
			g.leave(ticket)
		}
		if room := g.room("s2", 3); room.Sub(began) != 2*time.Second {
			t.Errorf("s2 has to wait until %s", room.Sub(began))
		}
	})
}
