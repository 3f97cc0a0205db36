package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

const (
	submitTries = 16
	maxKey      = 256 // bytes
)

// Request hands in one message, edit, command or decision.
type Request = wire.Request

// Receipt says that it is in the journal.
type Receipt = wire.Receipt

// Text is what somebody wrote: any bytes, the gate decides.
type Text = wire.Text

// inbound is a request after the gate.
type inbound struct {
	topic
	key   string
	given bool // the key is the caller's and may come again
	body  messagev1.Event
	event envelope.Event
}

// pends says whether something will answer it.
func (in inbound) pends() bool {
	switch in.body.(type) {
	case messagev1.Received, messagev1.Control, messagev1.Decision:
		return true
	case messagev1.Edited, messagev1.Reacted, messagev1.Refused, messagev1.Quarantined, messagev1.PermissionAnswer:
	}
	return false
}

// clears says that a command ends what is there already: it needs a session that is there, and is taken also when the
// journal is nearly full, since it spares what would follow.
func clears(v messagev1.Verb) bool { return v == messagev1.Stop || v == messagev1.New }

// Submit takes something in. The same session and key again get the same receipt and append nothing, whatever the
// request says besides. Errors: fault.Invalid and TooLarge for what the gate refused (with a receipt, as the refusal is
// an event), Invalid for a request that is none, NotFound for a command or an edit to what is not there, Full, Busy
// (the session changes too fast), Timeout and Unavailable (unknown whether it was taken: repeat with the same key).
func (s *Service) Submit(ctx context.Context, r Request) (Receipt, error) {
	in, err := s.admit(r)
	if err != nil {
		return Receipt{}, err
	}
	ln, err := s.lanes.enter(ctx, in.session)
	if err != nil {
		return Receipt{}, fmt.Errorf("submit to %s: %w", in.session, err)
	}
	defer s.lanes.leave(in.session, ln)
	if b, ok := in.body.(messagev1.Received); ok && !in.given {
		if _, answers := thread.AnswerOf(b); !answers { // else the fold says whether it is one
			return s.appendNew(ctx, in)
		}
	}
	return s.appendOnce(ctx, in)
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// admit checks what a channel has to provide, and lets the gate decide about the rest.
func (s *Service) admit(r Request) (inbound, error) {
	sid, err := session.Parse(r.Session)
	if err != nil {
		return inbound{}, fault.New(fault.Invalid, "session: %w", err)
	}
	if sid == accessv1.Session {
		return inbound{}, fault.New(fault.Denied, "%s is no conversation: it says who was let in", sid)
	}
	if r.From.ID == "" {
		return inbound{}, fault.New(fault.Invalid, "from.id is missing: who writes?")
	}
	if !validKey(r.Key) {
		return inbound{}, fault.New(fault.Invalid, "the key has at most %d bytes, printable ASCII without spaces", maxKey)
	}
	in := inbound{key: r.Key, given: r.Key != ""}
	if !in.given {
		in.key = rand.Text()
	}
	in.topic = topic{sid, thread.MessageID(sid, in.key)}
	in.body = thread.Admit(thread.Inbound{
		From: r.From, Text: string(r.Text), Edits: r.Edits, Verb: r.Verb, Argument: string(r.Argument),
		Native: r.Native, Group: r.Group, Quote: r.Quote, Forwarded: r.Forwarded, Files: r.Files, Reaction: r.Reaction,
		Button: r.Button, Refusal: r.Refusal, Tell: r.Tell,
	}, s.limits)
	in.event = envelope.Event{ID: in.id, Session: sid, Key: in.key, Body: in.body}
	if traceparent.MatchString(r.Trace) {
		in.event.Trace = r.Trace
	}
	return in, nil
}

// validKey keeps keys to what a header of the journal carries unchanged.
func validKey(key string) bool {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= maxKey
}

// appendNew appends a message whose key was made a moment ago and cannot be known: nothing has to be read.
func (s *Service) appendNew(ctx context.Context, in inbound) (Receipt, error) {
	if err := s.checkRoom(ctx); err != nil {
		return Receipt{}, err
	}
	s.board.expect(in.topic)
	cursor, err := s.journal.AppendFact(ctx, in.event, s.cursors.of(in.session))
	return s.appended(in, cursor, err)
}

// appendOnce appends behind a fold that does not know the key. The compare-and-set proves that the fold had no news.
func (s *Service) appendOnce(ctx context.Context, in inbound) (Receipt, error) {
	upto := s.cursors.of(in.session)
	for try := range submitTries {
		state, cursor, err := s.fold(ctx, in.session, upto)
		if err != nil {
			return Receipt{}, err
		}
		if it, ok := state.Find(in.id); ok {
			return s.again(ctx, in, it)
		}
		now, err := s.answering(ctx, state, in)
		if err == nil {
			err = s.permit(ctx, state, cursor, now)
		}
		if err != nil {
			return Receipt{}, err
		}
		if now.pends() {
			s.board.expect(in.topic)
		} else {
			s.board.drop(in.topic) // it was a message when it was tried before
		}
		now.event.Prev = cursor
		at, err := s.journal.Append(ctx, now.event)
		news, lost := errors.AsType[*bus.Conflict](err)
		if !lost {
			return s.appended(now, at, err)
		}
		if err := news.Settle(ctx, try); err != nil {
			return Receipt{}, err
		}
		upto = news.Last // 0 when the journal did not say: the fold then asks
	}
	s.board.drop(in.topic)
	return Receipt{}, fault.New(fault.Busy, "%s changed %d times meanwhile: send it again", in.session, submitTries)
}

// fold trusts upto only as far as it leads: the session may have been purged since.
func (s *Service) fold(ctx context.Context, sid session.ID, upto uint64) (thread.State, uint64, error) {
	state, cursor, err := s.folder.Fold(ctx, sid, upto)
	if upto != 0 && errors.Is(err, bus.ErrNoEvent) {
		return s.folder.Fold(ctx, sid, 0)
	}
	return state, cursor, err
}

// permit says why the event must not be appended behind the fold. A refusal that cannot be kept (a deleted session
// takes nothing but a new message, a full journal no more words) is only told.
func (s *Service) permit(ctx context.Context, state thread.State, cursor uint64, in inbound) error {
	full := s.checkRoom(ctx)
	switch b := in.body.(type) {
	case messagev1.Received, messagev1.Quarantined, messagev1.PermissionAnswer:
		return full
	case messagev1.Refused:
		if full != nil || state.Deleted() {
			return refusal(b)
		}
	case messagev1.Edited:
		if full != nil {
			return full
		}
		if it, ok := state.Find(b.Message); !ok || it.Status == thread.Refused || it.Status == thread.Done {
			return fault.New(fault.NotFound, "there is no message %s in %s to edit", b.Message, in.session)
		}
	case messagev1.Reacted:
		if cursor == 0 || state.Deleted() {
			return fault.New(fault.NotFound, "there is no session %s, and no message in it", in.session)
		}
		return full
	case messagev1.Control:
		switch {
		case state.Deleted(), cursor == 0 && clears(b.Verb):
			return fault.New(fault.NotFound, "there is no session %s: write a message first", in.session)
		case !clears(b.Verb):
			return full
		}
	case messagev1.Decision:
		switch {
		case state.Deleted(), cursor == 0:
			return fault.New(fault.NotFound, "there is no session %s, and nothing to decide in it", in.session)
		case !state.Asks(): // else it lets a running turn go on, which has the rest of the journal
			return full
		}
	}
	return nil
}

// appended turns the end of an append into an answer.
func (s *Service) appended(in inbound, cursor uint64, err error) (Receipt, error) {
	r, refused := in.body.(messagev1.Refused)
	if err != nil {
		s.board.drop(in.topic)
		if refused && fault.KindOf(err) == fault.Full {
			err = refusal(r)
		}
		return Receipt{}, err
	}
	s.cursors.saw(in.session, cursor)
	s.board.taken(in.topic, time.Now())
	receipt := Receipt{MessageID: in.id, Session: in.session, Cursor: cursor, Status: wire.Pending}
	switch b := in.body.(type) {
	case messagev1.Refused:
		receipt.Status = wire.Refused
		return receipt, refusal(r)
	case messagev1.Edited, messagev1.Reacted, messagev1.Quarantined:
		receipt.Status = wire.Completed
	case messagev1.PermissionAnswer:
		receipt.Status, receipt.Passed = wire.Completed, true
	case messagev1.Received:
		s.room.took(b.Text)
	case messagev1.Control, messagev1.Decision:
	}
	return receipt, nil
}

// again answers a repeat of a key as the first was answered.
func (s *Service) again(ctx context.Context, in inbound, it thread.Item) (Receipt, error) {
	receipt := Receipt{MessageID: in.id, Session: in.session, Cursor: it.Cursor, Status: statusOf(it.Status)}
	if it.Status != thread.Refused {
		return receipt, nil
	}
	e, err := s.journal.Get(ctx, it.Cursor)
	if err != nil {
		return Receipt{}, err
	}
	if r, ok := e.Body.(messagev1.Refused); ok {
		return receipt, refusal(r)
	}
	return receipt, fault.New(fault.Invalid, "it was refused before")
}
