package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// lane works on one part of one session. All fields but those marked belong to its goroutine.
type lane[S any] struct {
	laneID
	a        *shell[S]
	log      *slog.Logger
	draining <-chan struct{}
	crew     *crew[S]

	mail   []bus.Bell    // guarded by a.mu
	nudged bool          // guarded by a.mu: somebody says that our claim was closed
	wake   chan struct{} // of size 1: mail or a nudge came
	claim  atomic.Uint64 // the claim being worked on; claiming while its append is under way

	held    []bus.Bell // not yet settled; their events are part of the fold or of upto
	upto    uint64     // newest cursor that is known of
	blind   bool       // a bell without an event is in hand: only the journal knows what is new
	at      folded[S]
	mine    envelope.Event // the claim that this run appended, while open; else zero
	claimed time.Time      // just before it was appended
	gone    uint64         // a claim whose owner has let go
	tries   int            // conflicts in a row
	asked   time.Time      // the machine's clock when it was asked last
	owed    error          // why news is not read, or what the machine wants beside the claim not stored; nil when all is

	extended time.Time // when the server was last told that the bells in hand are worked on
}

func (l *lane[S]) isDraining() bool {
	select {
	case <-l.draining:
		return true
	default:
		return false
	}
}

// claiming marks a claim whose append is under way, so that an ask is not answered "free" in between.
const claiming = ^uint64(0)

func (l *lane[S]) works(claim uint64) bool {
	c := l.claim.Load()
	return c == claim || c == claiming
}

func (l *lane[S]) knock() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// turn lets a simulation say when the lane goes on.
func (l *lane[S]) turn() {
	l.a.p.Seams.turn(Goroutine{Kind: "lane", Session: l.session, Part: l.part})
}

// live runs the lane until it has settled all that it holds and no mail is left.
func (l *lane[S]) live(ctx context.Context) {
	l.turn()
	l.at = l.a.folds.cached(l.session)
	l.extended = time.Now()
	for {
		mail, left := l.a.take(l, true)
		if left {
			return
		}
		l.accept(mail)
		l.work(ctx)
		l.held, l.mine, l.gone, l.tries, l.owed = nil, envelope.Event{}, 0, 0, nil
		l.claim.Store(0)
		l.a.folds.keep(l.session, &l.at)
	}
}

// accept takes bells in hand, and folds what directly follows.
func (l *lane[S]) accept(mail []bus.Bell) {
	for _, b := range mail {
		l.held = append(l.held, b)
		ev := b.Event()
		l.upto = max(l.upto, ev.Cursor)
		if ev.Cursor == 0 {
			l.blind = true
			continue
		}
		_ = l.guard(func() { l.at, _ = l.a.folds.advance(l.at, ev) }) // a panic comes again in refresh
	}
}

// refresh folds up to the newest known cursor. It returns the news that it had to read.
func (l *lane[S]) refresh(ctx context.Context) (news []envelope.Event, err error) {
	if l.blind {
		last, err := l.a.p.Journal.Last(ctx, l.session)
		if err != nil {
			return nil, err
		}
		l.upto, l.blind = max(l.upto, last), false
	}
	perr := l.guard(func() { l.at, news, err = l.a.folds.load(ctx, l.session, l.at, l.upto) })
	return news, errors.Join(perr, err)
}

// reload folds up to the last event that the journal has.
func (l *lane[S]) reload(ctx context.Context) error {
	l.blind = true
	_, err := l.refresh(ctx)
	return err
}

func (l *lane[S]) next() (machine.Step, error) { return l.nextOf(l.at.state) }

func (l *lane[S]) nextOf(state S) (step machine.Step, err error) {
	l.asked = l.a.p.Seams.now()
	v := machine.View{
		Now: l.asked, Session: l.session, Part: l.part, Worker: l.a.p.Instance, Mine: l.mine.Cursor, Gone: l.gone,
	}
	err = l.guard(func() {
		step = l.a.m.Next(state, v)
		if a, ok := step.(machine.Append); ok && a.Claim && a.Beside {
			panic("it asks for a claim beside a claim: " + a.Body.EventType())
		}
	})
	return step, err
}

