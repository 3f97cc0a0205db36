package telegram

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func TestWindowSlot(t *testing.T) {
	l := Limit{3, 10 * time.Second}
	for name, c := range map[string]struct {
		ends   []time.Duration
		flying int
		k      int // others before it
		now    time.Duration
		want   time.Duration
	}{
		"empty":                       {now: 5, want: 5},
		"empty, after two":            {k: 2, now: 5, want: 5},
		"empty, after three":          {k: 3, now: 5, want: 5 + 10*time.Second},
		"full":                        {ends: []time.Duration{0, 1, 2}, now: 3, want: 10 * time.Second},
		"full, after one":             {ends: []time.Duration{0, 1, 2}, k: 1, now: 3, want: 10*time.Second + 1},
		"full, after seven":           {ends: []time.Duration{0, 1, 2}, k: 7, now: 3, want: 30*time.Second + 1},
		"the oldest has left":         {ends: []time.Duration{0, 1, 2}, now: 10 * time.Second, want: 10 * time.Second},
		"it leaves in a nanosecond":   {ends: []time.Duration{0, 1, 2}, now: 10*time.Second - 1, want: 10 * time.Second},
		"what flies has not left":     {flying: 3, now: time.Hour, want: time.Hour + 10*time.Second},
		"what flies leaves as last":   {ends: []time.Duration{0}, flying: 2, now: 5, want: 10 * time.Second},
		"room beside what flies":      {flying: 2, now: 5, want: 5},
		"no room after one, it flies": {flying: 2, k: 1, now: 5, want: 5 + 10*time.Second},
	} {
		w := window{flying: c.flying}
		for _, e := range c.ends {
			w.ends = append(w.ends, at(e))
		}
		if got := w.slot(l, c.k, at(c.now)); !got.Equal(at(c.want)) {
			t.Errorf("%s: %s, want %s", name, got.Sub(start), c.want)
		}
	}
}

func TestDefaultLimits(t *testing.T) {
	own := Limit{7, time.Hour}
	if got := (Limits{Group: own, Edit: Limit{N: 3}}).orDefault(); got.Group != own || got.Edit != DefaultLimits().Edit || got.Chat.N != 1 {
		t.Errorf("%+v", got)
	}
}

// call is one as the server sees it.
type call struct {
	chat   int64
	seen   time.Time
	ticket *ticket
}

// sim runs a limiter in made-up time: calls take a while, and the server sees each somewhere in between.
type sim struct {
	*limiter
	now    time.Time
	ends   map[*ticket]time.Time
	queued []*ticket
	calls  []call
	took   func() (until, after time.Duration) // the server sees it
}

func newSim(l Limits, took func() (time.Duration, time.Duration)) *sim {
	return &sim{limiter: newLimiter(l), now: start, ends: map[*ticket]time.Time{}, took: took}
}

func (s *sim) ask(key string, chat int64, edit bool) *ticket {
	t := s.join(key, chat, edit, s.now)
	s.queued = append(s.queued, t)
	return t
}

// look begins what may begin.
func (s *sim) look() (next time.Time) {
	next = s.advance(s.now)
	s.queued = slices.DeleteFunc(s.queued, func(t *ticket) bool {
		if !t.called() {
			return false
		}
		s.fly(t)
		return true
	})
	return next
}

func (s *sim) fly(t *ticket) {
	until, after := s.took()
	s.calls = append(s.calls, call{t.chat.id, s.now.Add(until), t})
	s.ends[t] = s.now.Add(until + after)
}

