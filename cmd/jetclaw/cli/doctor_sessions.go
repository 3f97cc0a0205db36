package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations"
)

const (
	livenessTime = 700 * time.Millisecond // for the sessions that have something open, without --deep
	lookers      = 8                      // sessions at a time
	secondLook   = 300 * time.Millisecond // before a session counts as stuck that a worker may be at
	listPage     = 500
)

// liveness looks for sessions whose next step nobody will be woken for.
func (x *examination) liveness(ctx context.Context) error {
	if x.swept == nil || len(x.consumers) == 0 {
		return errors.New("neither what happened nor who was told of it could be read")
	}
	ids := x.candidates(ctx)
	looked, err := x.lookAt(ctx, x.judge(), ids)
	if err != nil {
		return err
	}
	if err := x.confirm(ctx); err != nil {
		return err
	}
	if looked < len(ids) {
		x.report.Sayf("session.sampled", health.Fine, "sessions", "--deep looks at all",
			"%d of %d sessions with something open were looked at", looked, len(ids))
	}
	switch {
	case len(x.stuck) > 0:
	case looked == 0:
		x.report.Sayf("session.ok", health.Fine, "sessions", "", "none waits for anything")
	default:
		x.report.Sayf("session.ok", health.Fine, "sessions", "", "of %s that may wait for something, each will be woken for it",
			plural(looked, "session", "sessions"))
	}
	return nil
}

func (x *examination) judge() health.Judge {
	return health.Judge{Machines: x.machines, Services: x.services(), Now: time.Now()}
}

