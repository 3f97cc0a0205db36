package sim

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// checker knows the journal, and what people, the model, the tools and the channels know. Of the machines it knows nothing.
type checker struct {
	w    *world
	errs []error
}

func (w *world) check() []error {
	c := &checker{w: w}
	taken := map[string]bool{}
	for _, s := range sessions {
		var events []envelope.Event
		for _, e := range w.server.events {
			if e.Session == s {
				events = append(events, e)
				taken[e.ID] = true
			}
		}
		c.chain(s, events)
		c.messages(s, events)
		c.calls(s, events)
		c.approvals(s, events)
		c.deliveries(s, events)
	}
	for id := range w.outside.receipts {
		if !taken[id] {
			c.wrong("", "there is a receipt of %s, and the journal does not have it", id)
		}
	}
	for id := range w.outside.wanted {
		if !taken[id] {
			c.wrong("", "%s was never taken in", id)
		}
	}
	slices.SortFunc(c.errs, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return c.errs
}

func (c *checker) wrong(s session.ID, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %w", s, fmt.Errorf(format, args...)))
}

// chain: each event names the one before it.
func (c *checker) chain(s session.ID, events []envelope.Event) {
	prev := uint64(0)
	ids := map[string]bool{}
	for _, e := range events {
		if e.Prev != prev {
			c.wrong(s, "event %d follows %d, and says %d", e.Cursor, prev, e.Prev)
		}
		if ids[e.ID] {
			c.wrong(s, "event %d has the id %s of another", e.Cursor, e.ID)
		}
		prev, ids[e.ID] = e.Cursor, true
	}
}

// messages: each message and command is answered once; a message only when the model was shown it or the failure is told; the
// order is kept.
func (c *checker) messages(s session.ID, events []envelope.Event) {
	type fate struct {
		at      int
		message bool
		ends    []string
	}
	all := map[string]*fate{}
	var order []string
	running, started := "", 0
	newest := -1
	for _, e := range events {
		end := func(how string, ids ...string) {
			for _, id := range ids {
				if f := all[id]; f != nil {
					f.ends = append(f.ends, fmt.Sprintf("%s at %d", how, e.Cursor))
				} else {
					c.wrong(s, "event %d answers %q, which nobody has sent before", e.Cursor, id)
				}
			}
		}
		inOrder := func(turn string, ids []string) {
			for _, id := range ids {
				f := all[id]
				if f == nil {
					continue
				}
				if f.at < newest {
					c.wrong(s, "event %d answers message %s after a later one", e.Cursor, id)
				}
				newest = max(newest, f.at)
				if !c.w.outside.shown[string(s)+" "+turn][id] {
					c.wrong(s, "event %d answers message %s, which the model was not shown", e.Cursor, id)
				}
			}
		}
		over := func(turn string) {
			if turn != "" && turn != running {
				c.wrong(s, "event %d ends turn %s while %q runs", e.Cursor, turn, running)
			}
			if turn != "" {
				running = ""
			}
		}
		switch b := e.Body.(type) {
		case messagev1.Received:
			all[e.ID] = &fate{at: len(order), message: true}
			order = append(order, e.ID)
		case messagev1.Control, messagev1.Decision:
			all[e.ID] = &fate{at: len(order)}
			order = append(order, e.ID)
		case turnv1.Started:
			if running != "" {
				c.wrong(s, "event %d starts turn %s while %s runs", e.Cursor, b.Turn, running)
			}
			running = b.Turn
			started++
		case turnv1.Completed:
			over(b.Turn)
			inOrder(b.Turn, b.Answers)
			end("completed", b.Answers...)
		case turnv1.Failed:
			over(b.Turn)
			end("failed", b.Answers...)
			if b.Text == "" {
				c.wrong(s, "event %d fails and tells nobody", e.Cursor)
			}
		case turnv1.Cancelled:
			over(b.Turn)
			end("cancelled", b.Answers...)
			if b.Reason == turnv1.Stopped {
				if f := all[b.By]; f != nil && len(f.ends) == 0 {
					f.ends = append(f.ends, "done")
				}
			}
		case noticev1.Posted:
			end("noticed", b.Answers...)
		case approvalv1.Decided:
			end("decided", b.Answers...)
		case turnv1.SessionConfigured:
			end("configured", b.By)
		case turnv1.SessionReset:
			if f := all[b.By]; f != nil && len(f.ends) == 0 { // a turn may have been ended for it before
				f.ends = append(f.ends, "reset")
			}
		case turnv1.SessionCompacted:
			if b.By != "" {
				end("compacted", b.By)
			}
		case turnv1.CompactionFailed:
			if b.By != "" {
				end("not compacted", b.By)
			}
		}
	}
	if running != "" {
		c.wrong(s, "turn %s has never ended", running)
	}
	for _, id := range order {
		switch f := all[id]; {
		case len(f.ends) == 0:
			c.wrong(s, "%s was never answered", id)
		case len(f.ends) > 1 && f.message:
			c.wrong(s, "%s was answered more than once: %v", id, f.ends)
		}
	}
}

// course is what became of a call.
type course struct {
	asked      bool // by the model
	tool       string
	awaiting   bool
	dispatched *callv1.Dispatched
	starts     map[uint64]callv1.Started
	outcome    *callv1.Completed
	denied     bool
	over       bool // its turn has ended
}

// calls: each is decided once and ends once; nothing starts after its end or its turn's; what may happen once does not happen
// twice; what asks has been allowed.
func (c *checker) calls(s session.ID, events []envelope.Event) {
	all := map[string]*course{}
	var order []string
	of := func(turn, call string) *course {
		k := callKey(s, turn, call)
		if all[k] == nil {
			all[k] = &course{starts: map[uint64]callv1.Started{}}
			order = append(order, k)
		}
		return all[k]
	}
	turns := map[string][]*course{}
	claims := map[uint64]bool{}
	end := func(turn string) {
		for _, x := range turns[turn] {
			x.over = true
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case turnv1.Stepped:
			for _, k := range b.Calls {
				if k.Refusal == "" && k.Answer == "" {
					x := of(b.Turn, k.ID)
					x.asked, x.tool = true, k.Tool
					turns[b.Turn] = append(turns[b.Turn], x)
				}
			}
		case turnv1.Completed:
			end(b.Turn)
		case turnv1.Failed:
			end(b.Turn)
		case turnv1.Cancelled:
			end(b.Turn)
		case callv1.Awaiting:
			x := of(b.Turn, b.Call)
			if !x.asked || x.over || x.awaiting || x.dispatched != nil || x.denied {
				c.wrong(s, "event %d asks about call %s, which %s", e.Cursor, b.Call, x)
			}
			x.awaiting = true
		case callv1.Denied:
			x := of(b.Turn, b.Call)
			if !x.asked || x.over || x.dispatched != nil || x.denied {
				c.wrong(s, "event %d denies call %s, which %s", e.Cursor, b.Call, x)
			}
			x.denied = true
		case callv1.Dispatched:
			x := of(b.Turn, b.Call)
			if !x.asked || x.over || x.dispatched != nil || x.denied {
				c.wrong(s, "event %d dispatches call %s, which %s", e.Cursor, b.Call, x)
			}
			x.dispatched = &b
		case callv1.Started:
			x := of(b.Turn, b.Call)
			if x.dispatched == nil || x.over || x.outcome != nil {
				c.wrong(s, "event %d starts call %s, which %s", e.Cursor, b.Call, x)
			}
			x.starts[e.Cursor], claims[e.Cursor] = b, true
		case callv1.Completed:
			x := of(b.Turn, b.Call)
			if x.dispatched == nil || x.outcome != nil {
				c.wrong(s, "event %d completes call %s, which %s", e.Cursor, b.Call, x)
			}
			x.outcome = &b
		}
	}
	for _, k := range order {
		c.effects(s, k, all[k])
	}
}

func (c *checker) effects(s session.ID, k string, x *course) {
	landed := c.w.outside.landed[k]
	again := toolTable[x.tool].again
	for _, l := range landed {
		if b, ok := x.starts[l.claim]; !ok || b.Worker != l.worker {
			c.wrong(s, "the effect of %s happened for a claim %d that the journal does not have", k, l.claim)
		}
	}
	switch {
	case len(landed) > 1 && !again:
		c.wrong(s, "the effect of %s happened %d times", k, len(landed))
	case len(x.starts) > 1 && !again:
		c.wrong(s, "%s was started %d times", k, len(x.starts))
	case len(landed) > len(x.starts):
		c.wrong(s, "the effect of %s happened %d times for %d claims", k, len(landed), len(x.starts))
	case x.outcome != nil && x.outcome.Outcome == callv1.OK && len(landed) == 0:
		c.wrong(s, "%s is said to be done, and nothing happened", k)
	case x.outcome != nil && (x.outcome.Outcome == callv1.Refused || x.outcome.Outcome == callv1.Error) && len(landed) > 0 && len(x.starts) == 1:
		c.wrong(s, "%s is said not to have run, and did", k)
	case x.dispatched != nil && x.outcome == nil && !x.over:
		c.wrong(s, "%s was dispatched and has no outcome", k)
	case len(x.starts) > 0 && x.outcome == nil:
		c.wrong(s, "%s was started and has no outcome", k)
	case x.asked && !x.over && x.dispatched == nil && !x.denied:
		c.wrong(s, "nothing was decided about %s", k)
	}
	if t := toolTable[x.tool]; t.denied && (x.dispatched != nil || len(landed) > 0) {
		c.wrong(s, "%s is forbidden, and was carried out", k)
	}
}

func (x *course) String() string {
	return fmt.Sprintf("was asked for: %v, awaits: %v, dispatched: %v, denied: %v, started: %d, has an outcome: %v, its turn is over: %v",
		x.asked, x.awaiting, x.dispatched != nil, x.denied, len(x.starts), x.outcome != nil, x.over)
}

// approvals: each ends once, by what a person who may has really said; what asks is carried out only when it was allowed, once.
func (c *checker) approvals(s session.ID, events []envelope.Event) {
	open := map[string]approvalv1.Requested{}
	ended := map[string]string{}
	allowed := map[string]approvalv1.Decided{}
	used := map[string]int{}
	end := func(e envelope.Event, id, how string) {
		if was := ended[id]; was != "" {
			c.wrong(s, "event %d ends approval %s, which was %s", e.Cursor, id, was)
		}
		ended[id] = how
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case approvalv1.Requested:
			if _, twice := open[b.Approval]; twice {
				c.wrong(s, "event %d asks for approval %s once more", e.Cursor, b.Approval)
			}
			open[b.Approval] = b
		case approvalv1.Decided:
			end(e, b.Approval, "decided")
			c.said(s, e, b, open[b.Approval])
			if b.Answer.Decision.Allows() {
				allowed[b.Approval] = b
			}
		case approvalv1.Expired:
			end(e, b.Approval, "expired")
		case approvalv1.Cancelled:
			end(e, b.Approval, "cancelled")
		case approvalv1.Voided:
			end(e, b.Approval, "voided")
		case callv1.Dispatched:
			if !toolTable[b.Tool].asks() {
				continue
			}
			switch {
			case b.Approval != nil:
				d, ok := allowed[b.Approval.ID]
				if used[b.Approval.ID]++; !ok || used[b.Approval.ID] > 1 || d.Turn != b.Turn || d.Call != b.Call || open[b.Approval.ID].Digest != b.Digest {
					c.wrong(s, "event %d dispatches %s by approval %s, which does not allow it", e.Cursor, b.Call, b.Approval.ID)
				}
			case b.Always != nil:
				d, ok := allowed[b.Always.ID]
				if !ok || d.Answer.Decision != callv1.AllowAlways || open[b.Always.ID].Tool != b.Tool {
					c.wrong(s, "event %d dispatches %s by approval %s, which does not allow it", e.Cursor, b.Call, b.Always.ID)
				}
			default:
				c.wrong(s, "event %d dispatches %s of %s, and nobody has allowed it", e.Cursor, b.Call, b.Tool)
			}
		}
	}
	for id := range open {
		if ended[id] == "" {
			c.wrong(s, "approval %s has never ended", id)
		}
	}
}

