package sim

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

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
			if b.Approval != nil {
				used[b.Approval.ID]++
			}
			if why := unallowed(b, open, allowed, used); why != "" {
				c.wrong(s, "event %d dispatches %s of %s, %s", e.Cursor, b.Call, b.Tool, why)
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

// unallowed says why no person has allowed what was dispatched; "" when one has.
func unallowed(b callv1.Dispatched, open map[string]approvalv1.Requested, allowed map[string]approvalv1.Decided, used map[string]int) string {
	switch {
	case b.Approval != nil:
		r := open[b.Approval.ID]
		d, ok := allowed[b.Approval.ID]
		if !ok || used[b.Approval.ID] > 1 || d.Turn != b.Turn || d.Call != b.Call || r.Digest != b.Digest || r.Policy != b.Policy {
			return "and approval " + b.Approval.ID + " does not allow it"
		}
	case b.Always != nil:
		d, ok := allowed[b.Always.ID]
		if !ok || d.Answer.Decision != callv1.AllowAlways || open[b.Always.ID].Tool != b.Tool {
			return "and approval " + b.Always.ID + " does not allow it"
		}
	default:
		return "and nobody has allowed it"
	}
	return ""
}
