package telegram

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const (
	batch   = 100 // updates of a poll
	maxOpen = 512 // updates in lanes; only a server that does not go by offsets fills them

	// busyPoll is for polls while something is not done. They are answered at once, as the server has that still. One that asks
	// for less than this is slowed down to it when it has the offset of the one before.
	busyPoll = 3 * time.Second
)

// poller asks for updates and gives them to lanes; the offset by which it asks is window's.
type poller struct {
	*clerk
	lanes   lanes
	trouble trouble
	idle    backoff

	mu     sync.Mutex
	window window          // guarded by mu
	begun  map[int64]*item // guarded by mu; what is in the lanes, also when the window has forgotten it
	full   bool            // guarded by mu; the last answer held all that one can: there may be more
	wake   chan struct{}   // has room for one: something is done, or an album waits
	asked  int64           // offset of the last poll
}

func newPoller(b *bot, me botapi.User) *poller {
	p := &poller{
		clerk: &clerk{bot: b, me: me}, trouble: b.trouble(), idle: b.pace.retry(),
		begun: map[int64]*item{}, wake: make(chan struct{}, 1),
	}
	p.finish = func(ids []int64) {
		p.mu.Lock()
		p.window.finish(ids...)
		for _, id := range ids {
			delete(p.begun, id)
		}
		p.mu.Unlock()
		ring(p.wake)
	}
	p.crowded = func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.full
	}
	p.lanes = lanes{handle: p.handle, quiet: b.pace.Album, resting: func() { ring(p.wake) }}
	return p
}

// run polls until ctx ends or the token is refused. When it returns nothing of it runs.
func (p *poller) run(ctx context.Context) error {
	working, cancel := context.WithCancel(ctx)
	err := p.loop(working)
	cancel()
	p.lanes.close()
	p.background.Wait()
	if errors.Is(err, errStopped) {
		p.farewell(ctx)
	}
	return err
}

func (p *poller) loop(ctx context.Context) error {
	for {
		offset, busy, ok := p.turn(ctx)
		if !ok {
			return errStopped
		}
		timeout := p.pace.Poll
		if busy {
			timeout = min(timeout, busyPoll)
		}
		began := time.Now()
		p.asked = offset
		got, err := p.api.GetUpdates(ctx, offset, batch, timeout)
		if err != nil {
			if err := p.failed(ctx, &p.trouble, err); err != nil {
				return err
			}
			p.unhook(ctx, err)
			continue
		}
		p.trouble.end()
		p.state.set(Polling)
		anew, err := p.took(ctx, offset, got, began)
		if err != nil {
			return err
		}
		// An answer that says nothing new, before its time: without a pause this would be a storm.
		hasty := len(got) == 0 && timeout > 0 && time.Since(began) < min(timeout, p.pace.Short)
		if !anew && !hasty {
			p.idle.reset()
		} else if !pause(ctx, p.idle.step()) {
			return errStopped
		}
	}
}

// turn waits until it is time for the next poll: at once when all is done, and after a while when something is not, which must
// not hold up other chats. false when ctx has ended.
func (p *poller) turn(ctx context.Context) (offset int64, busy, ok bool) {
	t := time.NewTimer(p.pace.Short)
	defer t.Stop()
	for late := false; ctx.Err() == nil; {
		p.mu.Lock()
		offset, busy = p.window.offset()
		// Where more waits at the server, albums at the end of the answer are all that is not done: the next answer has their rest,
		// and need not be waited for. With the same offset it would hold one update.
		rest := p.full && offset != p.asked && len(p.window.flying) == p.lanes.rests()
		p.mu.Unlock()
		if (!busy || late || rest) && p.lanes.size() < maxOpen {
			return offset, busy, true
		}
		select {
		case <-p.wake:
		case <-t.C:
			late = true
			t.Reset(p.pace.Short)
		case <-ctx.Done():
		}
	}
	return 0, false, false
}

// took takes in the answer to a poll. again says that it is no reason to ask again at once.
func (p *poller) took(ctx context.Context, offset int64, got []botapi.RawUpdate, began time.Time) (again bool, err error) {
	known := slices.ContainsFunc(got, func(u botapi.RawUpdate) bool { return !u.MadeUp })
	byID := make(map[int64]botapi.RawUpdate, len(got))
	ids := make([]int64, 0, len(got))
	for _, u := range got {
		if u.MadeUp {
			// It has no number to know it by when it comes again, and the offset passes it with the next that has one: it is kept at
			// once. A guess must not confirm anything: it may be the number of one that comes after it. Only where an answer holds
			// nothing else, and no more, it would be in the way of all for ever.
			sum := sha256.Sum256(u.Data)
			if err := p.keep(ctx, p.key("q"+hex.EncodeToString(sum[:16])), "", u.Data, "it has no update_id that can be read"); err != nil {
				return false, err
			}
			if u.ID == 0 || known || len(got) < batch {
				continue
			}
		}
		byID[u.ID] = u
		ids = append(ids, u.ID)
	}
	p.mu.Lock()
	p.window.confirmed(offset)
	fresh, again := p.window.take(offset, ids)
	p.full = len(got) >= batch
	p.mu.Unlock()
	a := &polled{began: began, at: time.Now(), ids: ids, full: len(got) >= batch}
	for _, id := range fresh {
		p.state.saw(id)
		if u := byID[id]; u.MadeUp {
			p.finish([]int64{id})
		} else if it := newItem(id, u.Data); p.begin(it) {
			it.came = a
			p.lanes.add(ctx, it)
		}
	}
	p.lanes.heard(a)
	return again || len(got) > 0 && !known, nil
}

// begin is false for an update that is in the lanes already: the window has forgotten it, and the server has not. When that one is
// done this one is, too. Another with its number is not it.
func (p *poller) begin(it *item) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if has := p.begun[it.id]; has != nil && bytes.Equal(has.raw, it.raw) {
		return false
	}
	p.begun[it.id] = it
	return true
}

// unhook removes a webhook that keeps updates from being polled for. Whoever has set it is to find that in the log.
func (p *poller) unhook(ctx context.Context, err error) {
	if e, ok := errors.AsType[*botapi.Error](err); ok && e.Class == botapi.Conflict {
		p.dropWebhook(ctx)
	}
}

// farewell confirms what is done when the process stops, so that it does not come again. Another holder of the lease may poll
// already: it is not disturbed.
func (p *poller) farewell(ctx context.Context) {
	p.mu.Lock()
	offset, _ := p.window.offset()
	p.mu.Unlock()
	if offset <= p.asked || errors.Is(context.Cause(ctx), bus.ErrLeaseLost) {
		return
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := p.api.GetUpdates(limit, offset, 1, 0); err != nil {
		p.log.Debug("the last telegram updates are not confirmed: they will come again, and are known", "error", err)
	}
}
