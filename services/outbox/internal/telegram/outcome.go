package telegram

import (
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

const (
	// afterToken is the wait when the token is refused: a person has to do something first.
	afterToken = time.Minute
	// afterSpare is the wait for room to spare: that is a matter of moments, or of nobody knows how long.
	afterSpare = time.Second
	// afterAway is the longest wait while Telegram cannot be reached at all: when it can, nobody waits much longer.
	afterAway = 5 * time.Minute
)

// away is the wait after an attempt for which there was no connection: 1 s, 4 s, 16 s, up to afterAway.
func away(attempt int) time.Duration {
	d := time.Second
	for ; attempt > 1 && d < afterAway; attempt-- {
		d *= 4
	}
	return min(d, afterAway)
}

// outcome is what an error of the Bot API means for an item that was to be shown.
func outcome(e *botapi.Error) *channel.Error {
	switch {
	case e.Class == botapi.Limited:
		o := channel.Errorf(channel.Retry, "telegram: %s", e.Description)
		o.After, o.Untried = e.RetryAfter, true
		return o
	case tokenRefused(e):
		o := channel.Errorf(channel.Retry, "telegram: the token is refused, or api_root is wrong: %s", e.Description)
		o.After, o.Untried = afterToken, true // it is for a person to put right, and that takes as long as it takes
		return o
	case e.Class == botapi.NotSent, e.Class == botapi.Later, e.Class == botapi.Conflict:
		o := channel.Errorf(channel.Retry, "telegram: %s", e.Description)
		o.After = e.RetryAfter
		return o
	case e.Class == botapi.Refused:
		return channel.Errorf(channel.Permanent, "telegram: %s", refusal(e))
	}
	return channel.Errorf(channel.Unknown, "telegram: %s", e.Description)
}

// refusal says why a message is refused for good, to the person who runs the bot.
func refusal(e *botapi.Error) string {
	why := "it is refused"
	switch {
	case e.Blocked():
		why = "the bot was blocked or removed"
	case e.ThreadGone():
		why = "the topic is gone, and what belongs there is not shown elsewhere"
	case e.ChatGone():
		why = "there is no such chat, or its person never wrote to the bot"
	case e.NoRights():
		why = "the bot has no right to write there"
	case e.TooLong():
		why = "the message is too long"
	}
	return why + ": " + e.Description
}

// tokenRefused says that it is not the item that is refused, but the bot; or that what answers is no Bot API. A method that
// exists answers 404 for nothing else. When a person has put that right, what waits is sent.
func tokenRefused(e *botapi.Error) bool {
	return e.Class == botapi.Unauthorized || e.Class == botapi.Refused && (e.Code == http.StatusNotFound || e.Foreign())
}
