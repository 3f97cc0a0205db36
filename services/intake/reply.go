package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// recheckEvery is how often somebody who waits looks into the journal himself: news is lossy.
const recheckEvery = 2 * time.Second

// answerTime is left of the asker's patience for the answer to reach him.
const answerTime = 250 * time.Millisecond

// ReplyRequest asks what became of a message.
type ReplyRequest = wire.ReplyRequest

// Reply tells what became of a message.
type Reply = wire.Reply

// Reply tells what became of a message. While it is pending it waits, at most as long as asked, or until the service
// stops, and then says pending, or for which approvals the answer waits. Those end the waiting, too, unless r.Until says
// otherwise.
func (s *Service) Reply(ctx context.Context, r ReplyRequest) (Reply, error) {
	sid, err := session.Parse(r.Session)
	if err != nil {
		return Reply{}, fault.New(fault.Invalid, "session: %w", err)
	}
	if r.MessageID == "" {
		return Reply{}, fault.New(fault.Invalid, "message_id is missing")
	}
	if !r.Until.Valid() {
		return Reply{}, fault.New(fault.Invalid, "until %.40q: want %q, or nothing", string(r.Until), wire.UntilAnswer)
	}
	t := topic{sid, r.MessageID}
	o, err := s.await(ctx, t, r)
	if err != nil {
		return Reply{}, err
	}
	return s.replyOf(ctx, t, o)
}

// await is what became of a message, nil while nothing did: at once, or when the time to wait is over.
func (s *Service) await(ctx context.Context, t topic, r ReplyRequest) (*outcome, error) {
	enough := func(o *outcome) bool { return o != nil && (len(o.open) == 0 || r.Until == wire.UntilTold) }
	var news chan outcome // nil never delivers
	until := time.Now().Add(r.Wait())
	if d, ok := ctx.Deadline(); ok && d.Add(-answerTime).Before(until) {
		until = d.Add(-answerTime) // "pending" in time is more use than no answer
	}
	if r.Wait() > 0 {
		news = s.board.wait(t) // before the first look, so that nothing falls in between
		defer s.board.leave(t, news)
	}
	o, err := s.lookUp(ctx, t)
	left := time.Until(until)
	if err != nil || enough(o) || left <= 0 {
		return o, err
	}
	timer := time.NewTimer(min(left, s.recheck))
	defer timer.Stop()
	for {
		select {
		case told := <-news:
			if !told.gone && !told.asked {
				return &told, nil
			}
			if o, err = s.fromJournal(ctx, t); err != nil || enough(o) || told.gone {
				return o, err
			}
		case <-timer.C:
			o, err = s.fromJournal(ctx, t)
			left = time.Until(until)
			if err != nil || enough(o) || left <= 0 {
				return o, err
			}
			timer.Reset(min(left, s.recheck))
		case <-s.draining:
			return o, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("reply to %s: %w", t.id, context.Cause(ctx))
		}
	}
}

// lookUp is the outcome, nil while it is pending and waits for nobody.
func (s *Service) lookUp(ctx context.Context, t topic) (*outcome, error) {
	o, pending := s.board.look(t, time.Now())
	switch {
	case pending:
		return nil, nil
	case o == nil:
		return s.fromJournal(ctx, t)
	case o.partly:
		return s.outcomeAt(ctx, o.cursor, o.status)
	}
	return o, nil
}

func (s *Service) fromJournal(ctx context.Context, t topic) (*outcome, error) {
	state, it, ok, err := s.find(ctx, t)
	if err == nil && !ok { // somebody has a 202 for it: before it is denied the journal has to be all there
		if err = s.journal.Current(ctx); err == nil {
			state, it, ok, err = s.find(ctx, t)
		}
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !ok:
		return nil, fault.New(fault.NotFound, "there is no message %s in %s", t.id, t.session)
	case it.Status == thread.Pending:
		if open := state.Approvals(t.id); len(open) > 0 {
			return &outcome{status: thread.Pending, open: open}, nil
		}
		return nil, nil
	case it.Outcome != 0:
		return s.outcomeAt(ctx, it.Outcome, it.Status)
	}
	return s.outcomeAt(ctx, it.Cursor, it.Status)
}

func (s *Service) find(ctx context.Context, t topic) (thread.State, thread.Item, bool, error) {
	state, _, err := s.folder.Fold(ctx, t.session, 0)
	if err != nil {
		return state, thread.Item{}, false, err
	}
	it, ok := state.Find(t.id)
	return state, it, ok, nil
}

func (s *Service) outcomeAt(ctx context.Context, cursor uint64, status thread.Status) (*outcome, error) {
	e, err := s.journal.Get(ctx, cursor)
	if errors.Is(err, bus.ErrNoEvent) {
		return nil, fault.New(fault.NotFound, "what ended it is no longer there: the session was deleted")
	}
	if err != nil {
		return nil, err
	}
	o := outcomeOf(e, status)
	return &o, nil
}

func (s *Service) replyOf(ctx context.Context, t topic, o *outcome) (Reply, error) {
	r := Reply{MessageID: t.id, Session: t.session, Status: wire.Pending}
	switch {
	case o == nil:
		return r, nil
	case len(o.open) > 0:
		r.Status = wire.AwaitingApproval
		var err error
		r.Text, r.Approvals, err = s.questions(ctx, o.open)
		return r, err
	}
	r.Status, r.Text, r.Cause, r.Cursor, r.Decision = statusOf(o.status), o.text, o.cause, o.cursor, o.decision
	return r, nil
}
