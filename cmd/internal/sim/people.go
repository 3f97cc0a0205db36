package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// sessions are where people write: two that are pushed to, one that is looked at.
var sessions = []session.ID{"main.http.web.ann", "main.http.web.bob", "main.terminal.local.default"}

// Act is something that a person does at a time.
type Act struct {
	Number  int // in its plan: the key of what is written
	At      time.Duration
	Session session.ID
	Text    string
	Edits   int // how many acts before it is the message that it edits; 0: none
	Twice   bool
}

func (a Act) String() string { return fmt.Sprintf("%q@%v", a.Text, a.At.Round(time.Millisecond)) }

func newActs(r *rand.Rand, n int, until time.Duration) []Act {
	var acts []Act
	open := sessions[:1+r.IntN(len(sessions))]
	commands := []string{"/stop", "/stop", "/status", "/new", "/new keep", "/compact", "/queue steer", "/queue collect", "/queue interrupt", "/queue followup"}
	hurry := r.IntN(3) == 0
	for i := range n {
		a := Act{At: time.Duration(r.Int64N(int64(until))), Session: open[r.IntN(len(open))], Text: fmt.Sprintf("message %d", i), Twice: r.IntN(8) == 0}
		if hurry { // many at once
			a.At /= 10
		}
		switch r.IntN(8) {
		case 0:
			a.Text = commands[r.IntN(len(commands))]
		case 1:
			a.Edits = 1 + r.IntN(4)
		}
		acts = append(acts, a)
	}
	slices.SortStableFunc(acts, func(a, b Act) int { return int(a.At - b.At) })
	for i := range acts {
		acts[i].Number = i
	}
	return acts
}

// outside is everybody and everything that the services deal with, and what they know of it.
type outside struct {
	w        *world
	receipts map[string]bool               // ids of what people know to be taken in
	wanted   map[string]bool               // ids of what people want to be taken in
	answers  map[string]messagev1.Decision // what people have said to approvals, by id of the decision
	landed   map[string][]landing          // effects of calls, by session, turn and call
	arrived  map[session.ID][]arrivalOf    // what a push channel has shown
	shown    map[string]map[string]bool    // by "turn/round/attempt": ids of messages that the model was shown
	coming   int                           // what people are about to do
}

func newOutside(w *world) *outside {
	return &outside{
		w: w, receipts: map[string]bool{}, wanted: map[string]bool{}, answers: map[string]messagev1.Decision{},
		landed: map[string][]landing{}, arrived: map[session.ID][]arrivalOf{}, shown: map[string]map[string]bool{},
	}
}

// the people. boss and local may decide.
const (
	boss     = "http:boss"
	local    = "local"
	stranger = "http:eve"
)

// later has a person do something in a while.
func (o *outside) later(d time.Duration, what string, do func()) {
	o.coming++
	o.w.loom.after(d, nil, what, 0, func() {
		o.coming--
		do()
	})
}

// act carries an act of the plan out.
func (o *outside) act(a Act) {
	in := thread.Inbound{From: messagev1.Sender{ID: boss}, Text: a.Text}
	if a.Edits > 0 {
		in.Edits = thread.MessageID(a.Session, fmt.Sprint("act", a.Number-a.Edits))
	}
	o.write(a.Session, fmt.Sprint("act", a.Number), in)
	if a.Twice { // an impatient finger, or a client that was started again
		o.later(o.w.loom.between(time.Millisecond, time.Minute), "write again", func() { o.write(a.Session, fmt.Sprint("act", a.Number), in) })
	}
}

// heard is what people do about what happens.
func (o *outside) heard(e envelope.Event) {
	b, ok := e.Body.(approvalv1.Requested)
	if !ok {
		return
	}
	r := o.w.fate("decides", b.Approval)
	for i := range r.IntN(4) {
		from, text := boss, "/approve "+b.Approval
		switch r.IntN(10) {
		case 0, 1, 2:
			text = "/deny " + b.Approval + " because"
		case 3:
			from = stranger
		case 4:
			text += " always"
		case 5:
			from = local
		}
		o.later(between(r, 100*time.Millisecond, 4*time.Minute), "decide", func() {
			o.write(e.Session, fmt.Sprint("decides", b.Approval, i), thread.Inbound{From: messagev1.Sender{ID: from}, Text: text})
		})
	}
}

// write hands something in at one of the processes, and again until there is a receipt, as every client does.
func (o *outside) write(s session.ID, key string, in thread.Inbound) {
	id := thread.MessageID(s, key)
	o.wanted[id] = true
	if d, ok := thread.Admit(in, thread.DefaultLimits()).(messagev1.Decision); ok {
		o.answers[id] = d
	}
	o.later(o.w.loom.between(time.Millisecond, 20*time.Millisecond), "submit", func() { o.submit(s, key, in, 0) })
}

const patience = 200

func (o *outside) submit(s session.ID, key string, in thread.Inbound, tries int) {
	w := o.w
	again := func() {
		if tries >= patience {
			w.wrong("nobody takes in what %s writes to %s", in.From.ID, s)
			return
		}
		o.later(w.loom.between(50*time.Millisecond, 3*time.Second), "submit", func() { o.submit(s, key, in, tries+1) })
	}
	p := w.processes[w.loom.rng.IntN(len(w.processes))]
	l := p.life
	if l == nil || !l.connected() || l.frozen > w.loom.now() {
		again()
		return
	}
	body := thread.Admit(in, thread.DefaultLimits())
	state, prev := w.server.threads[s], w.server.last[s]
	e := envelope.Event{
		ID: thread.MessageID(s, key), Session: s, Key: key, Source: "intake/" + l.id, Time: l.clock().UTC().Round(0), Prev: prev, Body: body,
	}
	if _, known := state.Find(e.ID); known {
		o.receipts[e.ID] = true
		return
	}
	if why := refuses(state, prev, body); why != "" {
		delete(o.wanted, e.ID)
		return
	}
	o.later(l.latency(), "admit", func() { // the session may have news by then
		if l.dead.Load() || !l.connected() {
			again()
			return
		}
		e.Time = l.clock().UTC().Round(0)
		_, err := w.server.append(e)
		if _, lost := asConflict(err); err != nil || l.lost() {
			if lost {
				o.submit(s, key, in, tries+1)
				return
			}
			again()
			return
		}
		o.receipts[e.ID] = true
	})
}

// refuses is what intake does not take in behind a fold.
func refuses(s thread.State, cursor uint64, body messagev1.Event) string {
	switch b := body.(type) {
	case messagev1.Edited:
		if it, ok := s.Find(b.Message); !ok || it.Status == thread.Refused || it.Status == thread.Done {
			return "no such message"
		}
	case messagev1.Control:
		if cursor == 0 && (b.Verb == messagev1.Stop || b.Verb == messagev1.New) {
			return "no session"
		}
	case messagev1.Decision:
		if cursor == 0 {
			return "no session"
		}
	case messagev1.Received, messagev1.Refused, messagev1.Reacted, messagev1.Quarantined, messagev1.PermissionAnswer:
	}
	return ""
}

func asConflict(err error) (*bus.Conflict, bool) {
	c, ok := err.(*bus.Conflict) //nolint:errorlint // it is the journal's own
	return c, ok
}
