package telegram

import (
	"slices"
	"time"
)

// Limit is at most N calls in any span of Per.
type Limit struct {
	N   int
	Per time.Duration
}

// Limits are what one bot may do. A field that is zero takes Telegram's, which are a recommendation and not a promise
// (https://core.telegram.org/bots/faq#broadcasting-to-users).
type Limits struct {
	Chat      Limit // messages and edits in one chat; 1 a second. Telegram lets short bursts pass: {3, 3 s} would use that
	Group     Limit // in a group, besides Chat; 20 a minute
	Overall   Limit // of all chats; 30 a second
	Edit      Limit // edits in one private chat, besides the others; 1 a second
	GroupEdit Limit // edits in one group; 1 in 3 s
}

// DefaultLimits are Telegram's.
func DefaultLimits() Limits {
	return Limits{
		Chat:      Limit{1, time.Second},
		Group:     Limit{20, time.Minute},
		Overall:   Limit{30, time.Second},
		Edit:      Limit{1, time.Second},
		GroupEdit: Limit{1, 3 * time.Second},
	}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ own, std *Limit }{
		{&l.Chat, &d.Chat},
		{&l.Group, &d.Group},
		{&l.Overall, &d.Overall},
		{&l.Edit, &d.Edit},
		{&l.GroupEdit, &d.GroupEdit},
	} {
		if f.own.N <= 0 || f.own.Per <= 0 {
			*f.own = *f.std
		}
	}
	return l
}

// window counts the calls that a Limit forbids to exceed. A call counts from its begin until Per after its end: the server
// saw it somewhere between the two, so no span of Per there holds more than were counted here.
type window struct {
	ends   []time.Time // of the calls that are over, of all processes, oldest first. Ahead is what flies elsewhere, till then at most
	own    []time.Time // of them, those of this process
	flying int         // calls of this process that have not ended
}

func (w *window) prune(l Limit, now time.Time) {
	w.ends, w.own = dropped(w.ends, l, now), dropped(w.own, l, now)
}

// dropped is without what has left the window.
func dropped(ends []time.Time, l Limit, now time.Time) []time.Time {
	n := 0
	for n < len(ends) && !ends[n].Add(l.Per).After(now) {
		n++
	}
	return ends[:copy(ends, ends[n:])]
}

func (w *window) begin() { w.flying++ }

func (w *window) end(now time.Time) {
	w.flying--
	w.own = append(w.own, now)
	i, _ := slices.BinarySearchFunc(w.ends, now, time.Time.Compare)
	w.ends = slices.Insert(w.ends, i, now)
}

// learn takes the ends of others for all there are.
func (w *window) learn(others []time.Time) {
	w.ends = append(append(w.ends[:0], w.own...), others...)
	slices.SortFunc(w.ends, time.Time.Compare)
}

// slot is when the call after the next k may begin at the earliest, as if those that fly ended now.
func (w *window) slot(l Limit, k int, now time.Time) time.Time {
	w.prune(l, now)
	rounds := k / l.N
	at, before := now, k%l.N-(l.N-len(w.ends)-w.flying) // so many have to leave the window first, and one more
	switch {
	case before < 0:
	case before < len(w.ends):
		at = earlier(w.ends[before], now).Add(l.Per)
	default:
		at = now.Add(l.Per)
	}
	return at.Add(l.Per * time.Duration(rounds))
}

// spare says whether a call may begin now and still leave a third of the window to others, where it allows more than two.
func (w *window) spare(l Limit, now time.Time) bool {
	w.prune(l, now)
	return len(w.ends)+w.flying < l.N-l.N/3
}

func (w *window) idle(l Limit, now time.Time) bool {
	w.prune(l, now)
	return len(w.ends) == 0 && w.flying == 0
}
