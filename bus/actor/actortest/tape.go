package actortest

import "sync"

// tape is a list of drawn decisions. Safe for concurrent use.
type tape struct {
	mu    sync.Mutex
	bytes []byte
}

// draw is the next decision; 0, nothing special, when the tape is used up.
func (t *tape) draw() byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.bytes) == 0 {
		return 0
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return b
}

// trouble is what may happen to one operation.
type trouble int

const (
	none      trouble = iota
	delayed           // the operation takes a while
	lostAck           // done, but the caller sees a timeout
	notDone           // not done, and the caller sees a timeout
	late              // the caller sees a timeout, and then it is done
	crashHere         // the worker dies before the operation
	crashDone         // the worker dies after it
	cutOff            // the worker answers nobody for a while, and goes on
	stopped           // the process stands still for a while, and goes on
	asked             // the worker is asked to stop
	full              // no room in the journal for a while
	away              // no server for a while
)

const troubles = 11 // kinds beside none

// trouble draws one: most bytes mean none.
func (t *tape) trouble() trouble {
	b := t.draw()
	if b < 128 {
		return none
	}
	return trouble(1 + int(b)%troubles)
}

func (t *tape) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = nil
}
