package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/loadtest/user/client"
)

const (
	receivedType  = "message.received.v1"
	completedType = "turn.completed.v1"
)

// read goes on from the cursor until the message's answer is there.
func (s *session) read(ctx context.Context, id string) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	for {
		var found error
		err := s.c.Client.Events(ctx, s.name, s.cursor, func(e client.Event) bool {
			found = s.see(e)
			return found == nil && !s.answered(id)
		})
		switch {
		case found != nil:
			return found
		case s.answered(id):
			return nil
		}
		if !pause(ctx, retry) {
			return wrong(Events, "within %s there was no answer to %s behind cursor %d: %w", s.c.Patience, id, s.cursor, errors.Join(err, context.Cause(ctx)))
		}
	}
}

func (s *session) answered(id string) bool {
	m := s.find(id)
	return m == nil || m.answered
}

func (s *session) find(id string) *sent {
	for i := range s.sent {
		if s.sent[i].id == id {
			return &s.sent[i]
		}
	}
	return nil
}

// see folds one event. The cursor moves past it also when it is wrong: else each later attempt would find the same.
func (s *session) see(e client.Event) error {
	before := s.cursor
	s.cursor = max(s.cursor, e.Cursor)
	if e.Cursor <= before {
		return wrong(Order, "event %d comes behind cursor %d", e.Cursor, before)
	}
	if s.chained && e.Prev != before {
		return wrong(Order, "event %d (%s) names %d as the one before it, which is %d", e.Cursor, e.Type, e.Prev, before)
	}
	s.chained = true
	switch e.Type {
	case receivedType:
		return s.received(e)
	case completedType:
		return s.completed(e)
	}
	return nil
}

func (s *session) received(e client.Event) error {
	var b struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(e.Data, &b); err != nil {
		return wrong(Events, "event %d: %w", e.Cursor, err)
	}
	m := s.find(e.ID)
	switch {
	case m == nil: // its 202 was lost, and the attempt was over
		s.late++
		return nil
	case m.received:
		return wrong(Doubled, "message %s is there again, as event %d", e.ID, e.Cursor)
	case b.Text != m.text:
		return wrong(Text, "event %d has the text %.200q, and %q was sent", e.Cursor, b.Text, m.text)
	}
	m.received = true
	return nil
}

func (s *session) completed(e client.Event) error {
	var b struct {
		Answers []string `json:"answers"`
	}
	if err := json.Unmarshal(e.Data, &b); err != nil {
		return wrong(Events, "event %d: %w", e.Cursor, err)
	}
	var all []error
	for _, id := range b.Answers {
		m := s.find(id)
		switch {
		case m == nil:
			s.late++
		case !m.received:
			all = append(all, fmt.Errorf("event %d answers %s, which it stands before", e.Cursor, id))
		case m.answered:
			return wrong(Doubled, "message %s is answered again, by event %d", id, e.Cursor)
		default:
			if m.answered = true; m != &s.sent[len(s.sent)-1] {
				s.late++
			}
		}
	}
	if len(all) > 0 {
		return &Failure{Order, errors.Join(all...)}
	}
	return nil
}