// run goes on until a time, or with a zero time until nothing is queued or flies.
func (s *sim) run(until time.Time) {
	for {
		next := s.look()
		for _, e := range s.ends {
			if next.IsZero() || e.Before(next) {
				next = e
			}
		}
		if next.IsZero() || !until.IsZero() && next.After(until) {
			if !until.IsZero() {
				s.now = until
			}
			return
		}
		s.now = next
		for t, e := range s.ends {
			if !e.After(s.now) {
				s.done(t, s.now)
				delete(s.ends, t)
			}
		}
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// kept checks every span of every limit at the server.
func (s *sim) kept(t fataler) {
	t.Helper()
	all, byChat, edits := []time.Time{}, map[int64][]time.Time{}, map[int64][]time.Time{}
	for _, c := range s.calls {
		all = append(all, c.seen)
		byChat[c.chat] = append(byChat[c.chat], c.seen)
		if c.ticket.edit {
			edits[c.chat] = append(edits[c.chat], c.seen)
		}
	}
	check(t, "overall", all, s.limits.Overall)
	for id, times := range byChat {
		check(t, fmt.Sprint("chat ", id), times, s.limits.Chat)
		if id < 0 {
			check(t, fmt.Sprint("group ", id), times, s.limits.Group)
		}
	}
	for id, times := range edits {
		check(t, fmt.Sprint("edits in ", id), times, s.editLimit(id))
	}
}

func check(t fataler, what string, times []time.Time, l Limit) {
	t.Helper()
	slices.SortFunc(times, time.Time.Compare)
	for i := l.N; i < len(times); i++ {
		if span := times[i].Sub(times[i-l.N]); span < l.Per {
			t.Fatalf("%s: %d calls within %s, from %s on", what, l.N+1, span, times[i-l.N].Sub(start))
		}
	}
}

func instantly() (until, after time.Duration) { return 0, 0 }

// TestCrowd: 200 chats with 10 messages each take as long as the limits say, and no longer.
func TestCrowd(t *testing.T) {
	for name, c := range map[string]struct {
		first int64 // number of the first chat
		want  time.Duration
	}{
		"private chats": {1, 66 * time.Second}, // 2000 at 30 a second
		"groups":        {-200, 66 * time.Second},
	} {
		s := newSim(Limits{}, instantly)
		for range 10 {
			for id := range int64(200) {
				s.ask("", c.first+id, false)
			}
		}
		s.run(time.Time{})
		s.kept(t)
		if took := s.now.Sub(start); len(s.calls) != 2000 || took != c.want {
			t.Errorf("%s: %d calls in %s, want %s", name, len(s.calls), took, c.want)
		}
	}
}

// TestGroup: 20 a minute, and no more.
func TestGroup(t *testing.T) {
	s := newSim(Limits{}, instantly)
	for range 50 {
		s.ask("", -5, false)
	}
	s.run(time.Time{})
	s.kept(t)
	if took := s.now.Sub(start); took != 2*time.Minute+9*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestHeldChat: it waits, in its order; nobody else does.
func TestHeldChat(t *testing.T) {
	s := newSim(Limits{}, instantly)
	if !s.hold(7, at(time.Minute), s.now) || s.hold(7, at(30*time.Second), s.now) {
		t.Error("only the first hold is news")
	}
	for range 3 {
		s.ask("", 7, false)
	}
	for id := range int64(29) {
		s.ask("", 100+id, false)
	}
	s.look()
	if len(s.calls) != 29 {
		t.Fatalf("%d calls at once", len(s.calls))
	}
	if other := s.ask("", 200, false); !other.slot.Equal(s.now) {
		t.Errorf("another chat is told to wait for %s", other.slot.Sub(s.now))
	}
	s.run(time.Time{})
	for i, c := range s.calls[30:] {
		if want := at(time.Minute + time.Duration(i)*time.Second); c.chat != 7 || !c.seen.Equal(want) {
			t.Errorf("%d at %s", c.chat, c.seen.Sub(start))
		}
	}
	s.kept(t)
}

// TestEdits have a pace of their own, and keep their place.
func TestEdits(t *testing.T) {
	s := newSim(Limits{Chat: Limit{100, time.Second}}, instantly)
	for range 3 {
		s.ask("", -5, true)
	}
	s.ask("", -5, false)
	s.run(time.Time{})
	for i, want := range []time.Duration{0, 3 * time.Second, 6 * time.Second, 6 * time.Second} {
		if c := s.calls[i]; !c.seen.Equal(at(want)) || c.ticket.edit != (i < 3) {
			t.Errorf("call %d at %s, edit %t", i, c.seen.Sub(start), c.ticket.edit)
		}
	}
}

// TestPlace: who comes back in time is before all who came later.
func TestPlace(t *testing.T) {
	s := newSim(Limits{Overall: Limit{1, time.Second}}, instantly)
	for id := range int64(10) {
		s.ask("", 1+id, false)
	}
	first := s.ask("k", 100, false)
	if !first.slot.Equal(at(10 * time.Second)) {
		t.Fatalf("slot %s", first.slot.Sub(start))
	}
	s.leave(first, s.now)
	s.queued = s.queued[:10]
	second := s.ask("l", 200, false)
	if !second.slot.Equal(at(11 * time.Second)) {
		t.Errorf("the place of the first is not counted: %s", second.slot.Sub(start))
	}
	s.run(at(9 * time.Second))
	back := s.ask("k", 100, false)
	if !back.slot.Equal(at(10*time.Second)) || back.seq != first.seq {
		t.Errorf("slot %s, seq %d", back.slot.Sub(start), back.seq)
	}
	s.run(time.Time{})
	if n := len(s.calls); s.calls[n-2].chat != 100 || s.calls[n-1].chat != 200 {
		t.Errorf("the order is %d, %d", s.calls[n-2].chat, s.calls[n-1].chat)
	}
	s.leave(s.ask("m", 300, false), s.now)
	s.now = s.now.Add(keepPlace + time.Minute)
	if late := s.ask("m", 300, false); late.seq != s.seq {
		t.Error("a place was kept for too long")
	}
}

// TestPlaceBlocksNobody: what its owner does not use is not lost.
func TestPlaceBlocksNobody(t *testing.T) {
	s := newSim(Limits{Overall: Limit{1, time.Second}}, instantly)
	for i := range 5 {
		s.leave(s.ask(fmt.Sprint(i), int64(1+i), false), s.now)
	}
	s.queued = nil
	if s.ask("new", 9, false); !s.look().IsZero() || len(s.calls) != 1 {
		t.Errorf("%d calls", len(s.calls))
	}
}

// TestSpare: drafts take what is left, and leave something.
func TestSpare(t *testing.T) {
	s := newSim(Limits{Edit: Limit{100, time.Second}, Chat: Limit{100, time.Second}}, instantly)
	n := 0
	for id := range int64(40) {
		if tk, ok := s.trySpare(1+id, true, s.now); ok {
			s.done(tk, s.now)
			n++
		}
	}
	if n != 20 {
		t.Errorf("%d drafts in a second", n)
	}
	for id := range int64(40) {
		s.ask("", 100+id, false)
	}
	if s.look(); len(s.calls) != 10 {
		t.Errorf("%d messages beside them", len(s.calls))
	}
	s.run(time.Time{})
	s.now = s.now.Add(time.Hour)
	for name, busy := range map[string]func(){
		"held":    func() { s.hold(1, s.now.Add(time.Second), s.now) },
		"waiting": func() { s.hold(1, s.now, s.now); s.ask("", 1, false) },
	} {
		busy()
		if _, ok := s.trySpare(1, true, s.now); ok {
			t.Errorf("a draft although its chat is %s", name)
		}
	}
}

// TestForgets: the memory is that of what is going on.
func TestForgets(t *testing.T) {
	s := newSim(Limits{}, instantly)
	for id := range int64(5000) {
		s.ask("", 1+id, false)
		s.run(s.now.Add(time.Second / 10))
	}
	if len(s.chats) > 2*minSweep || len(s.waiting) > 0 || len(s.overall.ends) > 30 {
		t.Errorf("%d chats, %d waiting", len(s.chats), len(s.waiting))
	}
	s.chats = map[int64]*chat{}
	for i := range maxPlaces {
		s.places[fmt.Sprint(i)] = &ticket{chat: &chat{id: 1}, slot: s.now}
	}
	s.leave(s.ask("no room", 1, false), s.now)
	if len(s.places) != maxPlaces || s.places["no room"] != nil {
		t.Errorf("%d places", len(s.places))
	}
	s.now = s.now.Add(time.Hour)
	if s.leave(s.ask("room", 1, false), s.now); len(s.places) != 1 || s.places["room"] == nil {
		t.Errorf("%d places after an hour", len(s.places))
	}
}

// TestLimiter drives random histories.
func TestLimiter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(name string) Limit {
			return Limit{rapid.IntRange(1, 6).Draw(t, name), time.Duration(rapid.IntRange(1, 5).Draw(t, name+" s")) * time.Second}
		}
		took := rapid.IntRange(0, 3000)
		s := newSim(Limits{limit("chat"), limit("group"), limit("overall"), limit("edit"), limit("group edit")},
			func() (time.Duration, time.Duration) {
				return time.Duration(took.Draw(t, "until")) * time.Millisecond, time.Duration(took.Draw(t, "after")) * time.Millisecond
			})
		id := rapid.SampledFrom([]int64{1, 2, 3, -1, -2})
		asked := 0
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				s.ask(fmt.Sprint(asked), id.Draw(t, "chat"), rapid.Bool().Draw(t, "edit"))
				asked++
				s.look()
			},
			"leave": func(t *rapid.T) {
				if len(s.queued) > 0 {
					i := rapid.IntRange(0, len(s.queued)-1).Draw(t, "which")
					s.leave(s.queued[i], s.now)
					s.queued = slices.Delete(s.queued, i, i+1)
					s.look()
				}
			},
			"come back": func(t *rapid.T) {
				if len(s.places) > 0 {
					key := rapid.SampledFrom(slices.Sorted(maps.Keys(s.places))).Draw(t, "key")
					p := s.places[key]
					s.ask(key, p.chat.id, p.edit)
					s.look()
				}
			},
			"draft": func(t *rapid.T) {
				if tk, ok := s.trySpare(id.Draw(t, "chat"), rapid.Bool().Draw(t, "edit"), s.now); ok {
					s.fly(tk)
				}
			},
			"hold": func(t *rapid.T) {
				s.hold(id.Draw(t, "chat"), s.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "s"))*time.Second), s.now)
			},
			"wait": func(t *rapid.T) {
				s.run(s.now.Add(time.Duration(rapid.IntRange(1, 8000).Draw(t, "ms")) * time.Millisecond))
			},
			"": func(t *rapid.T) { s.kept(t); s.ordered(t) },
		})
		s.run(time.Time{})
		if len(s.queued) > 0 || len(s.waiting) > 0 {
			t.Fatalf("%d were never called", len(s.waiting))
		}
		s.kept(t)
		for _, c := range s.chats {
			if c.waiting != 0 || c.all.flying != 0 || c.group.flying != 0 || c.edits.flying != 0 {
				t.Fatalf("chat %d: %+v", c.id, c)
			}
		}
	})
}

// ordered: of those who wait in a chat, none may be called before one that came earlier.
func (s *sim) ordered(t fataler) {
	t.Helper()
	for i := 1; i < len(s.waiting); i++ {
		if s.waiting[i-1].seq >= s.waiting[i].seq {
			t.Fatalf("the queue is out of order at %d", i)
		}
	}
}
