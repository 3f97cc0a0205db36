package telegram

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// clerk handles updates, each until it is done: it is in the journal, or there is nothing of it that has to be.
type clerk struct {
	*bot
	me         botapi.User
	finish     func(ids []int64) // these are done, as one
	background sync.WaitGroup    // answers to taps
	crowded    func() bool       // whether updates of others cannot come before some are done; nil: never

	mu    sync.Mutex
	spent map[int64]time.Duration // guarded by mu; by chat: how long its files have held up others
}

// errStopped says that ctx has ended before something was done: it will come again.
var errStopped = errors.New("stopped")

// handle is the work of a lane. It returns false when ctx has ended before the updates were done.
func (c *clerk) handle(ctx context.Context, items []*item) bool {
	ids := make([]int64, len(items))
	for i, it := range items {
		ids[i] = it.id
	}
	err := c.contained(func() error { return c.process(ctx, items) })
	if err != nil && !errors.Is(err, errStopped) {
		err = c.quarantine(ctx, items, err.Error())
	}
	if err != nil {
		return false
	}
	c.finish(ids)
	return true
}

// errPanic says that there was one. What it said is in the log.
var errPanic = errors.New("handling it went wrong within")

// contained runs what an update could make panic: that is said, and goes no further.
func (c *clerk) contained(run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("handling a telegram update panicked", "panic", c.panicText(v), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return run()
}

// panicText is what may be shown of a panic: a value of ours or the runtime's, never what somebody wrote.
func (c *clerk) panicText(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return c.api.Redact(err.Error())
	}
	return fmt.Sprintf("%T", v)
}

// process handles one update, or all of an album. An error but errStopped says why they cannot be handled, ever.
func (c *clerk) process(ctx context.Context, items []*item) error {
	if err := items[0].bad; err != nil {
		return err
	}
	l := read(items[0].update, c.me)
	if len(items) > 1 {
		letters := make([]letter, 0, len(items))
		for _, it := range items {
			letters = append(letters, read(it.update, c.me))
		}
		l = together(letters)
	}
	switch l.what {
	case nothing:
		c.log.Debug("a telegram update of a kind that is not read", "update_id", items[0].id)
		return nil
	case movement:
		return c.moved(ctx, l)
	case member:
		return c.member(ctx, l)
	case message, tap:
	}
	if l.what == tap && l.button.Message == nil {
		c.answer(ctx, l.button.ID, notIn, true)
		return nil
	}
	return c.admit(ctx, l)
}

func (c *clerk) door() accessv1.Door { return accessv1.Door{Channel: channel, Account: c.Account} }

// key is a key of this bot's: the same for ever, also when its account or agent has another name.
func (c *clerk) key(rest string) string { return fmt.Sprintf("tg.%d.%s", c.api.BotID(), rest) }

// keyIn is a key in the session that a letter belongs to. A group that has another number has its messages counted from 1 again:
// without the number, the third one there would be taken for the third one before.
func (c *clerk) keyIn(l letter, v access.Verdict, rest string) string {
	if v.Chat != l.attempt.Chat {
		rest = peer(l.attempt.Chat, 0) + "." + rest
	}
	return c.key(rest)
}

func (c *clerk) moved(ctx context.Context, l letter) error {
	m := accessv1.Moved{Door: c.door(), From: peer(l.from, 0), To: peer(l.to, 0)}
	err := c.persist(ctx, func(ctx context.Context) error { return c.desk.Moved(ctx, m) })
	if err == nil && c.moves.due(l.from, time.Now()) { // both groups say so
		c.log.Info("a telegram group has another number: the configuration may keep the old one, which goes on to work", "from", l.from, "to", l.to)
	}
	return err
}

// judge asks until there is a verdict: without one nobody is let in, and nobody is sent away.
func (c *clerk) judge(ctx context.Context, l letter) (v access.Verdict, err error) {
	a := l.attempt
	a.Door, a.Now = c.door(), time.Now()
	if l.key != "" {
		a.Key = c.key(l.key)
	}
	err = c.insist(ctx, func(ctx context.Context) (err error) {
		v, err = c.desk.Judge(ctx, a)
		return err
	})
	return v, err
}

