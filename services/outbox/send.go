package outbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// sendVerb has something shown in a conversation: svc.outbox.send, SendRequest → SendReceipt.
const sendVerb = "send"

// SendRequest has a program outside say something in a conversation, in the agent's name.
type SendRequest struct {
	Session string `json:"session"` // full id
	Text    string `json:"text"`    // at most maxText bytes
	// Key is the caller's own: the same one in the same session gets the same receipt, and is shown once; "": one is made.
	Key string `json:"key,omitempty"`
	By  string `json:"by"` // who has it said, as that calls itself: "mcp:claude-code"
	// Permission is what By asks the person; Text has it in words.
	Permission *noticev1.Permission `json:"permission,omitempty"`
}

// SendReceipt says that it is in the journal, and will be shown in its turn.
type SendReceipt struct {
	Delivery string     `json:"delivery"` // id of the event, by which delivery.sent, delivery.failed and the others name it
	Session  session.ID `json:"session"`
	Cursor   uint64     `json:"cursor"` // of the event
}

const (
	// fullAt is the share of the journal's MaxBytes at which nothing new is taken, as in intake; the rest is for running turns.
	fullAt    = 0.9
	sendTries = 16
)

// doors let one send at a time into a part of the sessions, so that those of this process do not lose the compare-and-set
// to each other, and come into the journal in the order in which they were taken up.
type doors [session.Partitions]chan struct{}

func newDoors() *doors {
	var d doors
	for i := range d {
		d[i] = make(chan struct{}, 1)
	}
	return &d
}

func (s *Service) onSend(ctx context.Context, data []byte) (any, error) {
	if !utf8.Valid(data) { // decoding would quietly put something else in its place
		return nil, fault.New(fault.Invalid, "the question is not UTF-8")
	}
	r, err := bus.Question[SendRequest](data)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, r, s.conn.Now())
}

// send appends what is to be shown, behind a fold that does not know it yet.
func (s *Service) send(ctx context.Context, r SendRequest, now time.Time) (SendReceipt, error) {
	sid, posted, err := read(r, now)
	if err != nil {
		return SendReceipt{}, err
	}
	ev := envelope.Event{ID: deliveryID(sid, rand.Text()), Session: sid, Body: posted}
	if r.Key != "" {
		ev.ID = deliveryID(sid, r.Key)
		ev.Key = ev.ID // not the caller's: keys of others have their meaning in folds
	}
	door := s.doors[sid.Partition()]
	select {
	case door <- struct{}{}:
		defer func() { <-door }()
	case <-ctx.Done():
		return SendReceipt{}, fault.New(fault.Timeout, "send to %s: it was not its turn in time: %w", sid, context.Cause(ctx))
	}
	for try := range sendTries {
		st, cursor, err := s.actor.Fold(ctx, sid, 0)
		if err != nil {
			return SendReceipt{}, err
		}
		if before, ok := st.Posted(ev.ID); ok {
			return SendReceipt{Delivery: ev.ID, Session: sid, Cursor: before}, s.same(ctx, before, posted)
		}
		if err := s.permit(ctx, sid, st, cursor); err != nil {
			return SendReceipt{}, err
		}
		ev.Prev = cursor
		at, err := s.conn.Journal().Append(ctx, ev)
		if news, lost := errors.AsType[*bus.Conflict](err); lost {
			if err := news.Settle(ctx, try); err != nil {
				return SendReceipt{}, err
			}
			continue
		}
		if err != nil {
			return SendReceipt{}, err
		}
		return SendReceipt{Delivery: ev.ID, Session: sid, Cursor: at}, nil
	}
	return SendReceipt{}, fault.New(fault.Busy, "%s changed %d times meanwhile: send it again", sid, sendTries)
}

// same refuses a key that was used for something else: the receipt would be one for what was never said.
func (s *Service) same(ctx context.Context, cursor uint64, posted noticev1.Posted) error {
	ev, err := s.conn.Journal().Get(ctx, cursor)
	if err != nil {
		return err
	}
	if was, ok := ev.Body.(noticev1.Posted); ok && was.Text != posted.Text {
		return fault.New(fault.Conflict, "the key was used for another text in this conversation: take a new one")
	}
	return nil
}

// permit says why nothing may be sent to a session.
func (s *Service) permit(ctx context.Context, sid session.ID, st delivery.State, cursor uint64) error {
	channel := sid.Channel()
	switch {
	case cursor == 0 || st.Deleted || channel == house:
		return fault.New(fault.NotFound, "there is no conversation %s", sid)
	case s.limits.Routes[channel] == "":
		return fault.New(fault.Invalid, "nothing can be sent to %s: no channel %q is configured here", sid, channel)
	}
	u, err := s.conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	if u.Full() >= fullAt {
		return fault.New(fault.Full, "the journal is %.0f %% full (%d of %d bytes) and takes nothing new: "+
			"delete sessions or raise bus.max_bytes, then send this again", 100*u.Full(), u.Bytes, u.MaxBytes)
	}
	return nil
}

// house is the channel of sessions that are no conversations.
const house = "house"

// deliveryID is the id of what is sent with a key: "o" and 22 characters of base64url. Deriving it makes a repeat, also at
// another process, a repeat of the same event.
func deliveryID(s session.ID, key string) string {
	sum := sha256.Sum256([]byte(string(s) + "|" + key)) // the bar is in no session id
	return "o" + base64.RawURLEncoding.EncodeToString(sum[:16])
}
