package sim

import (
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// course is what became of a call.
type course struct {
	asked      bool // by the model
	tool       string
	awaiting   bool
	dispatched bool
	starts     map[uint64]callv1.Started // by cursor
	outcome    callv1.Outcome            // "": none
	denied     bool
	over       bool // its turn has ended
}

func (x *course) String() string {
	return fmt.Sprintf("was asked for: %v, awaits: %v, dispatched: %v, denied: %v, started: %d, outcome: %q, its turn is over: %v",
		x.asked, x.awaiting, x.dispatched, x.denied, len(x.starts), x.outcome, x.over)
}

// decidable says that nothing was decided about it yet, and something may be.
func (x *course) decidable() bool { return x.asked && !x.over && !x.dispatched && !x.denied }

// courses are those of one session.
type courses struct {
	*checker
	s     session.ID
	all   map[string]*course
	order []string
	turns map[string][]*course
}

// calls: each is decided once and ends once; nothing starts after its end or its turn's; what may happen once does not happen
// twice.
func (c *checker) calls(s session.ID, events []envelope.Event) {
	cs := &courses{checker: c, s: s, all: map[string]*course{}, turns: map[string][]*course{}}
	for _, e := range events {
		switch b := e.Body.(type) {
		case turnv1.Stepped:
			cs.stepped(b)
		case turnv1.Completed:
			cs.over(b.Turn)
		case turnv1.Failed:
			cs.over(b.Turn)
		case turnv1.Cancelled:
			cs.over(b.Turn)
		case callv1.Event:
			cs.call(e, b)
		}
	}
	for _, k := range cs.order {
		cs.effects(k, cs.all[k])
		cs.ends(k, cs.all[k])
	}
}

func (cs *courses) of(turn, call string) *course {
	k := callKey(cs.s, turn, call)
	if cs.all[k] == nil {
		cs.all[k] = &course{starts: map[uint64]callv1.Started{}}
		cs.order = append(cs.order, k)
	}
	return cs.all[k]
}

func (cs *courses) stepped(b turnv1.Stepped) {
	for _, k := range b.Calls {
		if k.Refusal == "" && k.Answer == "" {
			x := cs.of(b.Turn, k.ID)
			x.asked, x.tool = true, k.Tool
			cs.turns[b.Turn] = append(cs.turns[b.Turn], x)
		}
	}
}

func (cs *courses) over(turn string) {
	for _, x := range cs.turns[turn] {
		x.over = true
	}
}

func (cs *courses) call(e envelope.Event, b callv1.Event) {
	must := func(ok bool, x *course) {
		if !ok {
			cs.wrong(cs.s, "event %d is a %s of a call which %s", e.Cursor, e.Kind(), x)
		}
	}
	switch b := b.(type) {
	case callv1.Awaiting:
		x := cs.of(b.Turn, b.Call)
		must(x.decidable() && !x.awaiting, x)
		x.awaiting = true
	case callv1.Denied:
		x := cs.of(b.Turn, b.Call)
		must(x.decidable(), x)
		x.denied = true
	case callv1.Dispatched:
		x := cs.of(b.Turn, b.Call)
		must(x.decidable(), x)
		x.dispatched = true
	case callv1.Started:
		x := cs.of(b.Turn, b.Call)
		must(x.dispatched && !x.over && x.outcome == "", x)
		x.starts[e.Cursor] = b
	case callv1.Completed:
		x := cs.of(b.Turn, b.Call)
		must(x.dispatched && x.outcome == "", x)
		x.outcome = b.Outcome
	case callv1.Asked:
	}
}

// effects: what has happened outside fits to what the journal says.
func (cs *courses) effects(k string, x *course) {
	landed := cs.w.outside.landed[k]
	for _, l := range landed {
		if b, ok := x.starts[l.claim]; !ok || b.Worker != l.worker {
			cs.wrong(cs.s, "the effect of %s happened for a claim %d that the journal does not have", k, l.claim)
		}
	}
	t := toolTable[x.tool]
	switch {
	case len(landed) > 1 && !t.again:
		cs.wrong(cs.s, "the effect of %s happened %d times", k, len(landed))
	case len(x.starts) > 1 && !t.again:
		cs.wrong(cs.s, "%s was started %d times", k, len(x.starts))
	case len(landed) > len(x.starts):
		cs.wrong(cs.s, "the effect of %s happened %d times for %d claims", k, len(landed), len(x.starts))
	case x.outcome == callv1.OK && len(landed) == 0:
		cs.wrong(cs.s, "%s is said to be done, and nothing happened", k)
	case (x.outcome == callv1.Refused || x.outcome == callv1.Error) && len(landed) > 0 && len(x.starts) == 1:
		cs.wrong(cs.s, "%s is said not to have run, and did", k)
	case t.denied && (x.dispatched || len(landed) > 0):
		cs.wrong(cs.s, "%s is forbidden, and was carried out", k)
	}
}

// ends: nothing is left undone.
func (cs *courses) ends(k string, x *course) {
	switch {
	case x.dispatched && x.outcome == "" && !x.over:
		cs.wrong(cs.s, "%s was dispatched and has no outcome", k)
	case len(x.starts) > 0 && x.outcome == "":
		cs.wrong(cs.s, "%s was started and has no outcome", k)
	case x.decidable():
		cs.wrong(cs.s, "nothing was decided about %s", k)
	}
}
