package judge

// pushed is the channel whose replies a receiver gets.
const pushed = "http"

// pushes compares what arrived at the receiver with what is recorded. What is pushed is known by the first marker of its
// text; what has none (failures, notices, answers to commands) is only counted.
func (c *court) pushes() {
	if c.ev.Pushed == nil {
		return
	}
	marked := map[string]*delivery{}
	plain, allowed, sent := 0, 0, 0
	for _, h := range c.sessions {
		if h.id.Channel() != pushed {
			continue
		}
		for _, d := range h.shown {
			if d.marker != "" {
				marked[d.marker] = d
				continue
			}
			plain++
			allowed += 1 + d.repeats
			if d.state == stateSent {
				sent++
			}
		}
	}
	for m, n := range c.ev.Pushed {
		c.counts.Pushed += n
		if m == "" {
			continue
		}
		d := marked[m]
		if d == nil {
			c.say(Wrong, "", 0, "a reply with %q was pushed and the journal has no such answer", m)
			continue
		}
		most := 1 + d.repeats
		if n > most {
			c.say(Doubled, d.event.Session, d.event.Cursor, "the reply to %s was pushed %d times, with %d unknown outcomes recorded", m, n, d.repeats)
		}
		c.counts.Repeated += min(n, most) - 1
	}
	for m, d := range marked {
		if d.state == stateSent && c.ev.Pushed[m] == 0 {
			c.say(Lost, d.event.Session, d.event.Cursor, "the reply to %s is recorded as sent and never arrived", m)
		}
	}
	n := c.ev.Pushed[""]
	if n > allowed {
		c.say(Doubled, "", 0, "%d pushes that answer no message, of %d that are recorded and %d repeats", n, plain, allowed-plain)
	}
	if n < sent {
		c.say(Lost, "", 0, "%d pushes that answer no message, and %d are recorded as sent", n, sent)
	}
	c.counts.Repeated += max(0, min(n, allowed)-plain)
}
