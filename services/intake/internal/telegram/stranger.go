package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/intake/access"
)

// reminders say the same thing of the same chat once an hour.
type reminders struct {
	mu   sync.Mutex
	said map[int64]time.Time // guarded by mu
}

const (
	remindEvery = time.Hour
	maxReminded = 256 // chats
)

// due says whether it is to be said now.
func (r *reminders) due(chat int64, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.said[chat]; ok && now.Sub(last) < remindEvery {
		return false
	}
	if len(r.said) >= maxReminded {
		for c, t := range r.said {
			if now.Sub(t) >= remindEvery {
				delete(r.said, c)
			}
		}
	}
	if len(r.said) >= maxReminded { // somebody adds the bot to many groups
		return false
	}
	if r.said == nil {
		r.said = map[int64]time.Time{}
	}
	r.said[chat] = now
	return true
}

// ignored notes who was not let in. The operator would else not know why the bot is silent in a group that is not listed, or to
// somebody who wants to be let in.
func (c *clerk) ignored(l letter, v access.Verdict) {
	if unlisted(l, v) && c.unlisted.due(l.attempt.Chat, time.Now()) {
		c.log.Info("messages of a telegram group that is not listed are ignored", "chat", l.attempt.Chat, "to_list_it_add", c.line(l.attempt.Chat))
		return
	}
	if notAsked(l, v) && c.waiting.due(0, time.Now()) {
		c.log.Info("a stranger is not asked: three already wait", "user", l.attempt.User, "do", "jetclaw pairing list")
		return
	}
	c.log.Debug("telegram: ignored", "chat", l.attempt.Chat, "kind", l.attempt.Kind, "reason", v.Reason)
}

// unlisted says whether a verdict is because of the group, whoever wrote there.
func unlisted(l letter, v access.Verdict) bool {
	return v.Kind == access.Ignore && inGroup(l) && v.Reason == fmt.Sprintf("group %d is not listed", l.attempt.Chat)
}

// notAsked says whether a verdict is because others wait to be let in.
func notAsked(l letter, v access.Verdict) bool {
	return v.Kind == access.Ignore && v.Reason == fmt.Sprintf("%d people wait at this door already, user %d is not asked", access.MaxOpen, l.attempt.User)
}

func inGroup(l letter) bool { return strings.HasSuffix(l.attempt.ChatKind, "group") }

// line is what lists a group in the configuration.
func (c *clerk) line(chat int64) string {
	return fmt.Sprintf(`channels.telegram.%s.groups: {"%d": {}}`, c.Account, chat)
}

// once is the level of what anybody can have happen as often as they like: it is told once an hour a chat.
func (c *clerk) once(chat int64) slog.Level {
	if c.places.due(chat, time.Now()) {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// member says what has become of the bot in a chat. Nothing follows from it.
func (c *clerk) member(ctx context.Context, l letter) error {
	chat := l.attempt.Chat
	gone := l.status == "left" || l.status == "kicked"
	switch {
	case !inGroup(l) && gone:
		c.log.Log(ctx, c.once(chat), "a person has blocked the telegram bot", "chat", chat)
	case !inGroup(l):
		c.log.Log(ctx, c.once(chat), "a person has started the telegram bot", "chat", chat)
	case gone:
		c.log.Log(ctx, c.once(chat), "the telegram bot is no longer in a group", "chat", chat, "status", l.status)
	default:
		l.attempt.Addressed = true
		v, err := c.judge(ctx, l) // in a group this asks, and changes nothing
		if err != nil {
			return err
		}
		if unlisted(l, v) && c.unlisted.due(chat, time.Now()) {
			c.log.Info("the telegram bot is in a group that is not listed: what is written there is ignored", "chat", chat, "to_list_it_add", c.line(chat))
		} else {
			c.log.Log(ctx, c.once(chat), "the telegram bot is in a group", "chat", chat, "status", l.status)
		}
	}
	return nil
}
