package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Candidate is a session that is to go.
type Candidate struct {
	Session session.ID
	At      time.Time // of its last event
	Events  int
	Bytes   int64 // about what they take

	cursors []uint64
	spent   []turnv1.Spend
}

// Leftover is a deleted session whose events are still there: a run did not come to its end.
type Leftover struct {
	Session session.ID
	Events  int

	stones []stone
}

// Kept is a session that is as dormant as those that go, and has to stay.
type Kept struct {
	Session session.ID
	Why     string
}

// Plan is what a run would do.
type Plan struct {
	Candidates []Candidate // the longest dormant first
	Leftovers  []Leftover
	Kept       []Kept
	Events     int   // of the journal
	Bytes      int64 // of the journal
	After      int64 // about what is left of them
}

// Empty says that there is nothing to do.
func (p *Plan) Empty() bool { return len(p.Candidates)+len(p.Leftovers) == 0 }

// Plan reads the journal and says what a run would do. It changes nothing.
func (p *Pruner) Plan(ctx context.Context) (*Plan, error) {
	s, err := p.survey(ctx)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Events: s.events}
	if plan.Bytes, err = p.Bus.Size(ctx); err != nil {
		return nil, err
	}
	c := choice{Pruner: p, survey: s, plan: plan, room: plan.Bytes}
	return plan, c.choose(ctx)
}

// choice is a plan in the making.
type choice struct {
	*Pruner
	survey *survey
	plan   *Plan
	room   int64 // about what would be left
}

func (c *choice) choose(ctx context.Context) error {
	var dormant []session.ID
	now := c.Now()
	for id, x := range c.survey.sessions {
		if id == accessv1.Session { // who was let in is never old
			continue
		}
		if n := x.left(); n > 0 {
			c.plan.Leftovers = append(c.plan.Leftovers, Leftover{Session: id, Events: n, stones: x.stones})
			c.room -= c.share(x) // of which a part may have come since
		} else if !x.empty() && !x.at.IsZero() && now.Sub(x.at) >= c.shortest() {
			dormant = append(dormant, id)
		}
	}
	slices.SortFunc(c.plan.Leftovers, func(a, b Leftover) int { return cmp.Compare(a.Session, b.Session) })
	slices.SortFunc(dormant, func(a, b session.ID) int {
		return cmp.Or(c.survey.sessions[a].at.Compare(c.survey.sessions[b].at), cmp.Compare(a, b))
	})
	for _, id := range dormant {
		x := c.survey.sessions[id]
		old := c.Policy.Dormant > 0 && now.Sub(x.at) >= c.Policy.Dormant
		if !old && (c.Policy.MaxBytes <= 0 || c.room <= c.Policy.MaxBytes) {
			break // the others are younger still
		}
		if err := c.consider(ctx, id, x); err != nil {
			return err
		}
	}
	c.plan.After = max(0, c.room)
	return nil
}

// shortest is how long a session has to be dormant at least.
func (c *choice) shortest() time.Duration {
	switch {
	case c.Policy.MaxBytes <= 0:
		return c.Policy.Dormant
	case c.Policy.Dormant <= 0:
		return leastDormant
	}
	return min(c.Policy.Dormant, leastDormant)
}

// share is what a session takes of the journal, which knows its size better than a sum of estimates.
func (c *choice) share(x *past) int64 {
	return int64(float64(x.bytes) / float64(c.survey.bytes) * float64(c.plan.Bytes))
}

// consider takes a session into the plan, unless it has to stay.
func (c *choice) consider(ctx context.Context, id session.ID, x *past) error {
	why, err := c.stays(ctx, x)
	if errors.Is(err, bus.ErrNoEvent) {
		why, err = "it has changed while it was looked at", nil
	}
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", id, err)
	case why != "":
		c.plan.Kept = append(c.plan.Kept, Kept{id, why})
		return nil
	}
	c.room -= c.share(x)
	c.plan.Candidates = append(c.plan.Candidates, Candidate{
		Session: id, At: x.at, Events: len(x.cursors), Bytes: x.bytes, cursors: x.cursors, spent: c.survey.book.Spent(id),
	})
	return nil
}

// stays says why a session has to stay, "" when it need not. The machine that would go on with it knows best.
func (c *choice) stays(ctx context.Context, x *past) (string, error) {
	if x.gap != 0 {
		return fmt.Sprintf("what lies before event %d cannot be read, and so not be archived", x.gap), nil
	}
	var s turn.State
	for _, cursor := range x.cursors {
		c.Step()
		ev, err := c.Bus.Get(ctx, cursor)
		if err != nil {
			return "", err
		}
		s = s.Apply(ev)
	}
	if s.Quiet() {
		return "", nil
	}
	return "it is at work: " + atWork(s), nil
}

func atWork(s turn.State) string {
	var what []string
	if s.Turn != nil {
		what = append(what, "a turn runs")
	}
	if s.Compaction != nil {
		what = append(what, "it is being summarised")
	}
	if s.Turn == nil && len(s.Inbox) > 0 {
		what = append(what, fmt.Sprintf("%d messages wait", len(s.Inbox)))
	}
	if len(what) == 0 {
		return "commands wait"
	}
	return strings.Join(what, ", ")
}