// panicked is what a machine's panic becomes: that session is quarantined, the others go on.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("the machine panicked: %v", p.value) }

func (l *lane[S]) guard(f func()) error { return l.a.guard(l.session, f) }

func (a *shell[S]) guard(s session.ID, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("panic in a machine or its effect", "session", s, "panic", v, "stack", string(debug.Stack()))
			err = panicked{v}
		}
	}()
	f()
	return nil
}

// work goes from step to step until the bells in hand are settled or left to somebody else.
func (l *lane[S]) work(ctx context.Context) {
	for {
		step, end, err := l.look(ctx)
		if err != nil {
			l.trouble(ctx, err)
			return
		}
		switch step := step.(type) {
		case nil:
			l.quiescent()
			return
		case machine.Append: // it was tried
		case machine.Perform:
			end = l.perform(ctx, step)
		case machine.Held:
			end = l.meet(ctx, step)
		case machine.Wait:
			l.wait(ctx, step)
			return
		}
		if end {
			return
		}
		if mail, _ := l.a.take(l, false); len(mail) > 0 {
			l.accept(mail)
		}
		if time.Since(l.extended) >= extendEvery {
			l.extend() // many short steps last as long as a long one
		}
	}
}

// look folds what is known and asks for the step; an event to append is appended in the same turn. end says that the
// lane's work has to end.
func (l *lane[S]) look(ctx context.Context) (step machine.Step, end bool, err error) {
	turn := l.enter(ctx)
	defer func() { l.exit(turn) }()
	if _, err := l.refresh(ctx); err != nil {
		return nil, true, err
	}
	step, err = l.ask(ctx)
	if _, begins := step.(machine.Perform); err == nil && !begins {
		err = l.owed // the step is only supposed
	}
	if err != nil {
		return nil, true, err
	}
	if a, ok := step.(machine.Append); ok {
		end = l.decide(ctx, a)
	}
	return step, end, nil
}

// extendEvery is how often the server is told that bells are worked on.
const extendEvery = bus.AckWait / 3

// extend keeps the bells in hand from being delivered again.
func (l *lane[S]) extend() {
	l.extended = time.Now()
	for _, b := range l.held {
		l.a.settled(l.session, b.InProgress())
	}
}

const (
	maxConflicts = 32
	maxFailures  = 5
)

// decide appends one event that the machine asked for. It returns true when the lane's work has to end.
func (l *lane[S]) decide(ctx context.Context, step machine.Append) (end bool) {
	if step.Claim && l.isDraining() {
		l.nakAll(0) // somebody else, now
		return true
	}
	if why := l.a.whyQuarantined(l.session); why != "" { // another lane's machine panicked
		l.giveUp(why)
		return true
	}
	ev := l.decided(step)
	l.a.p.Journal.Stamp(&ev)
	if step.Claim {
		l.claim.Store(claiming)
		l.claimed = time.Now()
	}
	stored, err := l.append(ctx, ev, appendRetries)
	if err != nil {
		l.trouble(ctx, err)
		return true
	}
	if !stored.done {
		l.claim.Store(0)
		return l.lost()
	}
	l.tries = 0
	if step.Claim {
		l.mine, l.gone = stored.event, 0
		l.claim.Store(stored.event.Cursor)
	}
	l.tell(step, stored.event.Cursor)
	return false
}

// tell nudges the worker whose claim was closed. A loss is made good by the owner's next append. The other lanes of this
// process look as well, whoever is named: that costs a read, and an event may close more claims than one.
func (l *lane[S]) tell(step machine.Append, cursor uint64) {
	if step.Tell == "" {
		return
	}
	l.a.nudgeAll(l.session, l)
	if step.Tell != l.a.p.Instance {
		_ = l.a.p.Peers.Nudge(step.Tell, bus.ClaimRef{Session: l.session, Claim: cursor})
	}
}

// decided is the event that the machine asks for. Its time is the machine's clock when it decided, so that it can be decided
// again later.
func (l *lane[S]) decided(step machine.Append) envelope.Event {
	trace, waited := l.trace()
	return envelope.Event{
		Session: l.session, Prev: l.at.cursor, Cause: step.Cause, Body: step.Body, Trace: trace, Time: l.asked, Rules: l.rules(),
		Origin: envelope.Origin{Waited: waited},
	}
}

