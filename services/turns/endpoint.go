package turns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// ContextRequest asks what the next model call of a session would show (svc.turns.context).
type ContextRequest struct {
	Session string `json:"session"`
	From    int    `json:"from,omitempty"`   // index of the first message that is wanted
	Cursor  uint64 `json:"cursor,omitempty"` // of the answer that this one goes on from; 0 for the first
	// Brief asks for the models alone, also of a session that nobody has written to yet.
	Brief bool `json:"brief,omitempty"`
}

// Context is what the next model call of a session would show. A long one comes in several answers.
type Context struct {
	Session  session.ID      `json:"session"`
	Cursor   uint64          `json:"cursor"` // of the last event that it is made of
	Models   []string        `json:"models"` // that would be asked, in order
	Endpoint string          `json:"endpoint"`
	Window   int             `json:"window"` // tokens that the request and its answer may have together
	Tokens   int             `json:"tokens"` // estimated, of the request
	Parts    []prompt.Part   `json:"parts"`
	Tools    []model.Tool    `json:"tools"`
	Messages []model.Message `json:"messages"`           // from From on, as many as fit
	Next     int             `json:"next,omitempty"`     // index of the message to go on from; 0: that is all
	Problems []string        `json:"problems,omitempty"` // of the workspace
}

// answerBytes bounds the messages of one answer.
const answerBytes = 512 << 10

func (s *Service) answerContext(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := bus.Question[ContextRequest](data)
	if err != nil {
		return nil, err
	}
	id, state, cursor, err := s.find(ctx, r.Session)
	switch {
	case r.Brief && fault.KindOf(err) == fault.NotFound: // it would begin like this
	case err != nil:
		return nil, err
	case r.Cursor != 0 && r.Cursor != cursor:
		return nil, fault.New(fault.Conflict, "%s has changed meanwhile: ask again from the beginning", id)
	}
	a := s.calls.agents.of(id)
	out := Context{Session: id, Cursor: cursor, Models: a.chain(state)}
	m, err := s.calls.model(a, out.Models[0])
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	out.Endpoint, out.Window = m.Endpoint(), a.window(m, s.calls.prices)
	if r.Brief {
		return out, nil
	}
	s.calls.shelf.refresh(ctx, false)
	plan := s.calls.plan(a, state, m)
	out.Problems = a.problems()
	out.Tokens, out.Parts, out.Tools = plan.Tokens, plan.Parts, plan.Tools
	for _, x := range state.Past {
		for i := range out.Parts {
			if p := &out.Parts[i]; p.Name == "turn "+x.Turn {
				p.Note = strings.TrimSpace(excerpt(x.Entries) + "  " + p.Note)
			}
		}
	}
	room := answerBytes
	for i := max(0, r.From); i < len(plan.Messages); i++ {
		encoded, err := json.Marshal(plan.Messages[i])
		if err != nil {
			return nil, fault.New(fault.Internal, "message %d: %w", i, err)
		}
		if room -= len(encoded); room < 0 && len(out.Messages) > 0 {
			out.Next = i
			break
		}
		out.Messages = append(out.Messages, plan.Messages[i])
	}
	return out, nil
}

// excerpt is how a turn begins, for a person to recognise it by.
func excerpt(entries []turn.Entry) string {
	const longest = 40
	if len(entries) == 0 {
		return ""
	}
	text := prompt.Said(entries[0])
	text = strings.Join(strings.Fields(text[:min(len(text), 8*longest)]), " ")
	if r := []rune(strings.ToValidUTF8(text, "")); len(r) > longest {
		return string(r[:longest-1]) + "…"
	}
	return text
}

// DeleteRequest asks for the tombstone of a session (svc.turns.delete). What lies below it can then be purged.
type DeleteRequest struct {
	Session string                `json:"session"`
	Cursor  uint64                `json:"cursor"` // last event that the asker has seen; with news it is refused
	Reason  turnv1.SessionDeleted `json:"reason"`
}

// Deleted says where the tombstone is.
type Deleted struct {
	Cursor uint64 `json:"cursor"`
}

func (s *Service) answerDelete(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := bus.Question[DeleteRequest](data)
	if err != nil {
		return nil, err
	}
	id, state, cursor, err := s.find(ctx, r.Session)
	if errors.Is(err, bus.ErrNoEvent) { // its chain has a hole: nobody can work on it, and to begin anew is all that helps
		state = turn.State{}
		cursor, err = s.conn.Journal().Last(ctx, id)
	}
	switch {
	case err != nil:
		return nil, err
	case id == accessv1.Session:
		return nil, fault.New(fault.Denied, "%s is no conversation: it says who was let in", id)
	case cursor != r.Cursor:
		return nil, fault.New(fault.Conflict, "%s has news since cursor %d: it is not dormant", id, r.Cursor)
	case !state.Quiet():
		return nil, fault.New(fault.Conflict, "%s is at work: stop it first", id)
	}
	at, err := s.conn.Journal().Append(ctx, envelope.Event{Session: id, Prev: cursor, Body: r.Reason})
	if _, lost := errors.AsType[*bus.Conflict](err); lost {
		return nil, fault.New(fault.Conflict, "%s has news: it is not dormant", id)
	}
	if err != nil {
		return nil, err
	}
	return Deleted{Cursor: at}, nil
}

// find folds a session up to its last event. One that nobody has written to is fault.NotFound.
func (s *Service) find(ctx context.Context, name string) (session.ID, turn.State, uint64, error) {
	id, err := session.Parse(name)
	if err != nil {
		return "", turn.State{}, 0, fault.New(fault.Invalid, "session: %w", err)
	}
	state, cursor, err := s.actor.Fold(ctx, id, 0)
	if err == nil && cursor == 0 {
		err = fault.New(fault.NotFound, "there is no session %s", id)
	}
	return id, state, cursor, err
}