// admit is the way of a message, an edit, a reaction or a tap to the gate.
func (c *clerk) admit(ctx context.Context, l letter) error {
	v, err := c.judge(ctx, l)
	if err != nil {
		return err
	}
	switch v.Kind {
	case access.Allow:
		return c.allowed(ctx, l, v)
	case access.Tell, access.Pair:
		if l.what == tap {
			c.answer(ctx, l.button.ID, v.Detail, true)
			return nil
		}
		l.edits = ""
		l.request = wire.Request{From: l.request.From, Chat: wire.Chat{Group: l.request.Group, Refusal: v.Detail}}
		_, err := c.submit(ctx, l, v)
		return err
	case access.Ignore:
	}
	c.ignored(l, v)
	if l.what == tap {
		c.answer(ctx, l.button.ID, notIn, true)
	}
	return nil
}

func (c *clerk) allowed(ctx context.Context, l letter, v access.Verdict) error {
	if l.what == tap {
		return c.tapped(ctx, l, v)
	}
	sid, err := c.session(l, v)
	if err != nil {
		return err
	}
	if l.request.Files, err = c.files(ctx, sid, l.attempt.Chat, l.media); err != nil {
		return err
	}
	o, err := c.submit(ctx, l, v)
	if err == nil && o.receipt.Passed {
		c.seen(ctx, l)
	}
	if err != nil || o.refused != nil || len(l.parts) < 2 {
		return err
	}
	return c.late(ctx, l, v, o)
}

// late takes care of an album that came again with more in it than before: the process died after it had taken in the first part
// of it, and the receipt is that part's. The rest is a message of its own.
func (c *clerk) late(ctx context.Context, l letter, v access.Verdict, o outcome) error {
	var had int
	err := c.insist(ctx, func(ctx context.Context) (err error) {
		had, err = c.desk.Files(ctx, o.receipt.Cursor)
		return err
	})
	if err != nil || had >= len(l.request.Files) {
		return err
	}
	n, seen := 0, 0
	for ; n < len(l.parts) && seen < had; n++ {
		seen += len(l.parts[n].media)
	}
	if n == 0 || n == len(l.parts) {
		return nil
	}
	rest := together(l.parts[n:])
	rest.request.Files = l.request.Files[seen:]
	if o, err = c.submit(ctx, rest, v); err != nil || o.refused != nil || len(rest.parts) < 2 {
		return err
	}
	return c.late(ctx, rest, v, o)
}

func (c *clerk) session(l letter, v access.Verdict) (session.ID, error) {
	return session.New(c.Agent, channel, c.Account, peer(v.Chat, l.topic))
}

// outcome is what became of a request.
type outcome struct {
	session session.ID
	receipt wire.Receipt
	refused error // by the gate: that is in the journal, or nothing of it has to be, as with an edit of what is not there
}

// submit hands a request in until it is taken or refused.
func (c *clerk) submit(ctx context.Context, l letter, v access.Verdict) (outcome, error) {
	sid, err := c.session(l, v)
	if err != nil {
		return outcome{}, err
	}
	r := l.request
	r.Session, r.Key, r.Tell = string(sid), c.keyIn(l, v, l.key), true
	if l.edits != "" {
		r.Edits = thread.MessageID(sid, c.keyIn(l, v, l.edits))
	}
	o := outcome{session: sid}
	hand := func() error {
		return c.persist(ctx, func(ctx context.Context) (err error) {
			o.receipt, err = c.desk.Submit(ctx, r)
			return err
		})
	}
	o.refused = hand()
	if fault.KindOf(o.refused) == fault.NotFound && l.what == message && l.edits == "" && l.request.Reaction == nil {
		// A command to a conversation that there is not. Nothing of it is in the journal, and nobody else would tell.
		r.Text, r.Files, r.Refusal = "", nil, nothingYet
		o.refused = hand()
	}
	if errors.Is(o.refused, errStopped) || errors.Is(o.refused, errInternal) {
		return o, o.refused
	}
	if o.refused != nil {
		c.log.Debug("telegram: not admitted", "session", sid, "kind", fault.KindOf(o.refused))
	}
	return o, nil
}