// rules is the digest of what the machine decides by here.
func (l *lane[S]) rules() string {
	if l.a.m.Rules == nil {
		return ""
	}
	return l.a.m.Rules(l.session)
}

// trace is the traceparent that the newest bell in hand carries. waited says that it has rung before, or long ago: what it
// leads to now is no part of what happened then.
func (l *lane[S]) trace() (parent string, waited bool) {
	for _, v := range slices.Backward(l.held) {
		if ev := v.Event(); ev.Trace != "" {
			return ev.Trace, v.Deliveries() > 1 || l.asked.Sub(ev.Time) > bus.AckWait
		}
	}
	return "", false
}

// lost counts a compare-and-set that was lost to somebody else's event.
func (l *lane[S]) lost() (end bool) {
	if l.tries++; l.tries < maxConflicts {
		return false
	}
	l.nakAll(l.retryDelay(l.tries - maxConflicts))
	return true
}

type stored struct {
	done  bool // the event is in the journal, and in the fold
	event envelope.Event
}

// append stores ev, whose Prev is the fold's cursor. A conflict folds the news, and finds the own id in it if an earlier
// attempt was stored and its ack lost. Trouble on the way is retried with the same id, as nobody knows what became of it.
func (l *lane[S]) append(ctx context.Context, ev envelope.Event, retries int) (stored, error) {
	for try := 0; ; try++ {
		cursor, err := l.a.p.Journal.Append(ctx, ev)
		if err == nil {
			ev.Cursor = cursor
			l.upto = max(l.upto, cursor)
			perr := l.guard(func() { l.at, _ = l.a.folds.advance(l.at, ev) })
			return stored{true, ev}, perr
		}
		if c, ok := errors.AsType[*bus.Conflict](err); ok {
			return l.conflicted(ctx, ev, c)
		}
		if !retryable(err) || try == retries || ctx.Err() != nil {
			return stored{}, err
		}
		l.log.Warn("append is tried again", "session", l.session, "type", ev.Type(), "error", err)
		if !l.sleep(ctx, l.retryDelay(try)) {
			return stored{}, err
		}
	}
}

const appendRetries = 4

func retryable(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Timeout || k == fault.Unavailable
}

func (l *lane[S]) conflicted(ctx context.Context, ev envelope.Event, c *bus.Conflict) (stored, error) {
	last := c.Last
	if !c.Known {
		var err error
		if last, err = l.a.p.Journal.Last(ctx, l.session); err != nil {
			return stored{}, err
		}
	}
	if last < l.newest() {
		return stored{}, l.ahead(ctx)
	}
	l.upto = last
	news, err := l.refresh(ctx)
	if err != nil {
		return stored{}, err
	}
	for _, n := range news {
		if n.ID == ev.ID {
			ev.Cursor = n.Cursor
			l.a.p.Hooks.Appended(ev, l.asked, nil) // its ack was lost
			return stored{true, n}, nil
		}
	}
	return stored{}, nil
}

// newest is the cursor of the last event that this lane has folded or has a bell of.
func (l *lane[S]) newest() uint64 {
	newest := l.at.cursor
	for _, b := range l.held {
		newest = max(newest, b.Event().Cursor)
	}
	return newest
}

// ahead waits a moment: the journal's leader has not come as far as what we know. On a cluster a follower may have stored an event, and
// deliver it, before the leader has. Going back to what the leader knows would be a fold without the bell in hand, and an ack of
// it. A journal that has really lost its end (another one was restored) is seen when this goes on: the fold is then made anew, and
// fails as long as a bell is of what is gone.
func (l *lane[S]) ahead(ctx context.Context) error {
	if l.tries+1 >= maxConflicts {
		l.a.folds.forget(l.session)
		l.at = folded[S]{}
	}
	if !l.sleep(ctx, min(aheadFirst<<min(l.tries, 5), aheadLast)) {
		return context.Cause(ctx)
	}
	return nil
}

const (
	aheadFirst = time.Millisecond
	aheadLast  = 20 * time.Millisecond
)

func (l *lane[S]) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	defer l.turn()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
