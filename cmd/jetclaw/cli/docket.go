package cli

import (
	"slices"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals"
)

// docket holds the approvals that are open, the oldest first, as far as events have told. The zero value is empty.
type docket struct {
	open []approvals.View
	over map[string]bool // ids are never used again
}

// fold takes an event of the journal.
func (d *docket) fold(e envelope.Event) {
	switch b := e.Body.(type) {
	case approvalv1.Requested:
		d.add(viewOf(e.Session, e.Time, b))
	case turnv1.SessionDeleted:
		d.drop(func(v approvals.View) bool { return v.Session == e.Session })
	default:
		if id := settledBy(e.Body); id != "" {
			d.settle(id)
		} else if turn, _, ok := turnEnd(e.Body); ok {
			d.drop(func(v approvals.View) bool { return v.Session == e.Session && v.Turn == turn })
		}
	}
}

// add takes one that is open, unless it is known.
func (d *docket) add(v approvals.View) {
	if !d.over[v.Approval] && !slices.ContainsFunc(d.open, func(o approvals.View) bool { return o.Approval == v.Approval }) {
		d.open = append(d.open, v)
	}
}

// settle removes one that is over.
func (d *docket) settle(id string) {
	if d.over == nil {
		d.over = map[string]bool{}
	}
	d.over[id] = true
	d.drop(func(v approvals.View) bool { return v.Approval == id })
}

func (d *docket) drop(which func(approvals.View) bool) { d.open = slices.DeleteFunc(d.open, which) }

// replace takes over what the approvals service knows of a session, but not what has ended since.
func (d *docket) replace(id session.ID, list []approvals.View) {
	d.drop(func(v approvals.View) bool { return v.Session == id })
	for _, v := range list {
		if v.Status == approvals.Open {
			d.add(v)
		}
	}
}

// settledBy is the id of the approval that a body ends, "" when it ends none.
func settledBy(body envelope.Body) string {
	switch b := body.(type) {
	case approvalv1.Decided:
		return b.Approval
	case approvalv1.Expired:
		return b.Approval
	case approvalv1.Voided:
		return b.Approval
	case approvalv1.Cancelled:
		return b.Approval
	}
	return ""
}

// turnEnd says which turn a body ends, and what the person is told of it. A deleted session ends all of them: turn is "".
func turnEnd(body envelope.Body) (turn, text string, ok bool) {
	switch b := body.(type) {
	case turnv1.Completed:
		return b.Turn, b.Text, true
	case turnv1.Failed:
		return b.Turn, b.Text, true
	case turnv1.Cancelled:
		return b.Turn, cancelled(b), b.Turn != ""
	case turnv1.SessionDeleted:
		return "", "The session was deleted.", true
	}
	return "", "", false
}
