package delivery_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// world is one session, its journal with compare-and-set, two workers that run the machine in steps of one append or one
// effect, and a channel that remembers what arrived. All that a shell may get wrong is drawn: stale loads, crashes,
// acknowledgements that are lost, outcomes that nobody learns, clocks that jump.
type world struct {
	limits  delivery.Limits
	now     time.Time
	journal []envelope.Event
	workers [2]*worker
	sends   []send
	turn    int  // the last one that was drawn
	round   int  // the last draft's
	zombies bool // a living owner may be taken for gone

	states []delivery.State // after each event
	jsons  []string         // and their form at that time
}

type worker struct {
	name    string
	lives   int
	seen    int // events folded
	state   delivery.State
	mine    uint64
	gone    uint64
	outcome envelope.Body // of an effect, not appended yet
}

// send is one thing that arrived at the channel.
type send struct {
	item   string
	part   int
	claim  uint64
	number int
	repeat bool
	standing
}

func newWorld(zombies, resend bool, attempts int) *world {
	l := limits()
	l.ResendUnknown, l.Attempts = resend, attempts
	w := &world{limits: l, now: epoch, zombies: zombies}
	for i := range w.workers {
		w.workers[i] = &worker{}
		w.crash(i)
	}
	return w
}

func (w *world) crash(i int) {
	lives := w.workers[i].lives + 1
	w.workers[i] = &worker{name: fmt.Sprintf("w%d.%d", i, lives), lives: lives}
}

func (w *world) alive(name string) bool {
	return w.workers[0].name == name || w.workers[1].name == name
}

func (w *world) full() delivery.State {
	if len(w.states) == 0 {
		return delivery.State{}
	}
	return w.states[len(w.states)-1]
}

// append is what the journal does: it refuses unless the writer knew the last event.
func (w *world) append(seen int, b envelope.Body, cause string) (uint64, bool) {
	if seen != len(w.journal) {
		return 0, false
	}
	n := len(w.journal) + 1
	e := envelope.Event{
		ID: fmt.Sprintf("e%d", n), Session: home, Cursor: uint64(n), Prev: uint64(n - 1),
		Cause: cause, Time: w.now, Body: b,
	}
	w.journal = append(w.journal, e)
	s := w.full().Apply(e)
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	w.states = append(w.states, s)
	w.jsons = append(w.jsons, string(data))
	return e.Cursor, true
}

func (w *world) fact(b envelope.Body) { w.append(len(w.journal), b, "") }

func (w *world) load(i, upto int) {
	k := w.workers[i]
	for ; k.seen < upto; k.seen++ {
		k.state = k.state.Apply(w.journal[k.seen])
	}
}

func (w *world) ask(i int) machine.Step {
	k := w.workers[i]
	return k.state.Next(machine.View{Now: w.now, Worker: k.name, Mine: k.mine, Gone: k.gone}, w.limits)
}

// act is one step of a worker on what it has loaded. end draws what becomes of an effect.
func (w *world) act(i int, suspect bool, end func() outcome) machine.Step {
	k := w.workers[i]
	step := w.ask(i)
	switch step := step.(type) {
	case machine.Append:
		k.outcome = nil
		if cursor, ok := w.append(k.seen, step.Body, step.Cause); ok && step.Claim {
			k.mine = cursor
		}
	case machine.Perform:
		if k.outcome != nil {
			if _, ok := w.append(k.seen, k.outcome, ""); ok {
				k.outcome, k.mine = nil, 0
			}
			return step
		}
		w.perform(k, step, end())
	case machine.Held:
		k.outcome = nil
		if !w.alive(step.Worker) || suspect && w.zombies {
			k.gone = step.Claim
		}
	case machine.Wait, nil:
		k.outcome = nil
	}
	return step
}

type outcome int

const (
	sent          outcome = iota
	sentMore              // the first part arrived, there is another
	noRoom                // the channel was not called
	refused               // did not arrive, to be tried again
	failed                // did not arrive, for good
	cutAfter              // arrived, nobody knows
	cutBefore             // did not arrive, nobody knows
	diedAfterward         // arrived, and the worker has no outcome at all
	outcomes
)

