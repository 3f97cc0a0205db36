package telegram

import (
	"context"
	"errors"
	"hash/maphash"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

// Streams says whether the bot of a session shows answers while the model speaks.
func (s *Sender) Streams(id session.ID) bool {
	b, _, e := s.find(id)
	return e == nil && b.streaming
}

var draftSeed = maphash.MakeSeed()

// Draft shows an answer as far as it has come: text is Markdown, and may stop anywhere. Without a receipt it posts a message and
// returns its receipt; with one it edits that message. It waits for nobody and takes only room that is to spare: without, an edit
// does nothing, as the next one says more anyway, and a post is Retry and Untried. A draft is one message; what goes beyond
// it is seen when the answer is sent: by then the last Draft has to have returned. Errors are *channel.Error, beside the receipt
// that was given; Permanent means that this message cannot be edited any more.
func (s *Sender) Draft(ctx context.Context, id session.ID, receipt, text string) (string, error) {
	b, to, e := s.find(id)
	if e != nil {
		return receipt, e
	}
	m := message{Part: draftOf(text)}
	a := &attempt{bot: b, to: to, item: channel.Item{Session: id}}
	chat, edit := a.chat(), receipt != ""
	if edit {
		var ok bool
		if chat, _, ok = to.message(receipt); !ok {
			return receipt, channel.Errorf(channel.Permanent, "telegram: the draft has no message")
		}
	}
	sum := maphash.String(draftSeed, receipt+"\n"+m.Text)
	if last, ok := b.drafts.get(id); edit && ok && last == sum {
		return receipt, nil
	}
	t, ok := b.gate.trySpare(ctx, chat, edit)
	switch {
	case !ok && edit:
		return receipt, nil
	case !ok:
		return "", (&full{after: afterSpare, held: b.gate.held(chat) > 0}).outcome()
	}
	defer b.gate.leave(t)
	a.begun = t
	if !edit {
		receipt, e = a.post(ctx, m, 0)
	} else {
		var shown bool
		if shown, e = a.edit(ctx, receipt, m); e == nil && !shown {
			e = channel.Errorf(channel.Permanent, "telegram: the message of the draft is gone")
		}
	}
	if e != nil {
		return receipt, e
	}
	b.drafts.put(id, maphash.String(draftSeed, receipt+"\n"+m.Text))
	return receipt, nil
}

// Typing shows for some five seconds that the bot is at work. It counts in no limit, and does nothing while a 429 holds the chat.
func (s *Sender) Typing(ctx context.Context, id session.ID) error {
	b, to, e := s.find(id)
	if e != nil {
		return e
	}
	a := &attempt{bot: b, to: to}
	chat := a.chat()
	if b.gate.held(chat) > 0 {
		return nil
	}
	err := b.client.ChatAction(ctx, chat, to.topic, "typing")
	if raw := new(botapi.Error); errors.As(err, &raw) {
		b.note(to, chat, raw)
		return outcome(raw)
	}
	return err
}
