package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// house is the channel of sessions that are the house's own books, and no conversations.
const house = "house"

// Single is one session that a person wants to go, as it was looked at.
type Single struct {
	Session  session.ID
	Events   int
	Messages int
	First    time.Time // of its events; zero when none says it
	Last     time.Time
	AtWork   string              // why it has to stay; "" when it need not
	Open     []conversation.Open // what is under way, which may be nothing that it has to stay for
	Gone     bool                // it has a tombstone and nothing above it; what is below may not have been purged to its end

	Broken bool // its chain has a hole: nobody can fold it or work on it

	cursor uint64 // of its last event
	spent  []turnv1.Spend
}

// Look reads one session. Errors: fault.NotFound when nobody has written to it, and fault.Denied when it is no conversation.
func Look(ctx context.Context, b SingleBus, id session.ID) (*Single, error) {
	if id.Channel() == house {
		return nil, fault.New(fault.Denied, "%s is no conversation: it is a book of the house, which stays", id)
	}
	events, err := b.History(ctx, id)
	_, broken := errors.AsType[*bus.HoleError](err)
	if broken {
		events = nil
		err = b.Replay(ctx, bus.ReplayOptions{Session: id}, func(ev envelope.Event) error {
			events = append(events, ev)
			return nil
		})
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", id, err)
	case len(events) == 0:
		return nil, fault.New(fault.NotFound, "there is no session %s", id)
	}
	one := &Single{Session: id, Events: len(events), Broken: broken, cursor: events[len(events)-1].Cursor}
	var state turn.State
	var book ledger.Book
	var seen conversation.State
	for _, ev := range events {
		state = state.Apply(ev)
		book.Add(ev)
		seen, _ = seen.Apply(ev)
		if one.First.IsZero() {
			one.First = ev.Time
		}
		if ev.Time.After(one.Last) {
			one.Last = ev.Time
		}
		if _, ok := ev.Body.(messagev1.Received); ok {
			one.Messages++
		}
	}
	_, stone := events[len(events)-1].Body.(turnv1.SessionDeleted)
	one.Gone, one.spent, one.Open = stone, book.Spent(id), seen.Open()
	if !state.Quiet() && !broken {
		one.AtWork = atWork(state)
	}
	return one, nil
}

// Delete appends the tombstone and purges what is below. Errors: fault.Conflict when the session has news or is at work, and
// then nothing has changed. After any other it may be repeated, and goes on.
func (o *Single) Delete(ctx context.Context, b Bus, by string) (purged uint64, err error) {
	stone := o.cursor
	if !o.Gone {
		stone, err = b.Delete(ctx, o.Session, o.cursor, turnv1.SessionDeleted{By: by, Events: o.Events, Spent: o.spent})
		if err != nil {
			return 0, fmt.Errorf("delete %s: %w", o.Session, err)
		}
	}
	purged, err = b.Purge(ctx, o.Session, stone)
	if err != nil {
		return purged, fmt.Errorf("purge %s, which is deleted; say the same again to go on with it: %w", o.Session, err)
	}
	return purged, nil
}
