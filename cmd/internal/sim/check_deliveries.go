package sim

import (
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// post is what became of what a session has to show.
type post struct {
	*checker
	s       session.ID
	order   map[string]int    // of what is to be shown
	settled map[string]string // how it ended
	unknown map[string]int    // how often it was not known whether it had arrived
	repeat  map[string]bool   // an attempt says that it may be a repeat
}

// deliveries: what is to be shown is shown, or it is told that it was not; in order; twice only where it was not known.
func (c *checker) deliveries(s session.ID, events []envelope.Event) {
	p := &post{checker: c, s: s, order: map[string]int{}, settled: map[string]string{}, unknown: map[string]int{}, repeat: map[string]bool{}}
	for _, e := range events {
		if shows(e) {
			p.order[e.ID] = len(p.order)
		}
		p.move(e)
	}
	for id := range p.order {
		if p.settled[id] == "" {
			c.wrong(s, "nobody was shown %s", id)
		}
	}
	if c.w.limits.Routes[s.Channel()] == delivery.Push {
		p.arrivals()
	}
}

// shows says that an event has something to show to a person.
func shows(e envelope.Event) bool {
	switch b := e.Body.(type) {
	case turnv1.Completed:
		return b.Text != ""
	case turnv1.Failed:
		return b.Text != ""
	case turnv1.Cancelled:
		return b.Text != ""
	case turnv1.SessionConfigured:
		return b.Text != ""
	case turnv1.SessionReset:
		return b.Text != ""
	case noticev1.Posted:
		return b.Text != "" && !b.Quiet
	case approvalv1.Requested:
		return true
	case approvalv1.Decided:
		return true
	case approvalv1.Expired:
		return true
	}
	return false
}

func (p *post) move(e envelope.Event) {
	switch b := e.Body.(type) {
	case deliveryv1.Started:
		p.repeat[b.Delivery] = p.repeat[b.Delivery] || b.Repeat
	case deliveryv1.Sent:
		p.settled[b.Delivery] = "sent"
	case deliveryv1.Failed:
		p.settled[b.Delivery] = "failed"
	case deliveryv1.Unknown:
		if p.unknown[b.Delivery]++; !b.Resend {
			p.settled[b.Delivery] = "held"
		}
	}
}

// arrivals: what the channel has seen.
func (p *post) arrivals() {
	times, last := map[string]int{}, -1
	for _, a := range p.w.outside.arrived[p.s] {
		if times[a.delivery]++; times[a.delivery] > 1 {
			if !p.repeat[a.delivery] || times[a.delivery] > 1+p.unknown[a.delivery] {
				p.wrong(p.s, "%s was shown %d times, and only %d were not known of", a.delivery, times[a.delivery], p.unknown[a.delivery])
			}
			continue
		}
		n, known := p.order[a.delivery]
		if known && n < last && p.unknown[a.delivery] == 0 { // else it was given up as unknown while it was on its way
			p.wrong(p.s, "%s was shown after what came later", a.delivery)
		}
		if known {
			last = n
		}
	}
	for id, how := range p.settled {
		if how == "sent" && times[id] == 0 {
			p.wrong(p.s, "%s is said to be shown, and was not", id)
		}
	}
}
