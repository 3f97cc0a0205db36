package telegram

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus"
)

// town is several processes that speak for one bot, in made-up time: calls and pages take a while to arrive.
type town struct {
	now      time.Time
	limits   Limits
	events   []happening
	procs    []*proc
	page     []byte
	revision uint64
	calls    []call
	took     func(what string) time.Duration
}

type happening struct {
	at time.Time
	do func()
}

// proc is one process.
type proc struct {
	*limiter
	town    *town
	book    ledger
	skew    time.Duration // of its clock
	queued  []*ticket
	timer   time.Time
	writing bool
	dead    bool
}

func newTown(l Limits, took func(string) time.Duration) *town {
	return &town{now: start, limits: l, took: took}
}

func (w *town) proc(skew time.Duration) *proc {
	p := &proc{limiter: newLimiter(w.limits), town: w, book: ledger{self: fmt.Sprint("w", len(w.procs))}, skew: skew}
	p.shared = true
	w.procs = append(w.procs, p)
	return p
}

func (w *town) in(d time.Duration, do func()) {
	h := happening{w.now.Add(d), do}
	i, _ := slices.BinarySearchFunc(w.events, h, func(a, b happening) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1 // what was said first happens first
	})
	w.events = slices.Insert(w.events, i, h)
}

// run goes on until a time, or with a zero time until nothing is to happen.
func (w *town) run(until time.Time) {
	for {
		var next time.Time
		for _, p := range w.procs {
			if !p.timer.IsZero() && !p.timer.After(w.now) {
				p.read()
			}
			if p.timer = p.look(); !p.timer.IsZero() && (next.IsZero() || p.timer.Before(next)) {
				next = p.timer
			}
		}
		if len(w.events) > 0 && (next.IsZero() || !w.events[0].at.After(next)) {
			next = w.events[0].at
		}
		if next.IsZero() || !until.IsZero() && next.After(until) {
			if !until.IsZero() {
				w.now = until
			}
			return
		}
		w.now = next
		for len(w.events) > 0 && !w.events[0].at.After(w.now) {
			do := w.events[0].do
			w.events = w.events[1:]
			do()
		}
	}
}

func (p *proc) wall() time.Time { return p.town.now.Add(p.skew) }

func (p *proc) ask(key string, chat int64, edit bool) *ticket {
	t := p.join(key, chat, edit, p.town.now)
	p.queued = append(p.queued, t)
	return t
}

// look begins what may begin, calls what was told, and tells.
func (p *proc) look() (next time.Time) {
	if p.dead {
		return next
	}
	next = p.advance(p.town.now)
	p.queued = slices.DeleteFunc(p.queued, func(t *ticket) bool {
		if t.called() && !t.never {
			p.fly(t)
		}
		return t.called()
	})
	if p.dirty && !p.writing {
		p.tell()
	}
	return next
}

func (p *proc) fly(t *ticket) {
	w := p.town
	seen := w.took("call")
	w.calls = append(w.calls, call{t.chat.id, w.now.Add(seen), t})
	w.in(seen+w.took("answer"), func() { p.done(t, w.now) })
}

// tell writes a page, as gate does.
func (p *proc) tell() {
	w := p.town
	p.writing, p.dirty = true, false
	begun, asked, revision := slices.Clone(p.begun), w.now, p.book.revision
	page, err := p.book.write(p.limiter, w.now, p.wall())
	if err != nil {
		panic(err)
	}
	w.in(w.took("page"), func() {
		next := uint64(0)
		if revision == w.revision {
			w.revision++
			w.page, next = page, w.revision
		}
		w.in(w.took("page"), func() {
			if p.writing = false; p.dead {
				return
			}
			if next != 0 {
				p.book.wrote(next, asked)
				p.told(begun)
				return
			}
			p.read()
			p.dirty = true
		})
	})
}

func (p *proc) read() {
	news, err := p.book.read(p.town.page, p.town.revision, p.town.now, p.town.now, p.wall())
	if err != nil {
		panic(err)
	}
	if news {
		p.learn(&p.book, p.town.now)
	}
}

// kept checks every span of every limit at the server, but for how much clocks may differ.
func (w *town) kept(t fataler, skew time.Duration) {
	t.Helper()
	l := w.limits.orDefault()
	for _, limit := range []*Limit{&l.Chat, &l.Group, &l.Overall, &l.Edit, &l.GroupEdit} {
		limit.Per -= skew
	}
	(&sim{limiter: newLimiter(l), calls: w.calls}).kept(t)
}

func prompt(string) time.Duration { return time.Millisecond }

// TestPage: what one process has called, another counts; also one that begins when it is gone.
func TestPage(t *testing.T) {
	for name, second := range map[string]func(w *town, first *proc) *proc{
		"beside": func(w *town, _ *proc) *proc { return w.proc(0) },
		"after":  func(w *town, first *proc) *proc { first.dead = true; return w.proc(0) },
		"with a clock far ahead": func(w *town, _ *proc) *proc {
			p := w.proc(time.Hour)
			p.read()
			return p
		},
	} {
		w := newTown(Limits{Group: Limit{2, time.Minute}}, prompt)
		p := w.proc(0)
		p.ask("", 7, false)
		p.ask("", -5, false)
		p.ask("", -5, false)
		w.run(at(1100 * time.Millisecond))
		q := second(w, p)
		p.ask("", 7, false)
		w.run(w.now.Add(10 * time.Millisecond))
		q.ask("", 7, false)
		q.ask("", -5, false)
		w.run(time.Time{})
		if name != "with a clock far ahead" { // nobody knows when that was that it finds
			w.kept(t, 0)
		}
		if want := 6; len(w.calls) != want && (name != "after" || len(w.calls) != want-1) {
			t.Errorf("%s: %d calls", name, len(w.calls))
		}
	}
}

