package telegram

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// Store keeps small values for all processes of the service, each under a key, and replaces them by compare-and-set: a *bus.Conn
// is one. See there for the meaning of its methods.
type Store interface {
	Instance() string
	Now() time.Time
	ValueRevision(ctx context.Context, key string) (value []byte, revision uint64, ok bool, err error)
	ReviseValue(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

const (
	askTime  = time.Second            // of one question to the store
	lookTime = 250 * time.Millisecond // of a question that a decision waits for
	tellTime = 5 * time.Second        // for a page to be written; then its calls are made all the same
	awayTime = 10 * time.Second       // how long the store is then left alone
	againIn  = 2 * time.Millisecond   // until the store is asked again, doubled each time
	againMax = 200 * time.Millisecond
)

// errLags: the copy of the store that has answered does not have yet what others have written.
var errLags = errors.New("the store lags behind itself")

// board is the page of a bot in the store.
//
// It keeps processes apart politely, and stands in nobody's way: while the store cannot be used each goes by what it knows, and
// what Telegram says of that (429) is heeded.
type board struct {
	store Store
	key   string
	log   *slog.Logger
	// The rest is guarded by the gate's mu.
	ledger  ledger
	asked   time.Time     // when it was last looked at
	away    time.Time     // the store is left alone until then
	telling chan struct{} // closed by who writes pages when there is nothing more to tell; nil when nobody does
}

// share has the gate keep its limits together with other processes. Before anybody enters.
func (g *gate) share(s Store, key string, log *slog.Logger) {
	g.board = &board{store: s, key: key, log: log, ledger: ledger{self: s.Instance()}}
	g.lim.shared = true
}

// tell has the others know what has changed. The caller holds mu.
func (g *gate) tell() {
	b := g.board
	if b == nil || !g.lim.dirty || b.telling != nil {
		return
	}
	b.telling = make(chan struct{})
	go func() { // close waits for it
		g.mu.Lock()
		defer g.mu.Unlock()
		for g.lim.dirty {
			g.write()
		}
		close(b.telling)
		b.telling = nil
	}()
}

// close returns when nothing is left to be told.
func (g *gate) close() {
	if g.board == nil {
		return
	}
	g.mu.Lock()
	telling := g.board.telling
	g.mu.Unlock()
	if telling != nil {
		<-telling
	}
}

// write writes a page of all that is known, and makes the calls that it tells. The caller holds mu, which is let go of meanwhile.
func (g *gate) write() {
	b := g.board
	ctx, cancel := context.WithTimeout(context.Background(), tellTime)
	defer cancel()
	for wait := againIn; ; wait = min(2*wait, againMax) {
		g.lim.dirty = false
		begun, now := slices.Clone(g.lim.begun), time.Now() // before the shared clock, as learn has it the other way round
		if now.Before(b.away) {
			g.lim.told(begun)
			return
		}
		page, err := b.ledger.write(g.lim, now, b.store.Now())
		revision := b.ledger.revision
		g.mu.Unlock()
		next := uint64(0)
		if err == nil {
			next, err = b.revise(ctx, page, revision)
		}
		var theirs []byte
		asked, newest := time.Now(), uint64(0)
		if err == nil && next == 0 {
			theirs, newest, err = b.read(ctx, askTime)
		}
		if err == nil && next == 0 && newest <= revision {
			err = errLags
		}
		tired := err != nil && !pause(ctx, wait)
		g.mu.Lock()
		switch {
		case err == nil && next != 0:
			b.ledger.wrote(next, now)
			g.lim.told(begun)
			return
		case err == nil:
			g.learn(theirs, newest, asked)
			g.lim.dirty = true
		case tired:
			b.log.Warn("the limits of Telegram are not kept together with other processes for a while", "for", awayTime, "error", err)
			b.away = time.Now().Add(awayTime)
			g.lim.told(begun)
			return
		}
	}
}

// look takes in what the others have told since the last time.
func (g *gate) look() {
	b := g.board
	if b == nil {
		return
	}
	g.mu.Lock()
	now := time.Now()
	if now.Sub(b.asked) < soon || now.Before(b.away) {
		g.mu.Unlock()
		return
	}
	b.asked = now
	g.mu.Unlock()
	page, revision, err := b.read(context.Background(), lookTime)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil { // else whoever is about to call finds out
		g.learn(page, revision, now)
	}
}

// learn takes in a page that was asked for at a time. The caller holds mu.
func (g *gate) learn(page []byte, revision uint64, asked time.Time) {
	wall, now := g.board.store.Now(), time.Now() // in this order: what happened between the two counts for nobody
	news, err := g.board.ledger.read(page, revision, asked, now, wall)
	if err != nil {
		g.board.log.Warn("what other processes have called cannot be read", "error", err)
	}
	if news {
		g.lim.learn(&g.board.ledger, now)
		g.advance(now)
	}
}

func (b *board) revise(ctx context.Context, page []byte, revision uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return b.store.ReviseValue(ctx, b.key, page, revision)
}

func (b *board) read(ctx context.Context, limit time.Duration) ([]byte, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	page, revision, _, err := b.store.ValueRevision(ctx, b.key)
	return page, revision, err
}

// pause waits, and says whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