// candidates are the sessions in which a step may be due: those of the sweep that can be told to have one, or cannot be told; and
// those that the read model calls open.
func (x *examination) candidates(ctx context.Context) []session.ID {
	var ids []session.ID
	known := map[session.ID]bool{}
	for _, id := range x.swept.order {
		s := x.swept.sessions[id]
		if s.unread > 0 {
			known[id] = true
			continue // told of
		}
		if s.trap != nil {
			known[id] = true
			x.panics(id, s.trap)
			continue
		}
		if !s.whole {
			continue
		}
		known[id] = true
		if due, err := s.due(time.Now()); err != nil || len(due) > 0 {
			ids = append(ids, id)
		}
	}
	open, err := x.open(ctx)
	if err != nil || x.o.deep {
		if !x.o.deep {
			x.report.Sayf("session.unlisted", health.Warning, "sessions", "--deep looks at all",
				"the read model cannot say which sessions have something open (%s): those of the newest %s are looked at",
				firstLine(err.Error()), plural(x.swept.events, "event", "events"))
		}
		open = x.swept.order
	}
	for _, id := range open {
		if !known[id] {
			known[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// open asks the read model. Those that have been quiet for the longest come first: who is at work will be seen to go on.
func (x *examination) open(ctx context.Context) ([]session.ID, error) {
	if x.o.deep {
		return nil, nil
	}
	var ids []session.ID
	for cursor := ""; ; {
		page, err := bus.Ask[conversations.List](ctx, x.c.Conn, "conversations", "list",
			conversations.ListRequest{Limit: listPage, Cursor: cursor, Open: true})
		switch {
		case err != nil:
			return nil, err
		case page.Behind.Events > sweptMost:
			return nil, fmt.Errorf("it is %d events behind", page.Behind.Events)
		}
		for _, c := range page.Conversations {
			ids = append(ids, c.Session)
		}
		if page.Next == "" {
			slices.Reverse(ids)
			return ids, nil
		}
		cursor = page.Next
	}
}

// lookAt looks at sessions, several at a time, for as long as there is time, and returns how many it has looked at.
func (x *examination) lookAt(ctx context.Context, j health.Judge, ids []session.ID) (looked int, err error) {
	until := time.Now().Add(livenessTime)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookers)
	for _, id := range ids {
		if ctx.Err() != nil || !x.o.deep && time.Now().After(until) {
			break
		}
		looked++
		g.Go(func() error {
			stuck, f, err := x.lookAtOne(ctx, j, id)
			mu.Lock()
			defer mu.Unlock()
			x.stuck = append(x.stuck, stuck...)
			if f != nil {
				x.report.Add(*f)
			}
			return err
		})
	}
	return looked, g.Wait()
}

// lookAtOne reads one session, then its timers if it wants anything.
func (x *examination) lookAtOne(ctx context.Context, j health.Judge, id session.ID) ([]health.Stuck, *health.Finding, error) {
	events, err := x.admin.History(ctx, id, 0)
	if _, broken := errors.AsType[*bus.HoleError](err); broken || errors.Is(err, bus.ErrNoEvent) {
		return nil, nil, nil // what is above a hole says nothing of what is due; a purged one has nothing
	}
	if err != nil {
		return nil, nil, err
	}
	if ev, newer := health.Newer(events); newer {
		if _, told := x.swept.sessions[id]; told && x.swept.from <= ev.Cursor {
			return nil, nil, nil
		}
		return nil, &health.Finding{
			ID: "session.newer", Severity: health.Warning, Check: "sessions", Evidence: placeEvidence{id, ev.Cursor, ev.Type()},
			Text: fmt.Sprintf("event %d of %s cannot be read (%s): what it waits for cannot be judged", ev.Cursor, id, ev.Type()),
			Fix:  "use the jetclaw that has written it",
		}, nil
	}
	due, err := j.Due(id, events)
	if p, ok := errors.AsType[*health.PanicError](err); ok {
		f := panicFinding(id, p)
		return nil, &f, nil
	}
	if len(due) == 0 {
		return nil, nil, nil
	}
	timers, err := bus.TimersOf(ctx, x.admin, id)
	if err != nil {
		return nil, nil, err
	}
	return j.Stuck(health.Session{ID: id, Events: events, Timers: timers}, due), nil, nil
}

func (x *examination) panics(id session.ID, p *health.PanicError) { x.report.Add(panicFinding(id, p)) }

func panicFinding(id session.ID, p *health.PanicError) health.Finding {
	return health.Finding{
		ID: "session.panics", Severity: health.Problem, Check: "sessions",
		Evidence: map[string]string{"session": string(id), "service": p.Service, "panic": fmt.Sprint(p.Value)},
		Text:     fmt.Sprintf("%s cannot go on: %s", id, p),
		Fix:      "this is a mistake in jetclaw: report it with `jetclaw sessions export " + string(id) + "`; a newer version may do",
	}
}

// confirm looks again at what is stuck where somebody may have been about to take the step.
func (x *examination) confirm(ctx context.Context) error {
	there := false
	for _, sv := range x.services() {
		there = there || sv.There()
	}
	if len(x.stuck) == 0 || !there {
		return nil
	}
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	again, err := x.stillStuck(ctx, x.stuck)
	x.stuck = again
	return err
}

// stillStuck is what of the stuck is so on a new look.
func (x *examination) stillStuck(ctx context.Context, before []health.Stuck) ([]health.Stuck, error) {
	if err := x.look(ctx); err != nil {
		return before, err
	}
	j := x.judge()
	var left []health.Stuck
	done := map[session.ID]bool{}
	for _, b := range before {
		if done[b.Session] {
			continue
		}
		done[b.Session] = true
		now, _, err := x.lookAtOne(ctx, j, b.Session)
		if err != nil {
			return before, err
		}
		for _, n := range now {
			if slices.ContainsFunc(before, func(b health.Stuck) bool {
				return b.Session == n.Session && b.Service == n.Service && b.Last == n.Last
			}) {
				left = append(left, n)
			}
		}
	}
	return left, nil
}

// tellStuck tells of all that is stuck.
func (x *examination) tellStuck() {
	for _, st := range x.stuck {
		x.report.Add(stuckFinding(st, "session.stuck", health.Problem, "", "jetclaw doctor --repair rings "+st.Service+" for it"))
	}
}

func stuckFinding(st health.Stuck, id string, l health.Severity, after, fix string) health.Finding {
	since := "since " + st.Due.Local().Format(time.DateTime)
	if st.Due.After(time.Now()) {
		since = "not yet"
	}
	return health.Finding{
		ID: id, Severity: l, Check: "sessions", Evidence: st, Fix: fix,
		Text: fmt.Sprintf("%s: %s has %s (%s), and nobody will wake it: %s%s", st.Session, st.Service, st.Step, since, st.Missing, after),
	}
}
