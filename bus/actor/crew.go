package actor

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// laneID is what a lane works on: one part of one session.
type laneID struct {
	session session.ID
	part    string
}

// crew is the lanes of one session in this process. Those of a machine with parts take turns at looking and appending:
// many whose effects end at once would lose their appends to each other over and over. It is a courtesy and nothing
// more, as the compare-and-set decides: who holds the turn and stands still is not waited for. Nobody holds it while an
// effect runs.
type crew[S any] struct {
	lanes  map[string]*lane[S] // guarded by Actor.mu; by part; never empty
	turn   chan struct{}       // of size 1, full while a lane has the turn, served in order; nil for a machine without parts
	passed atomic.Uint64       // turns that have ended
}

// ring puts a bell into the lane of its part, and starts the lane if there is none. ctx ends when even running effects
// have to stop; draining is closed when nothing new is to be begun.
func (a *shell[S]) ring(ctx context.Context, draining <-chan struct{}, b bus.Bell) {
	s := b.Event().Session
	a.p.Hooks.Rang(b.Event(), b.Deliveries())
	part, err := a.part(b.Event())
	if err != nil {
		a.quarantine(s, err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return // not acked: it comes again, to somebody else
	}
	if why, ok := a.quarantined[s]; ok {
		if b.Event().Cursor > 0 {
			a.settled(s, b.Quarantine(why))
			return
		}
		// A timer: somebody wants it to be tried again, or it is time to. A machine that still panics gives it up once more.
		delete(a.quarantined, s)
		a.log.Warn("session tried again after its quarantine", "session", s, "reason", why)
	}
	c := a.crews[s]
	if c == nil {
		c = &crew[S]{lanes: make(map[string]*lane[S], 1)}
		if a.m.Part != nil {
			c.turn = make(chan struct{}, 1)
		}
		a.crews[s] = c
	}
	if l, ok := c.lanes[part]; ok {
		l.mail = append(l.mail, b)
		l.knock()
		return
	}
	l := &lane[S]{
		a: a, log: a.log, draining: draining, laneID: laneID{s, part}, crew: c,
		mail: []bus.Bell{b}, wake: make(chan struct{}, 1),
	}
	if part != "" {
		l.log = a.log.With("part", part)
	}
	c.lanes[part] = l
	a.running.Go(func() { l.live(ctx) })
}

// part is the part of its session that a bell's event belongs to.
func (a *shell[S]) part(ev envelope.Event) (part string, err error) {
	if a.m.Part == nil || ev.Cursor == 0 { // a timer is the session's
		return "", nil
	}
	err = a.guard(ev.Session, func() { part = a.m.Part(ev) })
	return part, err
}

// parts is what a backlog is told apart by. A machine that panics over an event does so again when that rings.
func (a *shell[S]) parts() func(envelope.Event) string {
	if a.m.Part == nil {
		return nil
	}
	return func(ev envelope.Event) string {
		part, _ := a.part(ev)
		return part
	}
}

// take empties the lane's mailbox. With leave, an empty one ends the lane: no bell can slip in between.
func (a *shell[S]) take(l *lane[S], leave bool) (mail []bus.Bell, left bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mail, l.mail = l.mail, nil
	if leave && len(mail) == 0 {
		delete(l.crew.lanes, l.part)
		if len(l.crew.lanes) == 0 {
			delete(a.crews, l.session)
		}
		return nil, true
	}
	return mail, false
}

// busy says whether any lane of the session works on the claim: who asks knows nothing of parts.
func (a *shell[S]) busy(ref bus.ClaimRef) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.crews[ref.Session]; c != nil {
		for _, l := range c.lanes {
			if l.works(ref.Claim) {
				return true
			}
		}
	}
	return false
}

func (a *shell[S]) nudge(ref bus.ClaimRef) { a.nudgeAll(ref.Session, nil) }

// nudgeAll tells the lanes of a session that a claim of theirs may be closed, but for the one that closed it.
func (a *shell[S]) nudgeAll(s session.ID, but *lane[S]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.crews[s]
	if c == nil {
		return
	}
	for _, part := range slices.Sorted(maps.Keys(c.lanes)) {
		if l := c.lanes[part]; l != but {
			l.nudged = true
			l.knock()
		}
	}
}

// enter waits for the lane's turn, and takes over the newest fold that the session's lanes have. It returns false when
// the turn could not be had; the lane goes on all the same. Whoever enters has to exit.
func (l *lane[S]) enter(ctx context.Context) (turn bool) {
	if l.crew.turn == nil {
		return false // it is alone
	}
	turn = l.queue(ctx)
	if at := l.a.folds.cached(l.session); at.cursor > l.at.cursor {
		l.at = at
	}
	return turn
}

// exit leaves the fold to the other lanes, and passes the turn on.
func (l *lane[S]) exit(turn bool) {
	if l.crew.turn == nil {
		return
	}
	l.a.folds.keep(l.session, &l.at)
	if turn {
		l.crew.passed.Add(1)
		<-l.crew.turn
	}
}

// patience is how long a lane waits while no turn ends. It is well below AckWait, and leaves time for a last word.
const patience = 500 * time.Millisecond

func (l *lane[S]) queue(ctx context.Context) bool {
	select {
	case l.crew.turn <- struct{}{}:
		return true
	default: // a ticker is only made by those who wait
	}
	look := time.NewTicker(patience)
	defer look.Stop()
	for {
		passed := l.crew.passed.Load()
		select { // one after the other: of two that are ready chance would take either
		case l.crew.turn <- struct{}{}:
			return true
		default:
		}
		if ctx.Err() != nil {
			return false
		}
		select {
		case l.crew.turn <- struct{}{}:
			l.turn()
			return true
		case <-ctx.Done():
			l.turn()
			return false
		case <-look.C:
			l.turn()
			if l.crew.passed.Load() == passed {
				return false
			}
			if time.Since(l.extended) >= extendEvery {
				l.extend() // the others go on, and so will this one
			}
		}
	}
}
