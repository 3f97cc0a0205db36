package judge

import (
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

type state int

const (
	stateNone state = iota
	stateStarted
	stateDeferred
	stateSent
	stateFailed
	stateHeld    // unknown, and a person has to say what to do
	stateUnknown // unknown, and it will be sent again
)

func (s state) String() string {
	return [...]string{"not begun", "begun", "deferred", "sent", "failed", "held", "to be repeated"}[s]
}

// delivery is what became of one thing that is shown.
type delivery struct {
	event   envelope.Event // that is shown
	marker  string         // the first of its text, or ""
	state   state
	attempt int
	repeats int  // how often it may have arrived without a receipt, and was sent again
	part    int  // that is to be sent; those before it are
	unsure  bool // this part may have arrived without a receipt
	perhaps bool // whether there is anything to show is not known from outside
}

func (d *delivery) done() bool {
	return d.state == stateSent || d.state == stateFailed || d.state == stateHeld || d.perhaps && d.state == stateNone
}

// show says that an event has something to show.
func (h *history) show(e envelope.Event, text string) *delivery {
	d := &delivery{event: e, marker: marker.First(text)}
	h.shown = append(h.shown, d)
	h.byShown[e.ID] = d
	return d
}

func (h *history) deliver(e envelope.Event, b deliveryv1.Event) {
	ref, ok := refOf(b)
	if !ok {
		return
	}
	d := h.byShown[ref.Delivery]
	if d == nil {
		h.say(Wrong, e, "%s of %s, which is nothing to show", e.Kind(), ref.Delivery)
		return
	}
	if d.done() && d.state != stateNone {
		h.say(Doubled, e, "%s of a delivery that is %s", e.Kind(), d.state)
	}
	if ref.Part != d.part {
		h.say(Wrong, e, "%s of part %d, and part %d is to be sent", e.Kind(), ref.Part, d.part)
	}
	h.inTurn(e, d)
	switch x := b.(type) {
	case deliveryv1.Started:
		if d.state == stateStarted {
			h.say(Doubled, e, "attempt %d begins while attempt %d has no outcome", x.Attempt, d.attempt)
		}
		if d.unsure && !x.Repeat {
			h.say(Wrong, e, "attempt %d may be a repeat and is not marked as one", x.Attempt)
		}
		d.state, d.attempt = stateStarted, x.Attempt
	case deliveryv1.Sent:
		d.state = stateSent
		if x.More {
			d.state, d.part, d.attempt, d.unsure = stateNone, ref.Part+1, 0, false
		}
	case deliveryv1.Deferred:
		d.state = stateDeferred
	case deliveryv1.Failed:
		d.state = stateFailed
	case deliveryv1.Unknown:
		d.state = stateHeld
		if x.Resend {
			d.state, d.unsure = stateUnknown, true
			d.repeats++
		}
	case deliveryv1.Drafting, deliveryv1.Drafted:
	}
}

// inTurn: what was made before it is out of the way.
func (h *history) inTurn(e envelope.Event, d *delivery) {
	for _, o := range h.shown {
		if o == d {
			return
		}
		if !o.done() {
			h.say(Disordered, e, "%s of what was made at cursor %d overtakes cursor %d, which is %s", e.Kind(), d.event.Cursor, o.event.Cursor, o.state)
			return
		}
	}
}

// refOf is what an event is about; false when it is about no delivery yet: what a model says while it speaks.
func refOf(b deliveryv1.Event) (deliveryv1.Ref, bool) {
	switch x := b.(type) {
	case deliveryv1.Started:
		return x.Ref, true
	case deliveryv1.Sent:
		return x.Ref, true
	case deliveryv1.Deferred:
		return x.Ref, true
	case deliveryv1.Failed:
		return x.Ref, true
	case deliveryv1.Unknown:
		return x.Ref, true
	case deliveryv1.Drafting, deliveryv1.Drafted:
	}
	return deliveryv1.Ref{}, false
}
