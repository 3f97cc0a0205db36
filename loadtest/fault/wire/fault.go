package wire

import (
	"fmt"
	"strings"
	"time"
)

// Way is what happens to one direction; the zero value lets everything pass.
type Way struct {
	Cut   bool
	Delay time.Duration
	Slow  int // bytes a second; 0: as fast as it goes
}

// Fault is what happens to a link; the zero value is none.
type Fault struct {
	Up, Down Way
	Refuse   bool // new connections
}

// Cut is both ways cut.
func Cut() Fault { return Fault{Up: Way{Cut: true}, Down: Way{Cut: true}} }

// Late is both ways delayed.
func Late(d time.Duration) Fault { return Fault{Up: Way{Delay: d}, Down: Way{Delay: d}} }

// Slow is both ways throttled.
func Slow(perSecond int) Fault { return Fault{Up: Way{Slow: perSecond}, Down: Way{Slow: perSecond}} }

func (w Way) String() string {
	switch {
	case w.Cut:
		return "cut"
	case w.Delay > 0 && w.Slow > 0:
		return fmt.Sprintf("%s late, %d B/s", w.Delay, w.Slow)
	case w.Delay > 0:
		return w.Delay.String() + " late"
	case w.Slow > 0:
		return fmt.Sprintf("%d B/s", w.Slow)
	}
	return "free"
}

func (f Fault) String() string {
	var parts []string
	switch zero := (Way{}); {
	case f.Up == f.Down && f.Up != zero:
		parts = append(parts, f.Up.String())
	default:
		if f.Up != zero {
			parts = append(parts, "up "+f.Up.String())
		}
		if f.Down != zero {
			parts = append(parts, "down "+f.Down.String())
		}
	}
	if f.Refuse {
		parts = append(parts, "refused")
	}
	if len(parts) == 0 {
		return "free"
	}
	return strings.Join(parts, ", ")
}
