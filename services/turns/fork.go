package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// ForkRequest asks for a new session that begins with the past of another one and then goes on for real (svc.turns.fork).
type ForkRequest struct {
	Session string `json:"session"`
	At      uint64 `json:"at,omitempty"`    // cursor of the last event of the past; 0: the last that there is
	As      string `json:"as,omitempty"`    // the new session's id, in the terminal; "": one is made up
	Model   string `json:"model,omitempty"` // that it goes on with; "": as it was
	Edit    *Edit  `json:"edit,omitempty"`
	By      string `json:"by"`
}

// Edit gives one message or result of the past another text.
type Edit struct {
	Cursor uint64 `json:"cursor"`
	Text   string `json:"text"`
}

// Forked is the new session.
type Forked struct {
	Session session.ID `json:"session"`
	Cursor  uint64     `json:"cursor"` // of its first event
	From    session.ID `json:"from"`
	At      uint64     `json:"at"`
	Events  int        `json:"events"` // of the past that it has
	Waits   bool       `json:"waits"`  // something is open: it goes on by itself
}

const (
	// forkTime bounds the making of a fork: all of a history is read for it, and its files are copied.
	forkTime = 2 * time.Minute
	// maxPast is how many bytes of a past one event may hold: everybody who folds the session reads it whole.
	maxPast = 16 << 20
	// maxNames is how many names are tried for a session that nobody has named.
	maxNames = 100
)

func (s *Service) answerFork(ctx context.Context, data []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, forkTime)
	defer cancel()
	r, err := bus.Question[ForkRequest](data)
	if err != nil {
		return nil, err
	}
	from, err := conversation("session", r.Session)
	if err != nil {
		return nil, err
	}
	history, err := s.past(ctx, from)
	if err != nil {
		return nil, err
	}
	if history, err = upTo(history, from, r.At); err != nil {
		return nil, err
	}
	names, err := namesOf(r.As, from, history[len(history)-1].Cursor)
	if err != nil {
		return nil, err
	}
	body := turnv1.Forked{From: from, At: history[len(history)-1].Cursor, By: r.By}
	if r.Model != "" {
		if body.Model, err = s.calls.known(names[0], r.Model); err != nil {
			return nil, err
		}
	}
	if err := fill(&body, turn.Unfold(history), r.Edit); err != nil {
		return nil, err
	}
	return s.begin(ctx, names, r.As != "", envelope.Event{Cause: history[len(history)-1].ID, Body: body})
}

// conversation is the session of a name. What the house keeps for itself is none.
func conversation(what, name string) (session.ID, error) {
	id, err := session.Parse(name)
	switch {
	case err != nil:
		return "", fault.New(fault.Invalid, "%s: %w", what, err)
	case id.Channel() == house:
		return "", fault.New(fault.Denied, "%s is no conversation, but what the house keeps for itself", id)
	}
	return id, nil
}

// The channels that a fork has to do with: of the house it is none, and it is always in the terminal. What it says must not
// reach the people of another channel by itself: it answers, for real, what they have not asked there.
const (
	house    = "house"
	terminal = "terminal"
	local    = "local"
)

// past is the history of a session since it was last deleted.
func (s *Service) past(ctx context.Context, id session.ID) ([]envelope.Event, error) {
	history, err := s.conn.History(ctx, id, 0)
	if hole, ok := errors.AsType[*bus.HoleError](err); ok {
		return nil, fault.New(fault.Invalid, "the past of %s cannot be trusted: %w", id, hole)
	}
	if err != nil {
		return nil, err
	}
	if len(history) == 0 {
		return nil, fault.New(fault.NotFound, "there is no session %s", id)
	}
	for i, ev := range slices.Backward(history) {
		if _, deleted := ev.Body.(turnv1.SessionDeleted); !deleted {
			continue
		}
		if i == len(history)-1 {
			return nil, fault.New(fault.Invalid, "%s was deleted (event %d), and nothing has happened in it since", id, ev.Cursor)
		}
		return history[i+1:], nil
	}
	return history, nil
}

// upTo is the beginning of a history, the event at a cursor included; 0 is all of it.
func upTo(history []envelope.Event, id session.ID, at uint64) ([]envelope.Event, error) {
	if at == 0 {
		return history, nil
	}
	i, found := slices.BinarySearchFunc(history, at, func(ev envelope.Event, at uint64) int { return int(int64(ev.Cursor) - int64(at)) })
	if found {
		return history[:i+1], nil
	}
	nearest := history[max(0, i-1)]
	if i < len(history) && (at < nearest.Cursor || history[i].Cursor-at < at-nearest.Cursor) {
		nearest = history[i]
	}
	first, last := history[0].Cursor, history[len(history)-1].Cursor
	return nil, fault.New(fault.Invalid, "event %d is not one of %s: its events are among %d to %d, and the nearest is %d (%s)",
		at, id, first, last, nearest.Cursor, nearest.Kind())
}

