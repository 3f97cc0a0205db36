package telegram

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

// attempt is one try to show one part of an item.
type attempt struct {
	*bot
	to    address
	item  channel.Item
	begun *ticket // under which all its calls are made; nil: each waits for its turn
}

// message is what is to be shown.
type message struct {
	format.Part
	buttons [][]botapi.Button
}

// send shows the part of the item that is asked for.
func (a *attempt) send(ctx context.Context) (channel.Receipt, *channel.Error) {
	first := a.item.Part <= 0
	if first && a.item.Prompt != nil {
		if settled, e := a.settle(ctx); settled || e != nil {
			return channel.Receipt{ID: a.item.Prompt.Receipt}, e
		}
	}
	parts := a.cut(a.item)
	if a.item.Part >= len(parts) {
		a.log.Warn("a part was asked for beyond the last, which was sent", "delivery", a.item.Delivery, "part", a.item.Part, "parts", len(parts))
		return channel.Receipt{}, nil
	}
	n := max(a.item.Part, 0)
	m, more := message{Part: parts[n]}, n+1 < len(parts)
	if !more {
		m.buttons = buttonsOf(a.item)
	}
	if first && a.item.Draft != "" {
		if shown, e := a.edit(ctx, a.item.Draft, m); shown || e != nil {
			return channel.Receipt{ID: a.item.Draft, More: more}, e
		}
	}
	if a.item.Repeat {
		m.Part = marked(m.Part)
	}
	var reply int64
	if first {
		_, reply, _ = a.to.message(a.item.Reply)
	}
	receipt, e := a.post(ctx, m, reply)
	return channel.Receipt{ID: receipt, More: more}, e
}

// post sends a new message. What Telegram has refused for its entities or its chat's number is not there: it goes again at
// once, without the one and to the other.
func (a *attempt) post(ctx context.Context, m message, reply int64) (receipt string, _ *channel.Error) {
	for chat, moved := a.chat(), false; ; {
		var id int64
		raw, e := a.call(ctx, chat, false, func() (err error) {
			id, err = a.client.SendMessage(ctx, botapi.Send{
				Chat: chat, Thread: a.to.thread(), Text: m.Text, Entities: entities(m.Part), Reply: reply, Buttons: m.buttons,
			})
			return err
		})
		switch {
		case e == nil:
			return a.to.receipt(chat, id), nil
		case raw == nil:
			return "", e
		case raw.MigrateTo != 0 && !moved:
			moved, chat = true, raw.MigrateTo
		case badEntities(raw) && m.Entities != nil:
			m.Entities = nil
		default:
			return "", e
		}
	}
}

// edit makes a message that was shown show something else. shown is false when the message is not there any more, and nothing
// was done. Doing it twice shows the same, so that it is never unknown whether it may be done again.
func (a *attempt) edit(ctx context.Context, receipt string, m message) (shown bool, _ *channel.Error) {
	chat, id, ok := a.to.message(receipt)
	if !ok {
		return false, nil
	}
	for {
		raw, e := a.call(ctx, chat, true, func() error {
			return a.client.EditMessageText(ctx, botapi.Edit{
				Chat: chat, Message: id, Text: m.Text, Entities: entities(m.Part), Buttons: m.buttons,
			})
		})
		switch {
		case e == nil:
			return true, nil
		case raw == nil:
			return false, e
		case badEntities(raw) && m.Entities != nil:
			m.Entities = nil
		case gone(raw):
			return false, nil
		default:
			return false, again(e)
		}
	}
}

// badEntities says that without its entities the text may be shown.
func badEntities(e *botapi.Error) bool { return e.BadEntities() || e.TooLong() }

// gone says that an edit was refused for there being no such message: deleted, too old, or of a group before it got
// another number.
func gone(e *botapi.Error) bool { return e.NotFoundMessage() || e.MigrateTo != 0 }

// again is the outcome of a call that may be made twice.
func again(e *channel.Error) *channel.Error {
	if e.Class == channel.Unknown {
		e.Class = channel.Retry
	}
	return e
}

// chat is where new messages go.
func (a *attempt) chat() int64 {
	if now, ok := a.moved.get(a.to.chat); ok {
		return now
	}
	return a.to.chat
}

// call makes one call about a chat when it is its turn. Without success it returns what that means, and first what Telegram's
// answer was; nil when it was not asked.
func (a *attempt) call(ctx context.Context, chat int64, edit bool, do func() error) (*botapi.Error, *channel.Error) {
	if a.begun == nil {
		t, no := a.gate.enter(ctx, string(a.item.Session), chat, edit)
		if no != nil {
			return nil, no.outcome()
		}
		defer a.gate.leave(t)
	}
	err := do()
	if err == nil {
		a.refused.Store(false)
		return nil, nil
	}
	raw := new(botapi.Error)
	if !errors.As(err, &raw) {
		return nil, channel.ErrorOf(err)
	}
	a.note(a.to, chat, raw)
	o := outcome(raw)
	if raw.Class == botapi.NotSent { // the network's trouble is not the item's: it would be given up in an hour and a half
		o.Untried, o.After = true, away(a.item.Attempt)
	}
	return raw, o
}

// note remembers what an error says about more than its call.
func (b *bot) note(to address, chat int64, e *botapi.Error) {
	switch {
	case e.Class == botapi.Limited:
		if b.gate.hold(chat, e.RetryAfter) {
			b.log.Warn("Telegram holds a chat for its limits", "chat", chat, "after", e.RetryAfter)
		}
	case tokenRefused(e):
		if !b.refused.Swap(true) {
			b.log.Warn("Telegram refuses the token, or api_root is no Bot API: nothing can be sent", "code", e.Code)
		}
	case e.MigrateTo != 0:
		b.moved.put(to.chat, e.MigrateTo)
		b.log.Info("a group has got another number", "from", to.chat, "to", e.MigrateTo)
	}
}

func (f *full) outcome() *channel.Error {
	why := "the limits of the bot leave no room"
	if f.held {
		why = "Telegram holds the chat for its limits"
	}
	return &channel.Error{
		Class: channel.Retry, After: f.after, Untried: true,
		Reason: fmt.Sprintf("telegram: %s for %s", why, f.after.Round(100*time.Millisecond)),
	}
}
