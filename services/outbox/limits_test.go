package outbox_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram"
)

// TestLimitsAreShared: what two outboxes say keeps the limits that hold for the bot. In each chat a message follows as soon as the
// one before it was shown, and whichever outbox it falls to.
func TestLimitsAreShared(t *testing.T) {
	for name, c := range map[string]struct{ chats, each, overall int }{
		"of a chat":      {6, 5, 30},
		"of all of them": {24, 1, 8},
	} {
		t.Run(name, func(t *testing.T) {
			h, api := newHouse(t), newBotAPI(t, c.chats, c.overall)
			for range 2 {
				h.speak(t, api, c.overall)
			}
			shown := make([]int, c.chats) // by chat
			h.until(t, func(events []envelope.Event) bool {
				for i := range shown {
					chat := session.ID(fmt.Sprintf("main.telegram.bot.%d", 1+i))
					if n := count(of(events, chat), "delivery.sent"); n == shown[i] && n < c.each {
						shown[i]++
						h.show(t, chat, fmt.Sprintf("d%d-%d", i, n), answer(fmt.Sprint("answer ", n)))
					}
				}
				return count(events, "delivery.sent") == c.chats*c.each
			})
			if r := api.Report(); r.Messages != c.chats*c.each || r.TooMany != 0 || r.Violations.Sum() != 0 {
				t.Errorf("%d messages, of which %+v came too soon; %d refused", r.Messages, r.Violations, r.TooMany)
			}
		})
	}
}

func newBotAPI(t *testing.T, chats, overall int) *faketelegram.Server {
	t.Helper()
	api, err := faketelegram.Start(faketelegram.Options{Limits: faketelegram.Limits{Overall: overall}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	for id := range int64(chats) {
		api.AddChat("", faketelegram.Private(faketelegram.User{ID: 1 + id, FirstName: "A person"}))
	}
	return api
}

// speak runs an outbox that speaks for the bot.
func (h *house) speak(t *testing.T, api *faketelegram.Server, overall int) {
	t.Helper()
	conn := h.bus.Connect(t, "outbox")
	sender, err := outbox.Telegram(outbox.TelegramConfig{
		Bots:   []outbox.TelegramBot{{Account: "bot", Token: faketelegram.DefaultToken, APIRoot: api.URL()}},
		Limits: telegram.Limits{Overall: telegram.Limit{N: overall, Per: time.Second}},
		Store:  conn,
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.runAs(t, conn, outbox.Config{Senders: map[string]outbox.Sender{"telegram": sender}})
}

// of are the events of a session.
func of(events []envelope.Event, s session.ID) (out []envelope.Event) {
	for _, e := range events {
		if e.Session == s {
			out = append(out, e)
		}
	}
	return out
}
