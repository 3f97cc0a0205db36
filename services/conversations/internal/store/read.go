package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// Mark is how far the journal is folded.
type Mark struct {
	Cursor uint64
	Event  string // id of the event there; "" at the beginning
	Begun  time.Time
	Key    int64 // the highest that a session has
}

// Mark reads it.
func (s *Store) Mark(ctx context.Context) (Mark, error) {
	var m Mark
	var begun int64
	err := s.db.QueryRowContext(ctx, "SELECT cursor, event, begun, (SELECT ifnull(max(key), 0) FROM session) FROM meta").
		Scan(&m.Cursor, &m.Event, &begun, &m.Key)
	if err != nil {
		return Mark{}, fmt.Errorf("read the index: %w", classified(err))
	}
	m.Begun = time.Unix(0, begun).UTC()
	return m, nil
}

// Marks are the last events of the sessions that were active last: where the event at the cursor is gone, one of these says
// whether the journal is the same one.
func (s *Store) Marks(ctx context.Context, limit int) ([]Mark, error) {
	var marks []Mark
	err := s.rows(ctx, func(scan scanner) error {
		var m Mark
		err := scan(&m.Cursor, &m.Event)
		marks = append(marks, m)
		return err
	}, "SELECT last, event FROM session ORDER BY last DESC LIMIT ?", limit)
	return marks, err
}

// Count says how many sessions and messages there are.
func (s *Store) Count(ctx context.Context) (sessions, messages int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM message)").Scan(&sessions, &messages)
	if err != nil {
		return 0, 0, fmt.Errorf("read the index: %w", classified(err))
	}
	return sessions, messages, nil
}

// ListFilter says which sessions; empty fields leave all of them.
type ListFilter struct {
	Below          uint64 // only those whose last event is below; 0: all
	Label          string // part of the title, a name, the id …
	Agent, Channel string
	Since          time.Time
	Open           bool
	Limit          int
}

// List is the sessions that a filter leaves, the last active first.
func (s *Store) List(ctx context.Context, f ListFilter) ([]Session, error) {
	w := where{}
	w.add(f.Below > 0, "last < ?", f.Below)
	w.add(f.Agent != "", "agent = ?", f.Agent)
	w.add(f.Channel != "", "channel = ?", f.Channel)
	w.add(!f.Since.IsZero(), "updated >= ?", nanos(f.Since))
	w.add(f.Label != "", "instr(label, ?) > 0", strings.ToLower(f.Label))
	w.add(f.Open, "open = ?", true)
	w.args = append(w.args, f.Limit)
	var list []Session
	err := s.rows(ctx, func(scan scanner) error {
		var row Session
		var state []byte
		if err := scan(&row.Key, &row.ID, &state); err != nil {
			return err
		}
		if err := json.Unmarshal(state, &row.State); err != nil {
			return fmt.Errorf("state of %s: %w: %w", row.ID, ErrForeign, err)
		}
		list = append(list, row)
		return nil
	}, "SELECT key, id, state FROM session"+w.String()+" ORDER BY last DESC LIMIT ?", w.args...)
	return list, err
}

// IDs are those of the sessions that were active last.
func (s *Store) IDs(ctx context.Context, limit int) ([]session.ID, error) {
	var ids []session.ID
	err := s.rows(ctx, func(scan scanner) error {
		var id session.ID
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id FROM session ORDER BY last DESC LIMIT ?", limit)
	return ids, err
}

const messageColumns = "message.cursor, message.id, message.time, message.role, message.sender, message.text, message.turn, message.files, message.edited"

func scanMessage(scan scanner, more ...any) (conversation.Message, error) {
	var m conversation.Message
	var at int64
	var files []byte
	if err := scan(append([]any{&m.Cursor, &m.ID, &at, &m.Role, &m.From, &m.Text, &m.Turn, &files, &m.Edited}, more...)...); err != nil {
		return m, err
	}
	m.Time = time.Unix(0, at).UTC()
	if len(files) > 0 {
		return m, json.Unmarshal(files, &m.Files)
	}
	return m, nil
}

// Page says which messages of a session.
type Page struct {
	Key           int64  // of the session
	ID            string // only the one with this id; "": all
	After, Before uint64 // between these cursors, without them; a Before of 0 is the end
	Oldest        bool   // those next to After; else those next to Before
	Limit         int
	Room          int // bytes of text that are enough: a page ends with the message that fills it
}

// Messages are the messages of a page, oldest first. more says that there are others between its cursors.
func (s *Store) Messages(ctx context.Context, p Page) (list []conversation.Message, more bool, err error) {
	order := "DESC"
	if p.Oldest {
		order = "ASC"
	}
	w := where{}
	w.add(true, "session = ?", p.Key)
	w.add(p.ID != "", "id = ?", p.ID)
	w.add(p.After > 0, "cursor > ?", p.After)
	w.add(p.Before > 0, "cursor < ?", p.Before)
	w.args = append(w.args, p.Limit+1)
	room := p.Room
	err = s.rows(ctx, func(scan scanner) error {
		if len(list) == p.Limit || room <= 0 {
			more = true
			return errEnough
		}
		m, err := scanMessage(scan)
		list = append(list, m)
		room -= len(m.Text)
		return err
	}, "SELECT "+messageColumns+" FROM message"+w.String()+" ORDER BY cursor "+order+" LIMIT ?", w.args...)
	if err != nil {
		return nil, false, err
	}
	if !p.Oldest {
		slices.Reverse(list)
	}
	return list, more, nil
}

type scanner func(...any) error

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// rows calls each for every row of a query.
func (s *Store) rows(ctx context.Context, each func(scanner) error, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err == nil {
		for err == nil && rows.Next() {
			err = each(rows.Scan)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the index: %w", classified(err))
	}
	return nil
}

// where collects conditions that all hold.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(wanted bool, condition string, arg any) {
	if wanted {
		w.conditions = append(w.conditions, condition)
		w.args = append(w.args, arg)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// nanos is a time in Unix nanoseconds; those that have none are at the near end of what has.
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1700:
		return -1 << 63
	case t.Year() > 2200:
		return 1<<63 - 1
	}
	return t.UnixNano()
}