// TestPageHolds: a 429 that one process got keeps the others from the chat, and nobody for longer.
func TestPageHolds(t *testing.T) {
	w := newTown(Limits{}, prompt)
	p, q, r := w.proc(0), w.proc(0), w.proc(0)
	p.hold(7, at(time.Minute), start)
	w.run(at(time.Second))
	for _, other := range []*proc{q, r, p} {
		other.read()
		other.ask("", 7, false)
		other.ask("", 8, false)
	}
	w.run(time.Time{})
	w.kept(t, 0)
	for _, c := range w.calls {
		if from := c.seen.Sub(start); c.chat == 7 && (from < time.Minute || from > time.Minute+3*time.Second) || c.chat == 8 && from > 5*time.Second {
			t.Errorf("chat %d is called after %s", c.chat, from)
		}
	}
	if q.limiter.hold(7, w.now.Add(time.Second), w.now); len(w.calls) != 6 {
		t.Errorf("%d calls", len(w.calls))
	}
}

// TestPageForgets: it has what still counts, and nothing else.
func TestPageForgets(t *testing.T) {
	w := newTown(Limits{}, prompt)
	for range 5 {
		p := w.proc(0)
		for id := range int64(100) {
			p.ask("", id-50, false)
		}
		w.run(time.Time{})
		p.dead = true
	}
	w.run(w.now.Add(2 * time.Minute))
	p := w.proc(0)
	p.ask("", 1, false)
	w.run(time.Time{})
	if len(w.page) > 150 {
		t.Errorf("%s", w.page)
	}
	q := w.proc(0)
	if news, err := q.book.read([]byte("{"), w.revision+1, w.now, w.now, w.now); !news || err == nil || len(q.book.others) > 0 {
		t.Errorf("%t, %v", news, err)
	}
}

// TestPageIsAValue of the bus also when every call of a minute goes to another group.
func TestPageIsAValue(t *testing.T) {
	w := newTown(Limits{}, prompt)
	p, q := w.proc(0), w.proc(0)
	for id := range int64(1000) {
		p.ask("", -1_002_000_000_000-id, false)
		q.ask("", -1_003_000_000_000-id, false)
	}
	w.run(at(59 * time.Second))
	w.kept(t, 0)
	if len(w.calls) < 1700 || len(w.page) < 50_000 || len(w.page) > bus.MaxValue {
		t.Errorf("%d calls, %d bytes", len(w.calls), len(w.page))
	}
}

// TestTown drives random histories of several processes, of which some die: together they keep the limits of one.
func TestTown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(name string) Limit {
			return Limit{rapid.IntRange(1, 6).Draw(t, name), time.Duration(rapid.IntRange(1, 5).Draw(t, name+" s")) * time.Second}
		}
		took := map[string]*rapid.Generator[int]{"call": rapid.IntRange(0, 1200), "answer": rapid.IntRange(0, 1200), "page": rapid.IntRange(0, 200)}
		w := newTown(Limits{limit("chat"), limit("group"), limit("overall"), limit("edit"), limit("group edit")}, func(what string) time.Duration {
			return time.Duration(took[what].Draw(t, what)) * time.Millisecond
		})
		most := time.Duration(rapid.IntRange(0, 200).Draw(t, "clocks ms")) * time.Millisecond
		begin := func() *proc { return w.proc(time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, "skew"))) }
		alive := []*proc{begin(), begin()}
		one := func(t *rapid.T) *proc { return rapid.SampledFrom(alive).Draw(t, "process") }
		id := rapid.SampledFrom([]int64{1, 2, 3, -1, -2})
		asked := 0
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				one(t).ask(fmt.Sprint(asked), id.Draw(t, "chat"), rapid.Bool().Draw(t, "edit"))
				asked++
			},
			"leave": func(t *rapid.T) {
				p := one(t)
				p.look()
				if len(p.queued) > 0 {
					i := rapid.IntRange(0, len(p.queued)-1).Draw(t, "which")
					p.leave(p.queued[i], w.now)
					p.queued = slices.Delete(p.queued, i, i+1)
				}
			},
			"draft": func(t *rapid.T) {
				p := one(t)
				if tk, ok := p.trySpare(id.Draw(t, "chat"), rapid.Bool().Draw(t, "edit"), w.now); ok {
					p.queued = append(p.queued, tk)
				}
			},
			"hold": func(t *rapid.T) {
				one(t).hold(id.Draw(t, "chat"), w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "s"))*time.Second), w.now)
			},
			"read": func(t *rapid.T) { one(t).read() },
			"die": func(t *rapid.T) {
				p := one(t)
				p.dead = true
				alive[slices.Index(alive, p)] = begin()
			},
			"wait": func(t *rapid.T) {
				w.run(w.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond))
			},
			"": func(t *rapid.T) { w.kept(t, most) },
		})
		w.run(time.Time{})
		w.kept(t, most)
		for _, p := range alive {
			if len(p.queued)+len(p.waiting)+len(p.begun) > 0 || p.overall.flying != 0 {
				t.Fatalf("%d were never called, %d never told, %d fly", len(p.waiting), len(p.begun), p.overall.flying)
			}
			for _, c := range p.chats {
				if c.waiting != 0 || c.all.flying != 0 || c.group.flying != 0 || c.edits.flying != 0 {
					t.Fatalf("chat %d: %+v", c.id, c)
				}
			}
		}
	})
}
