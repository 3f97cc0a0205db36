package timeline

import (
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

func (b *builder) deliveryEvent(ev envelope.Event, body deliveryv1.Event) *Entry {
	switch d := body.(type) {
	case deliveryv1.Started:
		e, f := b.delivery(ev, d.Ref)
		f.Attempts++
		f.Repeat = f.Repeat || d.Repeat
		f.Until = time.Time{}
		text := fmt.Sprintf("attempt %d%s, worker %s", d.Attempt, part(d.Part), d.Worker)
		if d.Repeat {
			text += ", marked as a repeat"
		}
		return b.leaf(e, ev, text)
	case deliveryv1.Sent:
		e, f := b.delivery(ev, d.Ref)
		f.Receipt, f.Until = short(d.Receipt), time.Time{}
		if f.Parts = max(f.Parts, d.Part+1); !d.More {
			f.end(e, ev.Time, "sent")
		}
		return b.leaf(e, ev, cause("sent"+part(d.Part), d.Receipt))
	case deliveryv1.Deferred:
		e, f := b.delivery(ev, d.Ref)
		f.Reason, f.Until = short(d.Reason), d.Until
		if d.Untried {
			return b.leaf(e, ev, "put off, as the channel has no room: "+d.Reason)
		}
		f.Failures++
		return b.leaf(e, ev, fmt.Sprintf("attempt %d%s did not arrive: %s", d.Attempt, part(d.Part), d.Reason))
	case deliveryv1.Failed:
		e, f := b.delivery(ev, d.Ref)
		f.Reason, f.Until = short(d.Reason), time.Time{}
		f.end(e, ev.Time, "failed")
		return b.leaf(e, ev, "given up: "+d.Reason)
	case deliveryv1.Unknown:
		e, f := b.delivery(ev, d.Ref)
		if !d.Resend {
			f.end(e, ev.Time, "held")
			return b.leaf(e, ev, fmt.Sprintf("attempt %d may have arrived: held", d.Attempt))
		}
		f.Repeat = true
		return b.leaf(e, ev, fmt.Sprintf("attempt %d may have arrived: it is sent again", d.Attempt))
	case deliveryv1.Drafting:
		return b.leaf(b.speaking(d.Turn, d.Round), ev, "shows the answer while it is written, worker "+d.Worker)
	case deliveryv1.Drafted:
		if d.Receipt == "" {
			return b.leaf(b.speaking(d.Turn, d.Round), ev, "the draft was not posted")
		}
		return b.leaf(b.speaking(d.Turn, d.Round), ev, "the draft is "+d.Receipt)
	}
	return b.leaf(nil, ev, "")
}

// speaking is the model call that a draft shows.
func (b *builder) speaking(turn string, round int) *Entry {
	if e := b.rounds[roundKey{turn, round}]; e != nil {
		return e
	}
	return b.turns[turn]
}

// delivery is the group of one thing that is shown. How a turn ended is shown by the turn, not by its last round.
func (b *builder) delivery(ev envelope.Event, r deliveryv1.Ref) (*Entry, *Delivery) {
	e, ok := b.deliveries[r.Delivery]
	if !ok {
		parent := host(b.at[r.Delivery])
		if parent != nil && parent.Kind == RoundKind && parent.parent != nil {
			parent = parent.parent
		}
		e = b.group(parent, DeliveryKind, r.Delivery, ev, &Delivery{Of: b.cursors[r.Delivery], Channel: ev.Session.Channel()})
		b.deliveries[r.Delivery] = e
	}
	return e, e.Facts.(*Delivery)
}

func (d *Delivery) end(e *Entry, at time.Time, how string) {
	if e.Open {
		d.Outcome = how
		e.close(at)
	}
}

// part says which part of something it is about, where it has several.
func part(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" of part %d", n+1)
}