// said: a decision is what one of the people who may has said.
func (c *checker) said(s session.ID, e envelope.Event, b approvalv1.Decided, r approvalv1.Requested) {
	if !slices.Contains(r.Approvers, b.Answer.By) || b.Answer.By == stranger {
		c.wrong(s, "event %d: approval %s was decided by %s, who may not", e.Cursor, b.Approval, b.Answer.By)
	}
	for _, id := range b.Answers {
		if d, ok := c.w.outside.answers[id]; ok && d.Approval == b.Approval && d.Decision == b.Answer.Decision && d.From.ID == b.Answer.By {
			return
		}
	}
	c.wrong(s, "event %d: approval %s was %s by %s, who has not said that", e.Cursor, b.Approval, b.Answer.Decision, b.Answer.By)
}

// deliveries: what is to be shown is shown, or it is told that it was not; in order; twice only where it was not known.
func (c *checker) deliveries(s session.ID, events []envelope.Event) {
	if c.w.limits.Routes[s.Channel()] == "" {
		return
	}
	order := map[string]int{}
	settled, unknown, repeat := map[string]string{}, map[string]int{}, map[string]bool{}
	text := func(e envelope.Event, t string) {
		if t != "" {
			order[e.ID] = len(order)
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case turnv1.Completed:
			text(e, b.Text)
		case turnv1.Failed:
			text(e, b.Text)
		case turnv1.Cancelled:
			text(e, b.Text)
		case noticev1.Posted:
			if !b.Quiet {
				text(e, b.Text)
			}
		case approvalv1.Requested:
			text(e, b.Text)
		case approvalv1.Decided:
			text(e, b.Text)
		case deliveryv1.Started:
			if b.Repeat {
				repeat[b.Delivery] = true
			}
		case deliveryv1.Sent:
			settled[b.Delivery] = "sent"
		case deliveryv1.Failed:
			settled[b.Delivery] = "failed"
		case deliveryv1.Unknown:
			if unknown[b.Delivery]++; !b.Resend {
				settled[b.Delivery] = "held"
			}
		}
	}
	for id := range order {
		if settled[id] == "" {
			c.wrong(s, "nobody was shown %s", id)
		}
	}
	if c.w.limits.Routes[s.Channel()] != delivery.Push {
		return
	}
	times, last := map[string]int{}, -1
	for _, a := range c.w.outside.arrived[s] {
		n, known := order[a.delivery]
		if times[a.delivery]++; times[a.delivery] > 1 {
			if !repeat[a.delivery] || times[a.delivery] > 1+unknown[a.delivery] {
				c.wrong(s, "%s was shown %d times, and only %d were not known of", a.delivery, times[a.delivery], unknown[a.delivery])
			}
			continue
		}
		if known && n < last && unknown[a.delivery] == 0 { // else it was given up as unknown while it was on its way
			c.wrong(s, "%s was shown after what came later", a.delivery)
		}
		if known {
			last = n
		}
	}
	for id, how := range settled {
		if how == "sent" && times[id] == 0 {
			c.wrong(s, "%s is said to be shown, and was not", id)
		}
	}
}
