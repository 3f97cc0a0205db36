package actor

import (
	"math/rand/v2"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Seams are where others than the machine that the process runs on say what time it is, and in a simulation what chance and the
// scheduler do. The zero value is that machine.
type Seams struct {
	// Now is the clock by which events, claims and waits are dated, which all workers should share: bus.Conn.Now. It may be
	// stepped. How long something takes is never measured with it. nil: time.Now.
	Now func() time.Time
	// Rand is chance, in [0, 1): the jitter of delays. nil: math/rand.
	Rand func() float64
	// Turn is called by each goroutine of the actor when it begins and whenever it has waited, before it touches what
	// goroutines share: whoever lets them return one by one decides in which order everything happens. It is called under no
	// lock, but perhaps with the turn of a session (crew). nil: they go on.
	Turn func(Goroutine)
}

// Goroutine names one goroutine of an actor among those that live at a time.
type Goroutine struct {
	Kind    string // "lane", "effect", "echo", "saver"
	Session session.ID
	Part    string
	Cursor  uint64 // of an effect its claim, of an echo its event
}

func (s Seams) turn(g Goroutine) {
	if s.Turn != nil {
		s.Turn(g)
	}
}

// now is the time as events have it.
func (s Seams) now() time.Time {
	if s.Now != nil {
		return s.Now().UTC().Round(0)
	}
	return time.Now().UTC().Round(0)
}

func (s Seams) since(t time.Time) time.Duration { return s.now().Sub(t) }

func (s Seams) until(t time.Time) time.Duration { return t.Sub(s.now()) }

func (s Seams) rand() float64 {
	if s.Rand != nil {
		return s.Rand()
	}
	return rand.Float64()
}
