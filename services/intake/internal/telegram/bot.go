package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// channel is its part of session ids and identities.
const channel = "telegram"

const calls = 64 // to the desk that a bot makes at a time

// bot is a bot with what its parts share.
type bot struct {
	Bot
	api   *botapi.Client
	desk  Desk
	log   *slog.Logger
	pace  Pace
	state *status

	calling   chan struct{} // a slot for each call to the desk
	fetching  chan struct{} // a slot for each file on its way
	answering chan struct{} // a slot for each answer to a tap
	held      held
	unlisted  reminders // by chat: groups that are not listed
	moves     reminders // by the number before: groups that have moved
	waiting   reminders // of the bot: strangers that are not told a code
	places    reminders // where it was added and removed
}

func newBot(b Bot, c Config) (*bot, error) {
	api, err := botapi.New(botapi.Config{Token: b.Token, APIRoot: b.APIRoot})
	if err != nil {
		return nil, fmt.Errorf("channels.telegram.%s: %w", b.Account, err)
	}
	log := c.Log.With("account", b.Account)
	return &bot{
		Bot: b, api: api, desk: c.Desk, log: log, pace: c.Pace.orDefault(), state: newStatus(b.Account),
		calling: make(chan struct{}, calls), fetching: make(chan struct{}, fetches), answering: make(chan struct{}, answers),
		held: held{log: log},
	}, nil
}

// lease is held by the one process that polls.
func (b *bot) lease() string { return channel + "." + b.Account }

// poll polls whenever the lease is this process's, until ctx ends or the token is refused.
func (b *bot) poll(ctx context.Context) {
	defer b.api.Close()
	wait := b.pace.retry()
	for {
		b.state.set(Waiting)
		err := b.desk.Hold(ctx, b.lease(), func(ctx context.Context) error {
			err := b.polling(ctx)
			if !errors.Is(err, errToken) {
				b.state.set(Waiting)
			}
			return err
		})
		switch {
		case errors.Is(err, errToken):
			return
		case ctx.Err() != nil:
			b.state.set(Stopped)
			return
		}
		b.log.Warn("the lease of a telegram bot could not be held", "error", err)
		if !pause(ctx, wait.step()) {
			b.state.set(Stopped)
			return
		}
	}
}

// polling begins with who the bot is.
func (b *bot) polling(ctx context.Context) error {
	t := b.trouble()
	me, err := b.whoami(ctx, &t)
	if err != nil {
		return err
	}
	b.dropWebhook(ctx)
	var menu sync.WaitGroup
	defer menu.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	menu.Go(func() { b.publish(ctx) })
	b.state.set(Polling)
	return newPoller(b, me).run(ctx)
}

// whoami asks until it is told. A bot that cannot be reached waits, and holds up nothing else.
func (b *bot) whoami(ctx context.Context, t *trouble) (botapi.User, error) {
	for {
		me, err := b.api.GetMe(ctx)
		if err == nil {
			t.end()
			b.state.named(me.Username)
			b.log.Info("telegram bot", "username", me.Username, "id", me.ID)
			return me, nil
		}
		if err := b.failed(ctx, t, err); err != nil {
			return botapi.User{}, err
		}
	}
}

// dropWebhook removes a webhook that somebody has set: while it is there nothing can be polled for. It tries once: where it
// does not work the next poll says so.
func (b *bot) dropWebhook(ctx context.Context) {
	info, err := b.api.GetWebhookInfo(ctx)
	if err == nil && info.URL != "" {
		if err = b.api.DeleteWebhook(ctx); err == nil {
			b.log.Warn("a webhook was set for this telegram bot, and is removed: it is polled now", "updates_waiting", info.Pending)
		}
	}
	if err != nil && ctx.Err() == nil {
		b.log.Info("telegram: whether a webhook is set could not be found out, or it could not be removed", "error", err)
	}
}

// menu is what a person's device offers while they type a command.
var menu = []botapi.Command{
	{Name: "new", Description: "Begin a new conversation"},
	{Name: "stop", Description: "Stop what is going on"},
	{Name: "status", Description: "Say what is going on"},
	{Name: "help", Description: "Say which commands there are"},
	{Name: "start", Description: "Say hello"},
}

const menuTries = 5

// publish sets the menu where it is not set yet: a bot that does so at each start is held up by a limit of its own.
func (b *bot) publish(ctx context.Context) {
	list, err := json.Marshal(menu)
	if err != nil {
		b.log.Error("telegram: the commands cannot be written", "error", err)
		return
	}
	sum := sha256.Sum256(fmt.Appendf(list, "%d", b.api.BotID()))
	digest, key := hex.EncodeToString(sum[:16]), b.lease()+".commands"
	if last, ok, err := b.desk.Value(ctx, key); err == nil && ok && string(last) == digest {
		return
	}
	wait := b.pace.retry()
	for range menuTries {
		err := b.api.SetCommands(ctx, menu)
		if err == nil {
			if err := b.desk.SetValue(ctx, key, []byte(digest)); err != nil {
				b.log.Debug("telegram: that the commands are set was not noted", "error", err)
			}
			return
		}
		e, ok := errors.AsType[*botapi.Error](err)
		if !ok || e.Class == botapi.Refused || e.Class == botapi.Unauthorized {
			b.log.Info("telegram: the commands could not be set", "error", err)
			return
		}
		b.log.Debug("telegram: the commands are not set yet", "error", err)
		if !pause(ctx, max(e.RetryAfter, wait.step())) {
			return
		}
	}
}
