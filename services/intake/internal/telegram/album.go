package telegram

import (
	"context"
	"time"
)

// polled is what a poll came back with, in the respects that tell whether an album is complete.
type polled struct {
	began time.Time // when the poll was made
	at    time.Time // when it came
	ids   []int64   // numbers of its updates
	full  bool      // it holds all that one can: there may be more
}

// few is how many updates of others stand behind an album that is complete, where so many wait that answers are full. Its
// messages are sent in one call: in the server's queue at most some that came in the same moment are between them.
const few = 10

// ends says whether an answer shows that nothing more of an album is to come; newest is the last message of it that came. Where
// many wait there is no reason to wait: what stands behind the album tells. Else it takes a poll that was made after the quiet
// time, and was given all there is: so messages that are less than that apart are never taken for two albums, however the
// polls fall.
func (a *polled) ends(newest *item, quiet time.Duration) bool {
	came := newest.came
	if a == nil || came == nil {
		return false
	}
	behind, there := 0, len(a.ids) == 0 // the server has nothing any more
	for _, id := range a.ids {
		if id > newest.id {
			behind++
		}
		there = there || id == newest.id
	}
	if behind >= few && (a.full || came.full) {
		return true
	}
	seen := behind > 0 || there // else the answer was cut before it
	return seen && !a.full && a.began.Sub(came.at) >= quiet
}

// gather collects the album that first begins; none when ctx has ended. It waits for an answer that shows the end, but not for ever:
// there may be no answers.
func (l *lanes) gather(ctx context.Context, ln *lane, first *item) []*item {
	defer l.gathered(ln)
	const patience = 5 // quiet times after the last message
	items, newest := []*item{first}, first
	timer := time.NewTimer(patience * l.quiet)
	defer timer.Stop()
	for {
		it, over := l.part(ln, len(items), newest)
		switch {
		case over:
			return items
		case it != nil:
			items = append(items, it)
			if it.id > newest.id {
				newest = it
			}
			timer.Reset(patience * l.quiet)
			continue
		}
		if l.resting != nil {
			l.resting()
		}
		select {
		case <-ln.bell:
		case <-timer.C:
			return items
		case <-ctx.Done():
			return nil
		}
	}
}

// part takes the next message of an album out of its lane, of which so many are collected. over says that the album is complete: what
// is next is none of it, or the last answer shows it. Both are looked at as one, as what is new in an answer is in its lane
// before heard.
func (l *lanes) part(ln *lane, collected int, newest *item) (it *item, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.rests = 0
	if len(ln.queue) == 0 {
		if l.last.ends(newest, l.quiet) {
			return nil, true
		}
		ln.rests = collected
		return nil, false
	}
	if ln.queue[0].album() != newest.album() {
		return nil, true
	}
	return ln.take(), false
}

func (l *lanes) gathered(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.rests = 0
}

// heard tells those who wait for the rest of an album of an answer. All that is new in it was added before.
func (l *lanes) heard(a *polled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = a
	for _, ln := range l.byChat {
		if ln.rests > 0 {
			ring(ln.bell)
		}
	}
}

// rests is how many updates only wait for the rest of their album, and so for the next answer.
func (l *lanes) rests() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.byChat {
		n += ln.rests
	}
	return n
}
