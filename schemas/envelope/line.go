package envelope

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// Line is an event as a line of JSON, for scripts: HTTP event streams and `jetclaw events --json`. Fields are only added.
type Line struct {
	Cursor  uint64     `json:"cursor"`
	Time    time.Time  `json:"time"`
	Session session.ID `json:"session"`
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	Cause   string     `json:"cause"`
	Prev    uint64     `json:"prev"`
	Rules   string     `json:"rules,omitempty"`
	Data    any        `json:"data"`
}

// LineOf encodes an event without a line break. A body that nobody can decode is shown as it is stored: as JSON when it
// is that, else as a string.
func LineOf(e Event) ([]byte, error) {
	l := Line{
		Cursor: e.Cursor, Time: e.Time, Session: e.Session, Type: e.Type(), ID: e.ID, Cause: e.Cause, Prev: e.Prev, Rules: e.Rules,
		Data: e.Body,
	}
	if u, ok := e.Body.(Unknown); ok {
		l.Data = string(u.Data)
		if json.Valid(u.Data) {
			l.Data = json.RawMessage(u.Data)
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", e.Cursor, err)
	}
	return b, nil
}
