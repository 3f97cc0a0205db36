package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// Presence is what a channel can show of a turn that runs. All of it is lossy and idempotent; the answer itself is an item.
type Presence interface {
	// Typing shows for a few seconds that somebody is at work.
	Typing(ctx context.Context, s session.ID) error
	// Streams says whether answers of the session are shown while the model speaks.
	Streams(s session.ID) bool
	// Draft posts (receipt "") or edits a message with what the model has said so far, and returns its receipt.
	Draft(ctx context.Context, s session.ID, receipt, text string) (string, error)
}

const (
	draftAfter    = 700 * time.Millisecond // of speech: a short answer needs no draft
	draftEvery    = time.Second            // between two edits, or two tries to post
	draftTries    = 4                      // to post: the chat has no room just after another message
	draftTime     = 8 * time.Second        // posting takes no longer, with its events
	editTime      = 2500 * time.Millisecond
	draftPatience = 2 * time.Minute // without a word: the model call is over, whoever forgot to say so
)

// drafts show what models say in the sessions of one channel. A goroutine a model call that speaks, for as long as it does.
type drafts struct {
	presence Presence
	conn     *bus.Conn
	folder   *actor.Folder[delivery.State]
	log      *slog.Logger
	hears    chan struct{} // closed once what models say is heard

	mu   sync.Mutex
	open map[session.ID][]*draft // guarded by mu; those of calls that may speak still, and those that have not ended
	work sync.WaitGroup
}

// speech names a model call.
type speech struct {
	Turn  string
	Round int
}

// draft is one model call that speaks.
type draft struct {
	speech
	said chan struct{} // of size 1: there is more
	stop context.CancelFunc
	done chan struct{} // closed once it edits no more

	mu      sync.Mutex
	attempt int             // guarded by mu
	last    int             // guarded by mu; number of the last piece
	broken  bool            // guarded by mu; a piece was lost: the text ends before it
	text    strings.Builder // guarded by mu
}

func newDrafts(p Presence, c *bus.Conn, log *slog.Logger) *drafts {
	return &drafts{
		presence: p, conn: c, log: log, hears: make(chan struct{}), open: map[session.ID][]*draft{},
		folder: actor.NewFolder(c, Spec(), delivery.Version, delivery.State.Apply),
	}
}

// delta is a piece of an answer on live.<session>, as the turns service writes it.
type delta struct {
	Type    string `json:"type"`
	Turn    string `json:"turn"`
	Round   int    `json:"round"`
	Attempt int    `json:"attempt"`
	N       int    `json:"n"` // from 1 within an attempt
	Text    string `json:"text"`
}

// hear takes a live message of a session.
func (d *drafts) hear(ctx context.Context, s session.ID, data []byte) {
	var piece delta
	if !d.presence.Streams(s) || json.Unmarshal(data, &piece) != nil || piece.Type != "delta" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := speech{piece.Turn, piece.Round}
	i := slices.IndexFunc(d.open[s], func(o *draft) bool { return o.speech == at })
	if i >= 0 {
		d.open[s][i].add(piece)
		return
	}
	d.open[s] = slices.DeleteFunc(d.open[s], func(o *draft) bool { // a session has one model call at a time
		o.stop()
		return o.over()
	})
	if ctx.Err() != nil {
		return
	}
	o := &draft{speech: at, said: make(chan struct{}, 1), done: make(chan struct{})}
	ctx, o.stop = context.WithCancel(ctx)
	d.open[s] = append(d.open[s], o)
	o.add(piece)
	d.work.Go(func() {
		defer close(o.done)
		defer o.stop()
		d.show(ctx, s, o)
	})
}

// over says that it edits no more. It is kept all the same while its call speaks, so that the rest of it begins no other.
func (o *draft) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

func (o *draft) add(p delta) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case p.Attempt < o.attempt:
		return
	case p.Attempt > o.attempt:
		o.attempt, o.last, o.broken = p.Attempt, 0, false
		o.text.Reset()
	}
	if o.broken = o.broken || p.N != o.last+1; o.broken {
		return
	}
	o.last = p.N
	o.text.WriteString(p.Text)
	select {
	case o.said <- struct{}{}:
	default:
	}
}