const nothingYet = "There is nothing here yet that this could be about: write a message first."

// errInternal ends what has failed in a way that nobody has foreseen, again and again: an update must not be in the way of all
// that come after it.
var errInternal = errors.New("it could not be taken in: an internal error, which the log has")

const maxInternal = 10 // times

// persist calls until it worked or is refused for good, which is its error, or is errInternal; errStopped when ctx has ended
// before.
func (b *bot) persist(ctx context.Context, call func(context.Context) error) error {
	var refused error
	internal := 0
	err := b.insist(ctx, func(ctx context.Context) error {
		err := call(ctx)
		switch fault.KindOf(err) {
		case fault.Invalid, fault.TooLarge, fault.NotFound, fault.Denied:
			refused = err
			return nil
		case fault.Internal:
			if internal++; internal == maxInternal {
				b.log.Error("telegram: an update is given up", "error", err)
				refused = errInternal
				return nil
			}
		case "", fault.Full, fault.Busy, fault.Timeout, fault.Unavailable, fault.Conflict:
		}
		return err
	})
	if refused != nil {
		return refused
	}
	return err
}

// insist calls until it worked; errStopped when ctx has ended before. What is waited for is said once for all that wait.
func (b *bot) insist(ctx context.Context, call func(context.Context) error) error {
	wait, waits := b.pace.retry(), false
	defer func() {
		if waits {
			b.held.end()
		}
	}()
	for {
		select {
		case b.calling <- struct{}{}:
		case <-ctx.Done():
			return errStopped
		}
		err := func() error {
			defer func() { <-b.calling }()
			return call(ctx)
		}()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errStopped
		case !waits:
			waits = true
			b.held.begin(err)
		}
		if !pause(ctx, wait.step()) {
			return errStopped
		}
	}
}

const (
	quarantinePeer = "quarantine"
	maxKept        = 4 << 10  // bytes of an update that cannot be read
	maxScanned     = 64 << 10 // bytes of it in which secrets are looked for
)

// quarantine keeps updates that cannot be handled, so that they are neither lost nor in the way.
func (c *clerk) quarantine(ctx context.Context, items []*item, why string) error {
	for _, it := range items {
		if err := c.keep(ctx, c.key(fmt.Sprintf("q%d", it.id)), fmt.Sprint(it.id), it.raw, why); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps one update, whatever it is; errStopped when ctx has ended before.
func (b *bot) keep(ctx context.Context, key, source string, raw []byte, why string) error {
	q := messagev1.Quarantined{Channel: channel, Account: b.Account, Source: source, Reason: why, Bytes: len(raw)}
	text := b.api.Redact(strings.ToValidUTF8(string(raw[:min(len(raw), maxScanned)]), "\uFFFD"))
	q.Data = strings.ToValidUTF8(text[:min(len(text), maxKept)], "")
	err := b.persist(ctx, func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fault.New(fault.Internal, "panic: %T", v)
			}
		}()
		sid, err := session.New(b.Agent, channel, b.Account, quarantinePeer)
		if err != nil {
			return err
		}
		return b.desk.Quarantine(ctx, sid, key, q)
	})
	switch {
	case errors.Is(err, errStopped):
		return err
	case err != nil: // it would be in the way for ever
		b.log.Error("a telegram update that cannot be read could not be kept", "update_id", source, "bytes", len(raw), "reason", why, "error", err)
	default:
		b.log.Warn("a telegram update cannot be read and is kept aside", "update_id", source, "bytes", len(raw), "reason", why)
	}
	return nil
}
