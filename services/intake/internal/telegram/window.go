package telegram

import (
	"maps"
	"slices"
)

// window knows which updates of a bot's queue are at work and which are done, and so up to where the queue may be confirmed.
// It has no clock and calls nobody. Its zero value has seen nothing.
//
// An update is confirmed by the next offset that is behind it. So the offset is never behind an update that is not done, and
// never between two that were done as one (an album): after a crash both come again or none does.
//
// Numbers of updates grow, but for one case: after a week of silence they begin anew anywhere. The server then gives updates
// below the offset that it was asked for. There is no watermark: what was known before says nothing of the new numbers, and
// is forgotten.
type window struct {
	flying map[int64]bool  // at work
	done   map[int64]int64 // done, and perhaps not confirmed: the lowest number that was done with it, mostly its own
	next   int64           // behind the newest that was seen; 0: nothing was
}

// maxDone is far beyond what one answer to a poll holds.
const maxDone = 4096

// take notes the answer to a poll that asked for offset, and returns what of it is new, in its order. anew says that the
// numbers have begun anew, or that the server does not go by offsets: no reason to ask again at once.
func (w *window) take(offset int64, ids []int64) (fresh []int64, anew bool) {
	if w.flying == nil {
		w.flying, w.done = map[int64]bool{}, map[int64]int64{}
	}
	if len(ids) == 0 {
		return nil, false
	}
	if slices.Min(ids) < offset {
		// What is at work of the old numbers ends by itself; the server does not have it any more.
		clear(w.flying)
		clear(w.done)
		w.next, anew = 0, true
	}
	if len(w.done) > maxDone { // only a server that ignores offsets brings it that far; what comes again has its old key
		clear(w.done)
	}
	w.next = max(w.next, slices.Max(ids)+1)
	for _, id := range ids {
		if _, known := w.done[id]; known || w.flying[id] {
			continue
		}
		w.flying[id] = true
		fresh = append(fresh, id)
	}
	return fresh, anew
}

// finish says that these are done, as one. Those that are not at work are passed over.
func (w *window) finish(ids ...int64) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return !w.flying[id] })
	if len(ids) == 0 {
		return
	}
	first := slices.Min(ids)
	for _, id := range ids {
		delete(w.flying, id)
		w.done[id] = first
	}
}

// offset is what may be asked for: all before it may be forgotten. busy says that something is not done yet.
func (w *window) offset() (offset int64, busy bool) {
	offset, busy = w.next, len(w.flying) > 0
	for id := range w.flying {
		offset = min(offset, id)
	}
	for {
		low := offset
		for id, first := range w.done {
			if id >= offset {
				low = min(low, first)
			}
		}
		if low == offset {
			return offset, busy
		}
		offset = low // and perhaps it is within another one now
	}
}

// confirmed forgets what a poll with this offset has confirmed.
func (w *window) confirmed(offset int64) {
	maps.DeleteFunc(w.done, func(id, _ int64) bool { return id < offset })
}
