package outbox

import "github.com/jetclaw/jetclaw/services/outbox/internal/telegram"

// TelegramConfig says which bots answer.
type TelegramConfig = telegram.Config

// TelegramBot is one of them.
type TelegramBot = telegram.Bot

// Telegram is the sender of the Telegram channel, see internal/telegram. It is a Presence, too.
func Telegram(c TelegramConfig) (Sender, error) {
	s, err := telegram.New(c)
	if err != nil {
		return nil, err // not s: a nil pointer in an interface would not be nil
	}
	return s, nil
}
