package actor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// tombstone is the kind of the event below which a session was purged: a walk ends there, and so does the past.
const tombstone = "session.deleted"

// folded is a state and the cursor of the last event that it includes. It is a value: states are copied on write.
type folded[S any] struct {
	state  S
	cursor uint64
	event  string // its id
	loose  int    // events folded since the last snapshot
	bytes  int    // about what the state took when it was measured; 0: it was not
	grown  int    // events folded since then
}

// folds are those of sessions; see Folder.
type folds[S any] struct {
	version string
	apply   func(S, envelope.Event) S
	journal Journal
	snaps   Snapshots // may be nil
	log     *slog.Logger
	read    func(events int) // is told of each walk

	mu   sync.Mutex
	kept *lru.Cache[session.ID, folded[S]] // guarded by mu
}

// DefaultCache is how many sessions' folds a service keeps in memory, and how many bytes of them: enough for 2,048 short
// conversations, or for some sixty of the longest, whose turns are kept up to 256 KiB. A lane holds its own while it works.
func DefaultCache() lru.Limits { return lru.Limits{Entries: 2048, Bytes: 16 << 20} }

func newFolds[S any](p Ports, version string, apply func(S, envelope.Event) S, limits lru.Limits) *folds[S] {
	return &folds[S]{
		version: version, apply: apply, journal: p.Journal, snaps: p.Snapshots, log: p.Log, read: p.Hooks.OrSilent().Folded,
		kept: lru.New[session.ID, folded[S]](limits),
	}
}

// Fold is the state of a session up to a cursor of its own, or further if more is known; upto 0 means its last event.
// An error means that the state could not be read, never that it is short.
func (f *folds[S]) Fold(ctx context.Context, s session.ID, upto uint64) (S, uint64, error) {
	var zero S
	if upto == 0 {
		last, err := f.journal.Last(ctx, s)
		if err != nil {
			return zero, 0, err
		}
		upto = last
	}
	at, _, err := f.load(ctx, s, f.cached(s), upto)
	if err != nil {
		return zero, 0, err
	}
	if at.loose >= foldSnapshot && f.snaps != nil {
		if err := f.saveSnapshot(ctx, s, at); err != nil {
			f.log.Warn("snapshot not saved", "session", s, "error", err)
		}
		at.loose = 0
	}
	f.keep(s, &at)
	return at.state, at.cursor, nil
}

// foldSnapshot is how many events a reader without lanes folds before it keeps a snapshot for its next start.
const foldSnapshot = 256

// cached is what the cache has, else the zero fold.
func (f *folds[S]) cached(s session.ID) folded[S] {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, _ := f.kept.Get(s)
	return at
}

