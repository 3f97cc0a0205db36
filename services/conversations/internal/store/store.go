// Package store keeps the read model of conversations in one SQLite file: a row for each session, one for each message, and
// their words (FTS5).
//
// It promises:
//
//   - One Write is one transaction: the rows and the cursor up to which they are folded change together, so that a crash at any
//     instant leaves a file that can be read on from its cursor. A power failure may damage the file; it is then rebuilt.
//   - What is no file of this version (damaged, another's, an older form) is ErrForeign, and nothing is changed in it.
//   - What is deleted is overwritten in the file, in its index of words and, at the end of the Write, in its log.
//   - One process at a time: the file is locked while it is open.
//
// One connection serves reads and writes in turn; none of them waits for anything but the disk. The words of messages are
// indexed by the hundred, and before a search: a message at a time costs four times as much.
//
// Safe for concurrent use.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite" // the driver "sqlite"
	lib "modernc.org/sqlite/lib"
)

// ErrForeign says that a file is not one that this version can go on with.
var ErrForeign = errors.New("not an index of this version")

const (
	application = 0x6a636c77 // "jclw", in the file's header
	form        = 1          // of the tables; raised whenever they change
)

const schema = `
CREATE TABLE meta (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	fold   INTEGER NOT NULL, -- version of what is in session.state
	cursor INTEGER NOT NULL, -- up to which the journal is folded
	event  TEXT    NOT NULL, -- id of the event there
	indexed INTEGER NOT NULL, -- up to which message the words are indexed
	begun  INTEGER NOT NULL  -- when the file was begun, Unix nanoseconds
);
CREATE TABLE session (
	key     INTEGER PRIMARY KEY,
	id      TEXT    NOT NULL UNIQUE,
	agent   TEXT    NOT NULL,
	channel TEXT    NOT NULL,
	last    INTEGER NOT NULL, -- cursor of its last event
	event   TEXT    NOT NULL, -- id of it
	updated INTEGER NOT NULL, -- time of it, Unix nanoseconds
	open    INTEGER NOT NULL,
	label   TEXT    NOT NULL, -- what a list is searched for, in lower case
	state   BLOB    NOT NULL
);
CREATE INDEX session_last ON session (last);
CREATE TABLE message (
	cursor  INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	id      TEXT    NOT NULL,
	time    INTEGER NOT NULL,
	role    TEXT    NOT NULL,
	sender  TEXT    NOT NULL,
	text    TEXT    NOT NULL,
	turn    TEXT    NOT NULL,
	files   BLOB,             -- JSON
	edited  INTEGER NOT NULL
);
CREATE INDEX message_session ON message (session);
CREATE VIRTUAL TABLE words USING fts5 (
	text, content = 'message', content_rowid = 'cursor', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
`

// pragmas: no sync, as the file can be rebuilt; locked by its one owner, which also spares the shared memory of the log.
var pragmas = url.Values{
	"_pragma": {
		"busy_timeout(1000)", "locking_mode(EXCLUSIVE)", "journal_mode(WAL)", "synchronous(OFF)", "secure_delete(ON)",
		"cache_size(-1024)", "mmap_size(0)", "temp_store(MEMORY)",
	},
	"_txlock": {"immediate"},
}

// Store is one open file.
type Store struct {
	db   *sql.DB
	path string

	unindexed atomic.Int64 // messages that were written since their words were indexed last; about

	statements
}

// Options say what is opened.
type Options struct {
	Path string
	Fold int       // version of the states in it
	Now  time.Time // when a new file is begun
}

// Open opens a file, or begins one where there is none; begun says which.
func Open(ctx context.Context, o Options) (s *Store, begun bool, err error) {
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, false, fmt.Errorf("folder of the index: %w", err)
	}
	info, err := os.Stat(o.Path)
	begun = errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
	if begun {
		if err := touch(o.Path); err != nil {
			return nil, false, fmt.Errorf("begin the index: %w", err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: o.Path}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, false, fmt.Errorf("open the index: %w", err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(0)
	s = &Store{db: db, path: o.Path}
	if err := s.prepare(ctx, o, begun); err != nil {
		return nil, begun, errors.Join(err, s.Close())
	}
	return s, begun, nil
}

// touch makes an empty file that is the owner's alone; SQLite gives its log the same mode.
func touch(path string) error {
	if err := Remove(path); err != nil { // the log of a file that is gone
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// prepare makes the tables of a new file, or checks those of an old one.
func (s *Store) prepare(ctx context.Context, o Options, begun bool) error {
	if begun {
		if err := s.begin(ctx, o); err != nil {
			return fmt.Errorf("begin the index: %w", tabled(err))
		}
	}
	var app, version, fold int
	err := errors.Join(
		s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app),
		s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
	)
	if err != nil {
		return fmt.Errorf("read the index: %w", tabled(err))
	}
	if app != application || version != form {
		return fmt.Errorf("%w: application %d, form %d", ErrForeign, app, version)
	}
	if err := s.db.QueryRowContext(ctx, "SELECT fold FROM meta").Scan(&fold); err != nil {
		return fmt.Errorf("read the index: %w", tabled(err))
	}
	if fold != o.Fold {
		return fmt.Errorf("%w: folded by version %d", ErrForeign, fold)
	}
	if err := s.statements.prepare(ctx, s.db); err != nil {
		return fmt.Errorf("read the index: %w", tabled(err))
	}
	return nil
}

func (s *Store) begin(ctx context.Context, o Options) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{
		schema,
		fmt.Sprintf("PRAGMA application_id = %d", application),
		fmt.Sprintf("PRAGMA user_version = %d", form),
		fmt.Sprintf("INSERT INTO meta VALUES (1, %d, 0, '', 0, %d)", o.Fold, o.Now.UnixNano()),
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Close ends the use of the file. What was written stays, also when it fails.
func (s *Store) Close() error {
	if err := errors.Join(s.statements.close(), s.db.Close()); err != nil {
		return fmt.Errorf("close the index: %w", err)
	}
	return nil
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// Bytes is how large the file is, with its log.
func (s *Store) Bytes() int64 {
	var n int64
	for _, path := range files(s.path) {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

func files(path string) []string {
	return []string{path, path + "-wal", path + "-shm", path + "-journal"}
}

// Remove deletes a file with what SQLite keeps beside it.
func Remove(path string) error {
	var all error
	for _, p := range files(path) {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// Replace puts a closed file in the place of another closed one.
func Replace(from, to string) error {
	if err := Remove(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// classified makes ErrForeign of the errors by which SQLite says that a file is damaged. Others (no room, no access, in use) are
// returned as they are: the file may be good.
func classified(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & primary {
		case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_MISMATCH, lib.SQLITE_CONSTRAINT:
			return fmt.Errorf("%w: %w", ErrForeign, err)
		}
	}
	return err
}

// tabled is classified for what is asked of a file first: there the tables may be none of ours, too.
func tabled(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if ok && e.Code()&primary == lib.SQLITE_ERROR || errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return classified(err)
}

// primary are the bits of a result code that say what it is about; the others say more.
const primary = 0xff
