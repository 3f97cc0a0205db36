package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake/access"
)

// Door is one way in for people: a bot.
type Door struct {
	Agent  string // whose sessions begin here
	Policy access.Policy
}

// channelTelegram is the channel of all doors.
const channelTelegram = "telegram"

// judge holds an attempt against a policy and against who was let in by now. A stranger's request is in the journal when it
// returns; nothing else is ever written. An error is no verdict: the attempt is to be judged again, and nobody is let in.
func (s *Service) judge(ctx context.Context, p access.Policy, a access.Attempt) (access.Verdict, error) {
	if !validKey(a.Key) {
		a.Key = ""
	}
	if a.Now.IsZero() {
		a.Now = time.Now()
	}
	var v access.Verdict
	err := s.decideAccess(ctx, func(st access.State) (accessv1.Event, string) {
		a.Code = freshCode(st)
		if v = st.Judge(p, a); v.Kind != access.Pair {
			return nil, ""
		}
		if full := s.checkRoom(ctx); full != nil { // a stranger is not what the rest of the journal is for, nor worth a retry
			v = access.Verdict{Chat: v.Chat, Reason: v.Reason + ", and is not asked: " + full.Error()}
			return nil, ""
		}
		return *v.Request, a.Key
	})
	if err != nil {
		return access.Verdict{}, err
	}
	return v, nil
}

// moved writes down, once, that a group has another number. One that may not be written in is of no interest.
func (s *Service) moved(ctx context.Context, m accessv1.Moved) error {
	door, ok := s.doors[m.Account]
	if !ok || m.Channel != channelTelegram {
		return nil
	}
	return s.decideAccess(ctx, func(st access.State) (accessv1.Event, string) {
		if !st.Moves(door.Policy, m) {
			return nil, ""
		}
		return m, ""
	})
}

// decideAccess appends what decide makes of the fold of accessv1.Session as it is, by compare-and-set: decide is asked again
// when there was news meanwhile. Nil appends nothing.
func (s *Service) decideAccess(ctx context.Context, decide func(access.State) (_ accessv1.Event, key string)) error {
	for try := range submitTries {
		st, cursor, err := s.access.Fold(ctx, accessv1.Session, 0)
		if err != nil {
			return err
		}
		body, key := decide(st)
		if body == nil {
			return nil
		}
		_, err = s.journal.Append(ctx, envelope.Event{Session: accessv1.Session, Key: key, Prev: cursor, Body: body})
		news, lost := errors.AsType[*bus.Conflict](err)
		if !lost {
			return err
		}
		if err := news.Settle(ctx, try); err != nil {
			return err
		}
	}
	return fault.New(fault.Busy, "who is let in changed %d times meanwhile: try again", submitTries)
}

// freshCode draws a code that stands for nobody.
func freshCode(st access.State) string {
	for {
		var b [access.CodeLength]byte
		_, _ = rand.Read(b[:]) // never fails
		for i := range b {
			b[i] = access.Alphabet[int(b[i])%len(access.Alphabet)] // 256 is a multiple of 32: all are equally likely
		}
		if code := string(b[:]); !st.Taken(code) {
			return code
		}
	}
}