func (o *draft) words() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// show posts a draft and edits it until the model call is over.
func (d *drafts) show(ctx context.Context, s session.ID, o *draft) {
	if !pause(ctx, draftAfter) {
		return
	}
	receipt, err := d.post(ctx, s, o)
	for try := 1; errors.Is(err, errNotNow) && try < draftTries && pause(ctx, draftEvery); try++ {
		receipt, err = d.post(ctx, s, o)
	}
	if err != nil || receipt == "" {
		if err != nil && ctx.Err() == nil {
			d.log.Debug("no draft", "session", s, "turn", o.Turn, "error", err)
		}
		return
	}
	shown := ""
	for {
		if !pause(ctx, draftEvery) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-o.said:
		case <-time.After(draftPatience):
			return
		}
		if words := o.words(); words != shown {
			switch err := d.edit(ctx, s, o, receipt, words); {
			case err == nil:
				shown = words
			case errors.Is(err, errOver), channel.ErrorOf(err).Class == channel.Permanent, ctx.Err() != nil:
				d.log.Debug("a draft is edited no more", "session", s, "turn", o.Turn, "error", err)
				return
			}
		}
	}
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

var (
	errOver   = errors.New("the model call is over, or somebody else shows it")
	errNotNow = errors.New("there is no room for a draft now")
)

// post claims the draft, posts it and records its receipt, which is "" when there is to be none. What follows the claim is not
// cut off when the model call ends meanwhile: the item that it ends with waits for the receipt.
func (d *drafts) post(ctx context.Context, s session.ID, o *draft) (string, error) {
	state, cursor, err := d.folder.Fold(ctx, s, 0)
	switch {
	case err != nil:
		return "", err
	case state.Speaks != o.Turn || state.Drafted(o.Turn, o.Round):
		return "", errOver
	case len(state.Queue) > 0 || strings.TrimSpace(o.words()) == "":
		return "", errNotNow // with a queue it would be shown before what is owed
	}
	journal := d.conn.Journal()
	claim := deliveryv1.Drafting{Turn: o.Turn, Round: o.Round, Worker: d.conn.Instance(), Deadline: d.conn.Now().Add(draftTime).UTC().Round(0)}
	cursor, err = journal.Append(ctx, envelope.Event{Session: s, Prev: cursor, Body: claim})
	if err != nil {
		return "", err // a conflict, too: there is news of the session, and an answer without a draft is as good
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), draftTime)
	defer cancel()
	call, stop := context.WithTimeout(ctx, draftTime/2)
	receipt, failed := d.presence.Draft(call, s, "", o.words())
	stop()
	if failed != nil && channel.ErrorOf(failed).Class == channel.Unknown {
		return "", failed // perhaps it is there: the claim stays open until its deadline, and the item is then marked as a repeat
	}
	_, err = journal.AppendFact(ctx, envelope.Event{Session: s, Body: deliveryv1.Drafted{Turn: o.Turn, Round: o.Round, Receipt: receipt}}, cursor)
	if failed != nil && channel.ErrorOf(failed).Untried && err == nil {
		return "", errNotNow
	}
	return receipt, errors.Join(failed, err)
}

// edit shows more of the answer, unless the call is over: its last text is then for the item to show. It ends in time for a
// worker that waits delivery's letGo.
func (d *drafts) edit(ctx context.Context, s session.ID, o *draft, receipt, words string) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), editTime)
	defer cancel()
	state, _, err := d.folder.Fold(limit, s, 0)
	switch {
	case err != nil:
		return err
	case state.Speaks != o.Turn || !state.Drafting(o.Turn, o.Round), ctx.Err() != nil:
		return errOver
	}
	_, err = d.presence.Draft(limit, s, receipt, words)
	return err
}

// finish lets no edit of this process follow. It returns once the last one has ended.
func (d *drafts) finish(ctx context.Context, s session.ID, turn string) error {
	for _, o := range d.forget(s, turn) {
		select {
		case <-o.done:
		case <-ctx.Done():
			return fmt.Errorf("the draft of %s: %w", turn, context.Cause(ctx))
		}
	}
	return nil
}

// forget begins no more edits for a turn that is over. It returns those that may still be at one.
func (d *drafts) forget(s session.ID, turn string) (open []*draft) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[s] = slices.DeleteFunc(d.open[s], func(o *draft) bool {
		if o.Turn != turn {
			return false
		}
		o.stop()
		if !o.over() {
			open = append(open, o)
		}
		return o.over()
	})
	if len(d.open[s]) == 0 {
		delete(d.open, s)
	}
	return open
}
