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
// stops, and then says pending.
func (s *Service) Reply(ctx context.Context, r ReplyRequest) (Reply, error) {
	sid, err := session.Parse(r.Session)
	if err != nil {
		return Reply{}, fault.New(fault.Invalid, "session: %w", err)
	}
	if r.MessageID == "" {
		return Reply{}, fault.New(fault.Invalid, "message_id is missing")
	}
	t := topic{sid, r.MessageID}
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
	if o != nil || err != nil {
		return replyOf(t, o), err
	}
	left := time.Until(until)
	if left <= 0 {
		return replyOf(t, nil), nil
	}
	timer := time.NewTimer(min(left, s.recheck))
	defer timer.Stop()
	for {
		select {
		case told := <-news:
			if !told.gone {
				return replyOf(t, &told), nil
			}
			o, err := s.fromJournal(ctx, t)
			return replyOf(t, o), err
		case <-timer.C:
			if o, err = s.fromJournal(ctx, t); o != nil || err != nil {
				return replyOf(t, o), err
			}
			if left = time.Until(until); left <= 0 {
				return replyOf(t, nil), nil
			}
			timer.Reset(min(left, s.recheck))
		case <-s.draining:
			return replyOf(t, nil), nil
		case <-ctx.Done():
			return Reply{}, fmt.Errorf("reply to %s: %w", r.MessageID, context.Cause(ctx))
		}
	}
}

// lookUp is the outcome, nil while it is pending.
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
	state, _, err := s.folder.Fold(ctx, t.session, 0)
	if err != nil {
		return nil, err
	}
	it, ok := state.Find(t.id)
	switch {
	case !ok:
		return nil, fault.New(fault.NotFound, "there is no message %s in %s", t.id, t.session)
	case it.Status == thread.Pending:
		return nil, nil
	case it.Outcome != 0:
		return s.outcomeAt(ctx, it.Outcome, it.Status)
	}
	return s.outcomeAt(ctx, it.Cursor, it.Status)
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

func replyOf(t topic, o *outcome) Reply {
	r := Reply{MessageID: t.id, Session: t.session, Status: wire.Pending}
	if o != nil {
		r.Status, r.Text, r.Cause, r.Cursor = statusOf(o.status), o.text, o.cause, o.cursor
	}
	return r
}
