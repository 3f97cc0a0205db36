package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

// Bot is one bot, known by the account of its sessions.
type Bot struct {
	Account   string
	Token     string
	APIRoot   string // "": Telegram's own
	Streaming bool   // answers are shown while the model speaks
}

// Config says which bots there are.
type Config struct {
	Bots   []Bot
	Limits Limits // of each token; what is zero is Telegram's
	Log    *slog.Logger
	Store  Store // what all processes share that speak for these bots; nil: there is no other, and never was
}

// Sender sends for all bots. Its methods may be called from any goroutine.
type Sender struct {
	bots map[string]*bot
}

// bot is one account at work.
type bot struct {
	client    *botapi.Client
	gate      *gate // shared by the accounts of one token
	streaming bool
	moved     *recent[int64, int64]       // groups by the number that their sessions have, to the one that they have got since
	drafts    *recent[session.ID, uint64] // what was shown last while the model speaks
	cuts      *recent[cutKey, []format.Part]
	refused   atomic.Bool // Telegram did not take the token the last time
	log       *slog.Logger
}

const (
	maxMoved  = 1000
	maxDrafts = 1000
)

// New checks the configuration; it calls nobody.
func New(c Config) (*Sender, error) {
	if c.Log == nil {
		return nil, errors.New("telegram: no log")
	}
	s := &Sender{bots: map[string]*bot{}}
	gates := map[string]*gate{}
	for _, b := range c.Bots {
		switch {
		case b.Account == "":
			return nil, errors.New("telegram: a bot without an account: no session would find it")
		case s.bots[b.Account] != nil:
			return nil, fmt.Errorf("telegram: two bots have the account %q", b.Account)
		}
		client, err := botapi.New(botapi.Config{Token: b.Token, APIRoot: b.APIRoot})
		if err != nil {
			return nil, fmt.Errorf("telegram: account %q: %w", b.Account, err)
		}
		if gates[b.Token] == nil {
			gates[b.Token] = newGate(c.Limits)
			if c.Store != nil {
				number, _, _ := strings.Cut(b.Token, ":") // the public part: the same after a new token
				gates[b.Token].share(c.Store, "calls.telegram."+number, c.Log.With("account", b.Account))
			}
		}
		s.bots[b.Account] = &bot{
			client: client, gate: gates[b.Token], streaming: b.Streaming,
			moved: newRecent[int64, int64](maxMoved), drafts: newRecent[session.ID, uint64](maxDrafts),
			cuts: newRecent[cutKey, []format.Part](maxCut),
			log:  c.Log.With("account", b.Account),
		}
	}
	return s, nil
}

// Send makes one attempt to show one part of an item. Its errors are *channel.Error.
func (s *Sender) Send(ctx context.Context, i channel.Item) (channel.Receipt, error) {
	b, to, e := s.find(i.Session)
	if e != nil {
		return channel.Receipt{}, e
	}
	began := time.Now()
	receipt, e := (&attempt{bot: b, to: to, item: i}).send(ctx)
	attrs := []any{"session", i.Session, "delivery", i.Delivery, "kind", i.Kind, "part", i.Part, "took", time.Since(began)}
	if e != nil {
		b.log.Debug("a message was not sent", append(attrs, "class", e.Class, "untried", e.Untried, "after", e.After)...)
		return channel.Receipt{}, e
	}
	b.log.Debug("a message was sent", append(attrs, "more", receipt.More)...)
	return receipt, nil
}

// Room says when there is room for a message in the chat of a session, whose place in the queue is kept; the zero time when that
// is now. What Send does at another time is as well, and waits.
func (s *Sender) Room(id session.ID) time.Time {
	b, to, e := s.find(id)
	if e != nil {
		return time.Time{} // Send says it
	}
	return b.gate.room(string(id), (&attempt{bot: b, to: to}).chat())
}

// Close gives up the connections that are kept, when the last calls are told. A Sender that is called again makes new ones.
func (s *Sender) Close() {
	for _, b := range s.bots {
		b.gate.close()
		b.client.Close()
	}
}

// find is the bot and the chat of a session.
func (s *Sender) find(id session.ID) (*bot, address, *channel.Error) {
	b := s.bots[id.Account()]
	if b == nil {
		return nil, address{}, channel.Errorf(channel.Permanent, "telegram: no bot has the account %q", id.Account())
	}
	to, ok := parseAddress(id.Peer())
	if !ok {
		return nil, address{}, channel.Errorf(channel.Permanent, "telegram: %q is no chat", id.Peer())
	}
	return b, to, nil
}
