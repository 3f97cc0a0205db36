// Package daily keeps today's accounts for the budgets of the day.
//
// It reads the journal from the beginning of the day, follows it, and drops the days before. A budget fails closed: when
// the accounts could not be read, or hold calls whose price is not known while money is limited, it is used up. It is
// exact but for what is on its way: of calls that run side by side each may be the one that goes over.
package daily

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

const (
	patience = 2 * time.Second // how long a check waits for the accounts
	retry    = time.Second     // between tries to read the journal
	// slack is read before the beginning of the day: an event is stored by the server's clock, and dated by its worker's.
	slack = time.Hour
)

// Follower reads the journal; see bus.Conn.
type Follower interface {
	Replay(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error
	Follow(ctx context.Context, o bus.ReplayOptions, fn func(envelope.Event) error) error
}

// Accounts are those of today. It is safe for concurrent use.
type Accounts struct {
	journal Follower
	budgets Budgets
	read    chan struct{} // closed when all of today was read

	mu    sync.Mutex
	book  ledger.Book
	today string
	lost  bool // Run ended with an error: the accounts are not kept any more
}

// New makes the accounts; Run keeps them.
func New(journal Follower, budgets Budgets) *Accounts {
	return &Accounts{journal: journal, budgets: budgets, read: make(chan struct{})}
}

// Reprice lets calls of today whose price was not known when they were made have the price that is known now. It is
// called before Run.
func (a *Accounts) Reprice(price func(model string, u turnv1.Usage) turnv1.Usage) {
	a.book.Price = price
}

// Run keeps the accounts until ctx ends; Check goes on with what there is then.
func (a *Accounts) Run(ctx context.Context) error {
	err := a.run(ctx)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.lost = true
		return fmt.Errorf("accounts of the day: %w", err)
	}
	return nil
}

func (a *Accounts) run(ctx context.Context) error {
	begin := time.Now().UTC().Truncate(24 * time.Hour).Add(-slack)
	err := a.journal.Replay(ctx, a.rest(begin), a.add)
	for away(err) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(retry):
			err = a.journal.Replay(ctx, a.rest(begin), a.add)
		}
	}
	select {
	case <-ctx.Done():
		return nil
	default:
	}
	if err != nil {
		return err
	}
	close(a.read)
	for {
		err := a.journal.Follow(ctx, a.rest(begin), a.add)
		select {
		case <-ctx.Done(): // perhaps while the journal was being asked
			return nil
		default:
		}
		if !away(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}

// away says whether an error is a bus that cannot be reached for a moment.
func away(err error) bool {
	k := fault.KindOf(err)
	return k == fault.Unavailable || k == fault.Timeout
}

// rest is the part of the journal that was not read yet.
func (a *Accounts) rest(begin time.Time) bus.ReplayOptions {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.book.Cursor(); c > 0 {
		return bus.ReplayOptions{From: c + 1}
	}
	return bus.ReplayOptions{Since: begin}
}

func (a *Accounts) add(ev envelope.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.book.Add(ev)
	at := ev.Time
	if now := time.Now(); at.After(now) {
		at = now // a clock that is ahead must not make today's accounts old ones
	}
	if day := ledger.Day(at); day > a.today {
		a.today = day
		// Yesterday stays: another worker's clock may be behind.
		a.book.Forget(ledger.Day(at.Add(-24 * time.Hour)))
	}
	return nil
}

// Ready returns when today's accounts have been read, or with ctx's error.
func (a *Accounts) Ready(ctx context.Context) error {
	select {
	case <-a.read:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Check says whether a budget of the day is used up for an agent, and what to tell the person. It waits a little for the
// accounts after a start.
func (a *Accounts) Check(ctx context.Context, agent string, now time.Time) (text string, over bool) {
	if !a.budgets.limited(agent) {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := a.Ready(ctx); err != nil {
		return unread, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost {
		return unread, true
	}
	day := ledger.Day(now)
	for _, s := range a.budgets.scopes(agent) {
		if text := s.check(&a.book, day, now); text != "" {
			return text, true
		}
	}
	return "", false
}
