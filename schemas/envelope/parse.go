package envelope

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// ParseLine is the way back from LineOf: the event without what a line leaves out (Source, Key, Trace). A body that cannot be
// decoded becomes Unknown, as it does in Decode; an error is a line that is none.
func ParseLine(line []byte, body func(typ string, data []byte) (Body, error)) (Event, error) {
	var l struct {
		Cursor  uint64          `json:"cursor"`
		Time    time.Time       `json:"time"`
		Session string          `json:"session"`
		Type    string          `json:"type"`
		ID      string          `json:"id"`
		Cause   string          `json:"cause"`
		Prev    uint64          `json:"prev"`
		Rules   string          `json:"rules"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	id, err := session.Parse(l.Session)
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("%w: %w", ErrEnvelope, err)
	case l.ID == "" || l.Prev > l.Cursor:
		return Event{}, fmt.Errorf("%w: line of event %d with id %q, after %d", ErrEnvelope, l.Cursor, l.ID, l.Prev)
	}
	e := Event{ID: l.ID, Session: id, Cursor: l.Cursor, Prev: l.Prev, Cause: l.Cause, Rules: l.Rules, Time: l.Time.UTC()}
	if e.Body, err = body(l.Type, l.Data); err != nil {
		e.Body = Unknown{Type: l.Type, Data: l.Data, Err: err}
	}
	return e, nil
}