// keep puts a fold into the cache unless a newer one is there, and measures it when it may have changed much.
func (f *folds[S]) keep(s session.ID, at *folded[S]) {
	if at.cursor == 0 {
		return
	}
	if at.bytes == 0 || at.grown >= measureEvery+at.bytes/measureBytes {
		at.bytes, at.grown = sizeOf(at.state)+frameBytes, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old, ok := f.kept.Peek(s); ok && old.cursor > at.cursor {
		return
	}
	f.kept.Put(s, *at, at.bytes)
}

// A state is measured again after some events, the more the larger it is: to measure takes the longer, and one event changes less.
const (
	measureEvery = 32
	measureBytes = 4 << 10
	frameBytes   = 256 // what a fold takes beside its state
)

func (f *folds[S]) forget(s session.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept.Delete(s)
}

// advance folds one more event if it directly follows.
func (f *folds[S]) advance(at folded[S], ev envelope.Event) (folded[S], bool) {
	if ev.Cursor <= at.cursor || ev.Prev != at.cursor {
		return at, false
	}
	return f.fold(at, ev), true
}

// fold applies one event. A deleted session has no past, whatever the machine thinks of it.
func (f *folds[S]) fold(at folded[S], ev envelope.Event) folded[S] {
	if ev.Kind() == tombstone {
		at = folded[S]{}
	}
	return folded[S]{
		state: f.apply(at.state, ev), cursor: ev.Cursor, event: ev.ID, loose: at.loose + 1, bytes: at.bytes, grown: at.grown + 1,
	}
}

// load brings a fold up to a cursor of its session, and returns the events that it folded, newest first. The walk goes
// back along jc-prev and must land exactly on the fold it started from; else that one was of another past and is
// dropped. An event that is missing is an error, unless the session's tombstone lies above it.
func (f *folds[S]) load(ctx context.Context, s session.ID, at folded[S], upto uint64) (folded[S], []envelope.Event, error) {
	if upto <= at.cursor {
		return at, nil, nil
	}
	if at.cursor == 0 {
		var err error
		if at, err = f.snapshot(ctx, s, upto); err != nil {
			return at, nil, err
		}
	}
	next, news, err := f.walk(ctx, s, at, upto)
	if errors.Is(err, bus.ErrNoEvent) {
		last, lerr := f.journal.Last(ctx, s)
		if lerr != nil {
			return at, nil, lerr
		}
		if last > upto {
			next, news, err = f.walk(ctx, s, at, last)
		}
	}
	if err != nil {
		return at, nil, fmt.Errorf("fold %s: %w", s, err)
	}
	f.read(len(news))
	return next, news, nil
}

func (f *folds[S]) walk(ctx context.Context, s session.ID, at folded[S], upto uint64) (folded[S], []envelope.Event, error) {
	var news []envelope.Event
	for c := upto; c > at.cursor; {
		ev, err := f.journal.Get(ctx, c)
		if err != nil {
			return at, nil, err
		}
		if ev.Session != s {
			return at, nil, fmt.Errorf("event %d is of %s: %w", c, ev.Session, errBroken)
		}
		news = append(news, ev)
		if ev.Kind() == tombstone {
			break
		}
		if c = ev.Prev; c < at.cursor { // not our past
			f.dropSnapshot(ctx, s, at.cursor)
			at = folded[S]{}
		}
	}
	for _, ev := range slices.Backward(news) {
		at = f.fold(at, ev)
	}
	return at, news, nil
}

// errBroken says that the chain of a session leads elsewhere: no retry can mend it.
var errBroken = errors.New("the chain is broken")

// snapshot is the kept state of a session, if it is of this version and not newer than upto; else the zero fold. Its last event
// has to be the one that the journal has there: after a power failure a snapshot may be newer than the journal, and by the time
// that it is read the journal may have grown beyond it, with another past.
func (f *folds[S]) snapshot(ctx context.Context, s session.ID, upto uint64) (folded[S], error) {
	if f.snaps == nil {
		return folded[S]{}, nil
	}
	snap, ok, err := f.snaps.LoadSnapshot(ctx, s)
	if err != nil {
		return folded[S]{}, err
	}
	if !ok || snap.Version != f.version || snap.Cursor > upto {
		return folded[S]{}, nil
	}
	switch ev, err := f.journal.Get(ctx, snap.Cursor); {
	case errors.Is(err, bus.ErrNoEvent): // purged
		return folded[S]{}, nil
	case err != nil:
		return folded[S]{}, err
	case ev.ID != snap.Event || ev.Session != s:
		f.dropSnapshot(ctx, s, snap.Cursor)
		return folded[S]{}, nil
	}
	var state S
	if err := json.Unmarshal(snap.State, &state); err != nil {
		f.log.Warn("unreadable snapshot ignored", "session", s, "error", err)
		return folded[S]{}, nil
	}
	return folded[S]{state: state, cursor: snap.Cursor, event: snap.Event}, nil
}

func (f *folds[S]) dropSnapshot(ctx context.Context, s session.ID, cursor uint64) {
	f.log.Warn("fold dropped: its cursor is not on the session's chain", "session", s, "cursor", cursor)
	f.forget(s)
	if f.snaps == nil {
		return
	}
	if err := f.snaps.DropSnapshot(ctx, s); err != nil {
		f.log.Warn("snapshot not dropped", "session", s, "error", err)
	}
}

func (f *folds[S]) saveSnapshot(ctx context.Context, s session.ID, at folded[S]) error {
	state, err := json.Marshal(at.state)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", s, err)
	}
	return f.snaps.SaveSnapshot(ctx, s, bus.Snapshot{Version: f.version, Cursor: at.cursor, Event: at.event, State: state})
}
