package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// page is what the processes that speak for one bot know of each other: the calls that still count, and the chats that a 429
// holds. It is one value in a store of all of them, replaced by compare-and-set. A call is made once a page that counts it is
// stored, and only who has read a page can replace it: so each call was decided with all those before it in view.
//
// All its times are distances in milliseconds from At, which is of a clock that the processes share, more or less.
type page struct {
	At time.Time        `json:"at"`
	By map[string]tally `json:"by,omitempty"` // by process; one that has ended is forgotten when its calls count no more
}

// tally is what one process has called. Ages are of ends, oldest first; below zero for calls that have not ended. Names are short, as
// a minute may hold calls in 1,800 groups, and a value of the bus has 64 KiB at most.
type tally struct {
	All   []int64             `json:"a,omitempty"`
	Chats map[int64]chatTally `json:"c,omitempty"`
}

// chatTally is what it has called in one chat.
type chatTally struct {
	All   []int64 `json:"a,omitempty"`
	Group []int64 `json:"g,omitempty"`
	Edits []int64 `json:"e,omitempty"`
	Held  int64   `json:"h,omitempty"` // from At on
}

func (c chatTally) empty() bool { return len(c.All)+len(c.Group)+len(c.Edits) == 0 && c.Held <= 0 }

// flight is how long the others count a call that has not ended, if nothing more is heard of its process: it may have died.
const flight = 5 * time.Second

// ledger is the page as one process knows it. It has no clock and no lock, as the limiter, and does not see the store.
type ledger struct {
	self     string           // this process
	revision uint64           // of the page
	others   map[string]tally // without self
	base     time.Time        // from which their times count
	looked   time.Time        // when the page was still the newest one, for sure
}

// write is the next page: what is known of the others, and what this process has called and is about to call. wall is now by the
// clock that is shared.
func (b *ledger) write(l *limiter, now, wall time.Time) ([]byte, error) {
	p := page{At: wall.UTC().Round(0), By: map[string]tally{}}
	since := now.Sub(b.base)
	for name, t := range b.others {
		if t = t.aged(since, l); len(t.All) > 0 || len(t.Chats) > 0 {
			p.By[name] = t
		}
	}
	if own := l.tally(now); len(own.All) > 0 || len(own.Chats) > 0 {
		p.By[b.self] = own
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("page of calls: %w", err)
	}
	return data, nil
}

// wrote notes that the page of a revision is this process's, asked for at a time.
func (b *ledger) wrote(revision uint64, asked time.Time) {
	if revision > b.revision {
		b.revision, b.looked = revision, asked
	}
}

// read takes in a page that was asked for at a time. news says whether it is another than the one that is known. What cannot be
// read says nothing, and the next page takes its place.
//
// The page was written after the one that was known before was still the newest, and before now, whatever the clocks say.
func (b *ledger) read(data []byte, revision uint64, asked, now, wall time.Time) (news bool, err error) {
	if revision <= b.revision {
		if revision == b.revision {
			b.looked = later(b.looked, asked)
		}
		return false, nil
	}
	var p page
	if len(data) > 0 {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		p, err = page{}, fmt.Errorf("page of calls: %w", err)
	}
	age := max(wall.Sub(p.At), 0)
	if !b.looked.IsZero() {
		age = min(age, now.Sub(b.looked))
	}
	delete(p.By, b.self)
	b.revision, b.others, b.base, b.looked = revision, p.By, now.Add(-age), asked
	return true, err
}

// aged is a tally as it is seen some time later, without what counts no more.
func (t tally) aged(by time.Duration, l *limiter) tally {
	old := func(ages []int64, limit Limit) (out []int64) {
		for _, a := range ages {
			if a = max(a, -flight.Milliseconds()) + by.Milliseconds(); a < limit.Per.Milliseconds() {
				out = append(out, a)
			}
		}
		return out
	}
	out := tally{All: old(t.All, l.limits.Overall), Chats: map[int64]chatTally{}}
	for id, c := range t.Chats {
		c = chatTally{
			All: old(c.All, l.limits.Chat), Group: old(c.Group, l.limits.Group), Edits: old(c.Edits, l.editLimit(id)),
			Held: max(c.Held-by.Milliseconds(), 0),
		}
		if !c.empty() {
			out.Chats[id] = c
		}
	}
	return out
}

// tally is what this process has called.
func (l *limiter) tally(now time.Time) tally {
	t := tally{All: l.overall.tally(l.limits.Overall, now), Chats: map[int64]chatTally{}}
	for id, c := range l.chats {
		own := chatTally{
			All: c.all.tally(l.limits.Chat, now), Group: c.group.tally(l.limits.Group, now), Edits: c.edits.tally(l.editLimit(id), now),
			Held: (max(c.held.Sub(now), 0) + time.Millisecond - 1).Milliseconds(),
		}
		if !own.empty() {
			t.Chats[id] = own
		}
	}
	return t
}

func (w *window) tally(l Limit, now time.Time) (ages []int64) {
	w.prune(l, now)
	for _, e := range w.own {
		ages = append(ages, now.Sub(e).Milliseconds())
	}
	for range w.flying {
		ages = append(ages, -flight.Milliseconds())
	}
	return ages
}

// learn has a limiter count what others have called, in place of what it knew of them, and thinks again about the calls that were
// begun and not told: those for which there is no room go back to their places.
func (l *limiter) learn(b *ledger, now time.Time) {
	at := func(ages []int64) (ends []time.Time) {
		for _, a := range ages {
			ends = append(ends, b.base.Add(-max(time.Duration(a)*time.Millisecond, -flight)))
		}
		return ends
	}
	var overall []time.Time
	type ends struct{ all, group, edits []time.Time }
	byChat, held := map[int64]ends{}, map[int64]time.Time{}
	for _, t := range b.others {
		overall = append(overall, at(t.All)...)
		for id, c := range t.Chats {
			e := byChat[id]
			byChat[id] = ends{append(e.all, at(c.All)...), append(e.group, at(c.Group)...), append(e.edits, at(c.Edits)...)}
			held[id] = later(held[id], b.base.Add(time.Duration(c.Held)*time.Millisecond))
		}
	}
	l.overall.learn(overall)
	for id := range l.chats {
		if _, told := byChat[id]; !told {
			byChat[id] = ends{}
		}
	}
	for id, e := range byChat {
		c := l.chat(id, now)
		c.all.learn(e.all)
		c.group.learn(e.group)
		c.edits.learn(e.edits)
		c.heldToo = held[id]
	}
	l.again(now)
}

// again decides anew about the calls that were begun and not told.
func (l *limiter) again(now time.Time) {
	begun := l.begun
	l.begun = nil
	for _, t := range begun {
		l.undo(t)
		if !t.spare {
			l.queue(t)
		}
	}
	l.advance(now)
	for _, t := range begun {
		switch {
		case !t.spare:
		case l.hasSpare(t, now):
			l.begin(t)
		default:
			t.never = true
			close(t.ready)
		}
	}
}

// told makes the calls of which the others know now.
func (l *limiter) told(calls []*ticket) {
	for _, t := range calls {
		if i := slices.Index(l.begun, t); i >= 0 {
			l.begun = slices.Delete(l.begun, i, i+1)
			close(t.ready)
		}
	}
}