// namesOf are the sessions that a fork may become, in order: the one that was asked for, or some that say what it is.
func namesOf(as string, from session.ID, at uint64) ([]session.ID, error) {
	if as != "" {
		id, err := conversation("as", as)
		switch {
		case err != nil:
			return nil, err
		case id.Agent() != from.Agent():
			// What is private to an agent (its USER and MEMORY) is in no event, and another may do other things with what was read.
			return nil, fault.New(fault.Invalid, "as: %s is of the agent %q, and a fork stays with that of %s: name a session %s.%s.%s.NAME",
				id, id.Agent(), from, session.Escape(from.Agent()), terminal, local)
		case id.Channel() != terminal:
			return nil, fault.New(fault.Invalid,
				"as: %s is in the channel %q, and what a fork says would reach people there: name a session of the terminal, %s.%s.%s.NAME",
				id, id.Channel(), session.Escape(id.Agent()), terminal, local)
		}
		return []session.ID{id}, nil
	}
	names := make([]session.ID, 0, maxNames)
	for n := 1; n <= maxNames; n++ {
		end := fmt.Sprintf("-at-%d", at)
		if n > 1 {
			end += fmt.Sprintf("-%d", n)
		}
		peer := []rune(from.Peer())
		for len(session.Escape(string(peer)))+len(end) > session.MaxToken {
			peer = peer[:len(peer)-1]
		}
		id, err := session.New(from.Agent(), terminal, local, string(peer)+end)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the fork cannot be named: %w", err)
		}
		names = append(names, id)
	}
	return names, nil
}

// known is the reference of a model that a session may use.
func (c *caller) known(id session.ID, name string) (string, error) {
	ref, why := c.agents.rulesOf(id).Resolve(name)
	if ref == "" {
		return "", fault.New(fault.Invalid, "model: %s", why)
	}
	if _, err := c.models.Model(ref); err != nil {
		return "", fault.New(fault.Invalid, "model: %w", err)
	}
	return ref, nil
}

// fill puts the past into a fork, with what is edited in it.
func fill(body *turnv1.Forked, past []envelope.Event, e *Edit) error {
	if e != nil {
		edited, err := e.apply(past)
		if err != nil {
			return err
		}
		body.Edited = edited
	}
	size := 0
	for _, ev := range past {
		if !matters(ev) {
			continue
		}
		line, err := envelope.LineOf(ev)
		if err != nil {
			return fault.New(fault.Internal, "%w", err)
		}
		if size += len(line); size > maxPast {
			return fault.New(fault.TooLarge, "the past of %s is longer than the %d MiB that a fork may take over: fork it at an earlier event",
				body.From, maxPast>>20)
		}
		body.Events = append(body.Events, json.RawMessage(line))
	}
	return nil
}

// begin appends the first event of a fork to the first of the sessions that nobody has written to.
func (s *Service) begin(ctx context.Context, names []session.ID, named bool, ev envelope.Event) (any, error) {
	journal := s.conn.Journal()
	journal.Stamp(&ev)
	body := ev.Body.(turnv1.Forked)
	state := turn.State{}.Apply(ev)
	for _, id := range names {
		last, err := journal.Last(ctx, id)
		if err != nil {
			return nil, err
		}
		if last == 0 {
			if err := s.copyFiles(ctx, body.From, id, state); err != nil {
				return nil, err
			}
			ev.Session = id
			cursor, err := journal.Append(ctx, ev)
			if err == nil {
				return Forked{Session: id, Cursor: cursor, From: body.From, At: body.At, Events: len(body.Events), Waits: !state.Quiet()}, nil
			}
			if _, taken := errors.AsType[*bus.Conflict](err); !taken {
				return nil, err
			}
		}
		if named {
			return nil, fault.New(fault.Conflict, "there is a session %s already: a fork has to be a new one, so name another", id)
		}
	}
	return nil, fault.New(fault.Conflict, "%s and %d more are taken: name the fork", names[0], len(names)-1)
}

// copyFiles gives a fork the attachments that its model may be shown: they are kept by session, and go with it.
func (s *Service) copyFiles(ctx context.Context, from, to session.ID, state turn.State) error {
	var copied []string
	for _, f := range state.Files() {
		if f.Digest == "" || slices.Contains(copied, f.Digest) {
			continue
		}
		copied = append(copied, f.Digest)
		data, err := s.conn.GetFile(ctx, from, f.Digest)
		if fault.KindOf(err) == fault.NotFound { // as there: the model is told
			continue
		}
		if err == nil {
			_, err = s.conn.PutFile(ctx, to, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