func (w *world) perform(k *worker, step machine.Perform, end outcome) {
	head, _ := k.state.Head()
	ref := ref(head.ID, head.Attempt)
	ref.Part = head.Part
	if end == sentMore && head.Part > 1 {
		end = sent
	}
	if !w.now.Before(step.Deadline.Add(-w.limits.Grace)) { // the time of the send is over before it began
		end = refused
	}
	switch end {
	case sent, sentMore, cutAfter, diedAfterward:
		claim := w.journal[step.Claim-1].Body.(deliveryv1.Started)
		w.sends = append(w.sends, send{
			item: claim.Delivery, part: claim.Part, claim: step.Claim, number: claim.Attempt, repeat: claim.Repeat,
			standing: w.standing(step.Claim),
		})
	}
	switch end {
	case sent:
		k.outcome = deliveryv1.Sent{Ref: ref, Receipt: "r"}
	case sentMore:
		k.outcome = deliveryv1.Sent{Ref: ref, More: true, Receipt: "r"}
	case noRoom:
		k.outcome = deliveryv1.Deferred{Ref: ref, Until: w.now.Add(time.Second), Reason: "no room", Untried: true}
	case refused:
		k.outcome = deliveryv1.Deferred{Ref: ref, Until: w.now.Add(10 * time.Second), Reason: "busy"}
	case failed:
		k.outcome = deliveryv1.Failed{Ref: ref, Reason: "no"}
	case cutAfter, cutBefore:
		k.outcome = deliveryv1.Unknown{Ref: ref, Resend: w.limits.ResendUnknown}
	case diedAfterward:
		k.mine = 0
	}
}

// standing is what has become of a claim when its effect happens.
type standing string

const (
	open    standing = "open"
	closed  standing = "closed"
	deleted standing = "deleted" // nothing can call back a worker that is on its way to the channel
)

func (w *world) standing(claim uint64) standing {
	for _, e := range w.journal[claim:] {
		switch e.Body.(type) {
		case turnv1.SessionDeleted:
			return deleted
		case deliveryv1.Drafting, deliveryv1.Drafted:
		case deliveryv1.Event:
			return closed
		}
	}
	return open
}

// settle lets one worker run without faults until nothing is left to do. pause is how long it had to wait in all.
func (w *world) settle(t *rapid.T, end func() outcome) {
	w.crash(0)
	w.crash(1)
	for range 10_000 {
		w.load(0, len(w.journal))
		switch step := w.act(0, false, end).(type) {
		case nil:
			return
		case machine.Wait:
			if !step.Until.After(w.now) {
				t.Fatalf("waits for the past: %s, now %s", step.Until, w.now)
			}
			w.now = step.Until
		}
	}
	t.Fatalf("not settled: %+v", w.full())
}

// check reads the journal and the channel without the machine's help.
func (w *world) check(t *rapid.T, settled bool) {
	var queue []string // items not finished, in order
	at := map[string]int{}
	claims := map[uint64]string{}
	part, attempt, untried, open, mayBegin := 0, 0, 0, false, true
	again := func() { attempt, untried, open, mayBegin = 0, 0, false, true }
	next := func() { queue, part = queue[1:], 0; again() }
	prompts := prompts{of: map[string]string{}, shown: map[string]bool{}}
	var talk talk
	for _, e := range w.journal {
		at[e.ID] = int(e.Cursor)
		talk = talk.hears(e.Body)
		switch b := e.Body.(type) {
		case turnv1.SessionDeleted:
			queue, part = nil, 0
			again()
			prompts = prompts.none()
		case deliveryv1.Drafting, deliveryv1.Drafted:
		case deliveryv1.Started:
			if len(queue) == 0 || b.Delivery != queue[0] || b.Part != part || open || !mayBegin || b.Attempt != attempt+1 || b.Attempt-untried > w.limits.Attempts {
				t.Fatalf("event %d: %+v may not begin: open %v, attempt %d, queue %v", e.Cursor, b, open, attempt, queue)
			}
			attempt, open, mayBegin = b.Attempt, true, false
			claims[e.Cursor] = b.Delivery
		case deliveryv1.Event:
			ref := reflect.ValueOf(b).FieldByName("Ref").Interface().(deliveryv1.Ref)
			_, gaveUp := b.(deliveryv1.Failed)
			if len(queue) == 0 || ref.Delivery != queue[0] || ref.Part != part || ref.Attempt != attempt || !open && !gaveUp {
				t.Fatalf("event %d: %+v closes nothing: open %v, attempt %d, queue %v", e.Cursor, b, open, attempt, queue)
			}
			u, unknown := b.(deliveryv1.Unknown)
			d, deferred := b.(deliveryv1.Deferred)
			s, arrived := b.(deliveryv1.Sent)
			switch {
			case deferred && d.Untried:
				untried++
				fallthrough
			case deferred, unknown && u.Resend:
				open, mayBegin = false, true
			case arrived && s.More:
				part++
				again()
			default:
				prompts.left(ref.Delivery, arrived && s.Receipt != "")
				next()
			}
		default:
			if shows(e.Body) || talk.shows(e.Body) || prompts.settles(e.Body, queue, attempt > 0 || part > 0) {
				queue = append(queue, e.ID)
				prompts.queued(e)
			}
		}
	}
	if settled && len(queue) > 0 {
		t.Fatalf("never sent, failed or held: %v", queue)
	}
	w.checkSends(t, at, claims)
}

