package telegram

import (
	"context"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

const (
	asked = "approval.requested"
	// maxData is the longest callback_data that Telegram takes.
	maxData = 64
)

// buttonsOf are those below a question; nil for other items, and for an approval whose id does not fit: the text says how to
// answer without them.
func buttonsOf(i channel.Item) [][]botapi.Button {
	if i.Kind != asked || i.Approval == "" {
		return nil
	}
	button := func(text string, d callv1.Decision) botapi.Button {
		return botapi.Button{Text: text, Data: approvalv1.Button{Approval: i.Approval, Decision: d}.Data()}
	}
	rows := [][]botapi.Button{{button("Allow once", callv1.AllowOnce), button("Deny", callv1.Deny)}}
	if i.Always {
		rows = append(rows, []botapi.Button{button("Always", callv1.AllowAlways)})
	}
	for _, row := range rows {
		for _, b := range row {
			if len(b.Data) > maxData {
				return nil
			}
		}
	}
	return rows
}

// settle shows in a question what became of it, without its buttons. settled is false when that has to be a message of its own.
func (a *attempt) settle(ctx context.Context) (settled bool, _ *channel.Error) {
	question, became := plain(strings.TrimSuffix(a.item.Prompt.Text, a.item.Prompt.Ways)), plain(a.item.Text)
	text := question[len(question)-1].Text + "\n\n" + became[0].Text
	if len(became) == 1 && format.Units(text) <= format.MaxUnits {
		return a.edit(ctx, a.item.Prompt.Receipt, message{Part: format.Part{Text: text}})
	}
	chat, id, ok := a.to.message(a.item.Prompt.Receipt)
	if !ok {
		return false, nil
	}
	raw, e := a.call(ctx, chat, true, func() error { return a.client.EditButtons(ctx, chat, id, nil) })
	if e == nil || raw != nil && raw.Class == botapi.Refused && !tokenRefused(raw) {
		return false, nil // refused: there are none any more, or the message that follows is refused, too
	}
	return false, again(e)
}
