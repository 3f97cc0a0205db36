package telegram

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWindow(t *testing.T) {
	var w window
	if at, busy := w.offset(); at != 0 || busy {
		t.Fatalf("a new window asks for %d, %v", at, busy)
	}
	take := func(offset int64, want []int64, ids ...int64) {
		t.Helper()
		w.confirmed(offset)
		if got, _ := w.take(offset, ids); !slices.Equal(got, want) {
			t.Fatalf("began with %v, want %v", got, want)
		}
	}
	at := func(want int64, wantBusy bool) {
		t.Helper()
		if got, busy := w.offset(); got != want || busy != wantBusy {
			t.Fatalf("offset %d, busy %v, want %d, %v", got, busy, want, wantBusy)
		}
	}
	take(0, []int64{10, 11, 12, 13}, 10, 11, 12, 13)
	at(10, true)
	w.finish(11)
	at(10, true)
	take(10, []int64{14}, 10, 11, 12, 13, 14)
	w.finish(10)
	at(12, true)
	w.finish(13, 14) // an album
	w.finish(12)
	at(15, false)
	take(15, nil)
	at(15, false)
	take(15, []int64{3, 4}, 3, 4) // the numbers begin anew
	at(3, true)
	w.finish(3, 4)
	at(5, false)
}

// An album around an update that is not done is confirmed with it, not before.
func TestWindowKeepsAlbumsWhole(t *testing.T) {
	var w window
	w.take(0, []int64{1, 2, 3, 4, 5, 6})
	w.finish(1)
	w.finish(2, 4)
	w.finish(3, 6)
	if at, _ := w.offset(); at != 2 {
		t.Fatalf("offset %d: the albums 2, 4 and 3, 6 hang together and 5 is not done", at)
	}
	w.finish(5)
	if at, busy := w.offset(); at != 7 || busy {
		t.Fatalf("offset %d", at)
	}
}

// model of a server's queue, and of what is done with it.
type queue struct {
	next    int64
	pending []int64 // not confirmed
}

// TestWindowAgainstServer has the property that all hangs on: the server never forgets an update that is not done, nor one part of
// an album without the others, and nothing is done twice while the same window lives.
func TestWindowAgainstServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			w      window
			s      = queue{next: rapid.Int64Range(1, 1<<31).Draw(t, "first")}
			flying []int64
			done   = map[int64]int64{} // by number: which finish did it
			began  = map[int64]int{}
			turn   int64
		)
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // updates come in
				for range rapid.IntRange(1, 30).Draw(t, "new") {
					s.pending = append(s.pending, s.next)
					s.next += rapid.Int64Range(1, 2).Draw(t, "gap")
				}
			case 1: // some are done, perhaps together
				if len(flying) == 0 {
					continue
				}
				turn++
				var ids []int64
				for range rapid.IntRange(1, 3).Draw(t, "together") {
					if len(flying) > 0 {
						i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
						ids = append(ids, flying[i])
						flying = slices.Delete(flying, i, i+1)
					}
				}
				for _, id := range ids {
					done[id] = turn
				}
				w.finish(ids...)
			case 2: // a poll
				offset, busy := w.offset()
				if busy != (len(flying) > 0) {
					t.Fatalf("busy is %v with %d at work", busy, len(flying))
				}
				var kept, gone []int64
				for _, id := range s.pending {
					if id < offset {
						gone = append(gone, id)
					} else {
						kept = append(kept, id)
					}
				}
				for _, id := range gone {
					if done[id] == 0 {
						t.Fatalf("offset %d: update %d is confirmed and not done", offset, id)
					}
					for _, other := range kept {
						if done[other] == done[id] {
							t.Fatalf("offset %d: %d is confirmed without %d, which was done with it", offset, id, other)
						}
					}
				}
				s.pending = kept
				answer := slices.Clone(kept[:min(len(kept), rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "limit"))])
				w.confirmed(offset)
				fresh, anew := w.take(offset, answer)
				if anew {
					t.Fatalf("offset %d, answer %v: they did not begin anew", offset, answer)
				}
				for _, id := range fresh {
					if began[id]++; began[id] > 1 {
						t.Fatalf("update %d is begun with again", id)
					}
				}
				flying = append(flying, fresh...)
				if len(w.done) > 400 {
					t.Fatalf("%d updates are kept in mind", len(w.done))
				}
			case 3: // after a long silence with nothing left the numbers begin anew, or the process does
				if len(s.pending) == 0 {
					s.next = rapid.Int64Range(1, 1<<31).Draw(t, "anew")
					offset, _ := w.offset()
					if s.next >= offset-100 && s.next < offset || began[s.next] > 0 {
						s.next = offset + 1
					}
					if s.next < offset { // the window learns of it at the next poll, and may then begin with everything
						w, began, done = window{next: w.next}, map[int64]int{}, map[int64]int64{}
						s.pending = append(s.pending, s.next)
						if fresh, anew := w.take(offset, s.pending); !anew || len(fresh) != 1 {
							t.Fatalf("began with %v, anew %v", fresh, anew)
						}
						flying = []int64{s.next}
						began[s.next]++
						s.next++
					}
				}
			}
		}
	})
}
