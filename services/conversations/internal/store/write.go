package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// Batch is what a run of events has changed. Changes are made in their order, then the sessions are written.
type Batch struct {
	Cursor   uint64 // of the last event
	Event    string // id of it
	Changes  []Change
	Sessions []Session
}

// Change is one of its three.
type Change struct {
	Key     int64                 // of the session
	Message *conversation.Message // a new message
	Edited  string                // id of the message that gets Text
	Text    string
	Deleted bool // the session goes with all that it had
}

// Session is the row of one session.
type Session struct {
	Key   int64
	ID    session.ID
	Label string // what a list is searched for, in lower case
	State conversation.State
}

// wordsDue is how many messages wait until their words are indexed together.
const wordsDue = 200

// statements are those that each turn needs; prepared once.
type statements struct {
	addMessage, editText, putSession, getSession, setCursor *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		to    **sql.Stmt
		query string
	}{
		{&s.addMessage, "INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&s.editText, "UPDATE message SET text = ?, edited = 1 WHERE cursor = ?"},
		{&s.putSession, `INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
			last = excluded.last, event = excluded.event, updated = excluded.updated, open = excluded.open, label = excluded.label,
			state = excluded.state`},
		{&s.getSession, "SELECT key, state FROM session WHERE id = ?"},
		{&s.setCursor, "UPDATE meta SET cursor = ?, event = ?"},
	} {
		var err error
		if *p.to, err = db.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	return nil
}

func (s *statements) close() error {
	var all error
	for _, st := range []*sql.Stmt{s.addMessage, s.editText, s.putSession, s.getSession, s.setCursor} {
		if st != nil {
			all = errors.Join(all, st.Close())
		}
	}
	return all
}

// Write makes the changes of a batch, all or none. It does not look at a context: it is short, and a batch that was half made
// would have to be made again.
func (s *Store) Write(b Batch) error {
	if err := s.write(b); err != nil {
		return fmt.Errorf("write the index: %w", classified(err))
	}
	return nil
}

func (s *Store) write(b Batch) error {
	ctx := context.Background()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	w := writer{tx: tx, s: s}
	deleted, added := false, int64(0)
	for _, c := range b.Changes {
		if err := w.change(ctx, c); err != nil {
			return err
		}
		if deleted = deleted || c.Deleted; c.Message != nil {
			added++
		}
	}
	for _, row := range b.Sessions {
		if err := w.session(ctx, row); err != nil {
			return err
		}
	}
	if s.unindexed.Add(added) >= wordsDue {
		if err := w.words(ctx); err != nil {
			return err
		}
		s.unindexed.Store(0)
	}
	if _, err := tx.StmtContext(ctx, s.setCursor).ExecContext(ctx, b.Cursor, b.Event); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if deleted { // else the log shows what was there
		_, err = s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err
}

// writer is one transaction.
type writer struct {
	tx *sql.Tx
	s  *Store
}

func (w writer) change(ctx context.Context, c Change) error {
	switch {
	case c.Deleted:
		return w.remove(ctx, c.Key)
	case c.Message != nil:
		return w.message(ctx, c.Key, *c.Message)
	case c.Edited != "":
		return w.edit(ctx, c)
	}
	return nil
}

func (w writer) message(ctx context.Context, key int64, m conversation.Message) error {
	var files []byte
	if len(m.Files) > 0 {
		var err error
		if files, err = json.Marshal(m.Files); err != nil {
			return fmt.Errorf("files of message %s: %w", m.ID, err)
		}
	}
	_, err := w.tx.StmtContext(ctx, w.s.addMessage).ExecContext(ctx, m.Cursor, key, m.ID, m.Time.UnixNano(), m.Role, m.From,
		m.Text, m.Turn, files, m.Edited)
	return err
}

// unindex takes the words of messages out of their index, as far as they are in it: that needs the text that they had.
const unindex = "INSERT INTO words (words, rowid, text) SELECT 'delete', cursor, text FROM message WHERE cursor <= (SELECT indexed FROM meta) AND "

const reindex = "INSERT INTO words (rowid, text) SELECT cursor, text FROM message WHERE cursor = ? AND cursor <= (SELECT indexed FROM meta)"

func (w writer) edit(ctx context.Context, c Change) error {
	var cursor uint64
	err := w.tx.QueryRowContext(ctx, "SELECT cursor FROM message WHERE session = ? AND id = ? ORDER BY cursor DESC LIMIT 1",
		c.Key, c.Edited).Scan(&cursor)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // of a message that was never let in, or is gone
	}
	if err != nil {
		return err
	}
	if _, err := w.tx.ExecContext(ctx, unindex+"cursor = ?", cursor); err != nil {
		return err
	}
	if _, err := w.tx.StmtContext(ctx, w.s.editText).ExecContext(ctx, c.Text, cursor); err != nil {
		return err
	}
	_, err = w.tx.ExecContext(ctx, reindex, cursor)
	return err
}

func (w writer) remove(ctx context.Context, key int64) error {
	for _, q := range []string{unindex + "session = ?", "DELETE FROM message WHERE session = ?", "DELETE FROM session WHERE key = ?"} {
		if _, err := w.tx.ExecContext(ctx, q, key); err != nil {
			return err
		}
	}
	return nil
}

func (w writer) session(ctx context.Context, row Session) error {
	state, err := json.Marshal(row.State)
	if err != nil {
		return fmt.Errorf("state of %s: %w", row.ID, err)
	}
	_, err = w.tx.StmtContext(ctx, w.s.putSession).ExecContext(ctx, row.Key, string(row.ID), row.ID.Agent(), row.ID.Channel(),
		row.State.Last, row.State.LastID, row.State.Updated.UnixNano(), !row.State.Quiet(), row.Label, state)
	return err
}

// words indexes the messages that wait for it.
func (w writer) words(ctx context.Context) error {
	for _, q := range []string{
		"INSERT INTO words (rowid, text) SELECT cursor, text FROM message WHERE cursor > (SELECT indexed FROM meta)",
		"UPDATE meta SET indexed = max(indexed, (SELECT ifnull(max(cursor), 0) FROM message))",
	} {
		if _, err := w.tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// index brings the words up to date.
func (s *Store) index(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var waits bool
	const waiting = "SELECT EXISTS (SELECT 1 FROM message WHERE cursor > (SELECT indexed FROM meta))"
	if err := tx.QueryRowContext(ctx, waiting).Scan(&waits); err != nil || !waits {
		return err
	}
	if err := (writer{tx: tx, s: s}).words(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// Find is the row of a session without its label; ok is false when there is none.
func (s *Store) Find(ctx context.Context, id session.ID) (row Session, ok bool, err error) {
	var state []byte
	err = s.getSession.QueryRowContext(ctx, string(id)).Scan(&row.Key, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, false, nil
	}
	if err != nil {
		return Session{}, false, fmt.Errorf("read %s from the index: %w", id, classified(err))
	}
	row.ID = id
	if err := json.Unmarshal(state, &row.State); err != nil {
		return Session{}, false, fmt.Errorf("state of %s: %w: %w", id, ErrForeign, err)
	}
	return row, true, nil
}
