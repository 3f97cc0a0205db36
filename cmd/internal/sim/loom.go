package sim

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
)

// loom runs one occurrence after the other. Everything that goes on is an occurrence with a time of its own, drawn from the
// seed: a message that arrives, an answer that comes back, a goroutine of an actor that is let go on, a person who writes. While
// one happens, all goroutines stand still but the one that it lets go on, and that until it waits for the next.
type loom struct {
	rng   *rand.Rand
	trace *trace
	began time.Time
	queue occurrences
	order uint64 // of occurrences at one time
	steps int

	alarm *time.Timer
	knock chan struct{} // of size 1: something has come in

	mu   sync.Mutex
	in   []arrival // guarded by mu; what goroutines have asked for since the last look
	over bool      // guarded by mu; nothing is taken in any more
}

// occurrence is something that happens at a time.
type occurrence struct {
	at    time.Duration // since the beginning
	order uint64
	what  string // a constant
	life  *life  // of whose process it is a part; nil: of the world
	n     uint64 // a cursor or the like, for the trace
	do    func()
}

// arrival is what a goroutine asks for: a call or a message (do is nil for neither), or to go on.
type arrival struct {
	life  *life
	what  string
	who   actor.Goroutine // of one that wants to go on
	turn  bool
	waits bool // the goroutine that asks for it stands still until it is done
	take  func()
}

func newLoom(seed uint64, t *trace) *loom {
	l := &loom{
		rng: rand.New(rand.NewPCG(seed, 0x6c6f6f6d)), trace: t, began: time.Now(), knock: make(chan struct{}, 1),
		alarm: time.NewTimer(time.Hour),
	}
	l.alarm.Stop()
	return l
}

func (l *loom) now() time.Duration { return time.Since(l.began) }

// after has something happen in a while. Only what runs by the loom may call it.
func (l *loom) after(d time.Duration, life *life, what string, n uint64, do func()) {
	l.order++
	heap.Push(&l.queue, occurrence{at: l.now() + max(d, 1), order: l.order, what: what, life: life, n: n, do: do})
}

// ask hands something in from a goroutine; the loom takes it once all stand still.
func (l *loom) ask(a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.in = append(l.in, a)
	select {
	case l.knock <- struct{}{}:
	default:
	}
}

// gather takes in what goroutines have asked for. What one goroutine did comes in its order; of those that want to go on,
// which the runtime has woken in any order, the names decide.
func (l *loom) gather() {
	l.mu.Lock()
	in := l.in
	l.in = nil
	l.mu.Unlock()
	if len(in) > 1 {
		slices.SortStableFunc(in, compare)
	}
	waiting := 0
	for _, a := range in {
		if a.waits {
			waiting++
		}
		a.take()
	}
	if waiting > 1 {
		panic("two goroutines went on at the same time: one of the shell's waits without asking for its turn")
	}
}

func compare(a, b arrival) int {
	if a.turn != b.turn {
		if b.turn {
			return -1
		}
		return 1
	}
	if !a.turn {
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.life.id, b.life.id), cmp.Compare(a.what, b.what), cmp.Compare(a.who.Kind, b.who.Kind),
		cmp.Compare(a.who.Session, b.who.Session), cmp.Compare(a.who.Part, b.who.Part), cmp.Compare(a.who.Cursor, b.who.Cursor),
	)
}

// run lets things happen until over says that it is enough, limit occurrences have happened, or nothing can happen before until.
func (l *loom) run(limit int, until time.Duration, over func() bool) {
	for {
		synctest.Wait()
		l.gather()
		if l.steps >= limit || over() {
			return
		}
		at := until
		if len(l.queue) > 0 {
			at = min(at, l.queue[0].at)
		}
		if d := at - l.now(); d > 0 {
			l.alarm.Reset(d)
			select {
			case <-l.alarm.C:
			case <-l.knock:
			}
			l.alarm.Stop()
			continue
		}
		if len(l.queue) == 0 || l.queue[0].at > until {
			return
		}
		o := heap.Pop(&l.queue).(occurrence) //nolint:forcetypeassert // nothing else is pushed
		if o.life != nil {
			if frozen := o.life.frozen - l.now(); frozen > 0 { // the process stands still
				l.after(frozen+l.short(), o.life, o.what, o.n, o.do)
				continue
			}
		}
		l.steps++
		l.trace.note(l.now(), o)
		o.do()
	}
}

// short is how long a goroutine waits for its processor.
func (l *loom) short() time.Duration { return time.Duration(1 + l.rng.Int64N(40_000)) }

// chance is true once in n times.
func (l *loom) chance(p float64) bool { return l.rng.Float64() < p }

// between is a time from a to b, short ones as often as long ones.
func (l *loom) between(a, b time.Duration) time.Duration { return between(l.rng, a, b) }

func between(r *rand.Rand, a, b time.Duration) time.Duration {
	x := math.Log(float64(a)) + r.Float64()*(math.Log(float64(b))-math.Log(float64(a)))
	return time.Duration(math.Exp(x)) + time.Duration(r.Int64N(1000))
}

// occurrences are a heap, the next one first.
type occurrences []occurrence

func (q occurrences) Len() int { return len(q) }
func (q occurrences) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q occurrences) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *occurrences) Push(x any)   { *q = append(*q, x.(occurrence)) } //nolint:forcetypeassert // as above

// Pop is heap.Interface's.
func (q *occurrences) Pop() any {
	old := *q
	n := len(old) - 1
	o := old[n]
	old[n] = occurrence{}
	*q = old[:n]
	return o
}