func (w *world) checkSends(t *rapid.T, at map[string]int, claims map[uint64]string) {
	used, arrived := map[uint64]bool{}, map[string]int{}
	latest := 0
	for _, s := range w.sends {
		if claims[s.claim] != s.item || used[s.claim] {
			t.Fatalf("%+v has no claim of its own", s)
		}
		used[s.claim] = true
		key := fmt.Sprint(s.item, "/", s.part)
		if before, ok := arrived[key]; ok && s.number > before && !s.repeat {
			t.Fatalf("%+v is not marked as a repeat of attempt %d", s, before)
		}
		arrived[key] = max(arrived[key], s.number)
		if w.zombies {
			continue // what a worker does after it was taken for gone cannot be called back
		}
		if s.standing == deleted {
			continue
		}
		if s.standing == closed {
			t.Fatalf("%+v was sent after its attempt was closed", s)
		}
		if at[s.item] < latest {
			t.Fatalf("%+v arrived after a later item (event %d)", s, latest)
		}
		latest = at[s.item]
	}
}

// prompts are the questions of a journal, read without the machine's help.
type prompts struct {
	of    map[string]string // approvals by the event that is shown about them; "?" before the id of one that asks
	shown map[string]bool
}

func (p prompts) none() prompts { return prompts{of: map[string]string{}, shown: map[string]bool{}} }

func (p prompts) queued(e envelope.Event) {
	switch b := e.Body.(type) {
	case approvalv1.Requested:
		p.of[e.ID] = "?" + b.Approval
	case approvalv1.Decided:
		p.of[e.ID] = b.Approval
	case approvalv1.Expired:
		p.of[e.ID] = b.Approval
	case approvalv1.Voided:
		p.of[e.ID] = b.Approval
	case approvalv1.Cancelled:
		p.of[e.ID] = b.Approval
	}
}

// left is an item that is over; arrived with a receipt.
func (p prompts) left(item string, arrived bool) {
	approval, asks := strings.CutPrefix(p.of[item], "?")
	if approval != "" && arrived {
		p.shown[approval] = asks
	}
}

// settles says that a question is shown which the end of its turn makes void.
func (p prompts) settles(b envelope.Body, queue []string, begun bool) bool {
	c, ok := b.(approvalv1.Cancelled)
	return ok && (p.shown[c.Approval] || begun && len(queue) > 0 && strings.TrimPrefix(p.of[queue[0]], "?") == c.Approval)
}

// talk is what the running turn's model calls show while they speak.
type talk struct {
	turn   string
	rounds []int // with a draft
	steps  bool  // the last event is a step of such a round
}

func (k talk) hears(b envelope.Body) talk {
	k.steps = false
	switch b := b.(type) {
	case turnv1.Started:
		return talk{turn: b.Turn}
	case deliveryv1.Drafting:
		if b.Turn == k.turn && k.turn != "" && len(k.rounds) == 0 {
			k.rounds = append(slices.Clip(k.rounds), b.Round)
		}
	case deliveryv1.Drafted:
		if i := slices.Index(k.rounds, b.Round); b.Turn == k.turn && i >= 0 && b.Receipt == "" {
			k.rounds = slices.Delete(slices.Clone(k.rounds), i, i+1)
		}
	case turnv1.Stepped:
		if i := slices.Index(k.rounds, b.Round); b.Turn == k.turn && i >= 0 {
			k.rounds, k.steps = slices.Delete(slices.Clone(k.rounds), i, i+1), true
		}
	case turnv1.SessionDeleted:
		return talk{}
	}
	return k
}

func (k talk) shows(b envelope.Body) bool {
	_, ok := b.(turnv1.Stepped)
	return ok && k.steps
}

func shows(b envelope.Body) bool {
	switch b := b.(type) {
	case turnv1.Completed:
		return b.Text != ""
	case turnv1.Cancelled:
		return len(b.Answers) > 0
	case turnv1.SessionReset:
		return b.Text != ""
	case turnv1.SessionCompacted:
		return b.By != ""
	case turnv1.Failed, turnv1.SessionConfigured, turnv1.CompactionFailed,
		approvalv1.Requested, approvalv1.Decided, approvalv1.Expired, approvalv1.Voided:
		return true
	}
	return false
}
