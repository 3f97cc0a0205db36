package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// Bot is one bot, with the agent that its sessions are of.
type Bot struct {
	Account string // its name in the configuration: the third part of session ids
	Agent   string
	Token   string
	APIRoot string // "": Telegram's own server
	Webhook *Webhook
}

// Webhook has updates come to a listener of ours instead of being polled for.
type Webhook struct {
	URL    string // where Telegram sends them; its path is the listener's, too
	Listen string // host:port; several bots may share one
	Secret string // comes with every update: 1 to 256 of A-Z, a-z, 0-9, _ and -
}

// Gate takes in what has come, and tells what became of it.
type Gate interface {
	Submit(ctx context.Context, r wire.Request) (wire.Receipt, error)
	Reply(ctx context.Context, r wire.ReplyRequest) (wire.Reply, error)
	// Files says how many files the message at a cursor of the journal has; 0 for what is no message.
	Files(ctx context.Context, cursor uint64) (int, error)
	// Quarantine keeps what cannot be read; the same session and key again appends nothing.
	Quarantine(ctx context.Context, s session.ID, key string, q messagev1.Quarantined) error
}

// Porter says who is let in, by the policy of the attempt's door.
type Porter interface {
	Judge(ctx context.Context, a access.Attempt) (access.Verdict, error)
	Moved(ctx context.Context, m accessv1.Moved) error
}

// Shelf is what is kept beside the journal.
type Shelf interface {
	// Keep puts a file of a session into the object store; the digest names it.
	Keep(ctx context.Context, s session.ID, data []byte) (digest string, err error)
	// Hold runs fn while this process holds a lease: one holder over all processes.
	Hold(ctx context.Context, lease string, fn func(ctx context.Context) error) error
	Value(ctx context.Context, key string) (value []byte, ok bool, err error)
	SetValue(ctx context.Context, key string, value []byte) error
}

// Desk is intake as this channel needs it.
type Desk interface {
	Gate
	Porter
	Shelf
}

// Config is what the channel needs.
type Config struct {
	Bots []Bot
	Desk Desk         // required
	Log  *slog.Logger // required
	Pace Pace         // zero fields: those of DefaultPace
}

// Pace is how long things may take, and how long is waited between them.
type Pace struct {
	Poll  time.Duration // a poll with nothing to do; Telegram waits 50 s at most
	Short time.Duration // from one poll to the next while an update is not finished; after half a second and less the server gives one update
	Album time.Duration // for the next message of an album

	RetryFirst, RetryMost       time.Duration // what failed is tried again, at first and at most after so long
	ConflictFirst, ConflictMost time.Duration // the same while somebody else polls with the token

	Fetch   time.Duration // a file
	Answer  time.Duration // for what became of a tap, before the person is told
	Durable time.Duration // from an update at the webhook to the journal
	Body    time.Duration // reading a request at the webhook
	Drain   time.Duration // requests at the webhook, when the channel stops
}

// DefaultPace is the pace of a real bot.
func DefaultPace() Pace {
	return Pace{
		Poll: 50 * time.Second, Short: 600 * time.Millisecond, Album: time.Second,
		RetryFirst: time.Second, RetryMost: 30 * time.Second,
		ConflictFirst: 5 * time.Second, ConflictMost: 15 * time.Second,
		Fetch: time.Minute, Answer: 10 * time.Second, Durable: 50 * time.Second, Body: 10 * time.Second, Drain: 5 * time.Second,
	}
}

// orDefault fills what is zero.
func (p Pace) orDefault() Pace {
	d := DefaultPace()
	for _, f := range []struct{ own, usual *time.Duration }{
		{&p.Poll, &d.Poll},
		{&p.Short, &d.Short},
		{&p.Album, &d.Album},
		{&p.RetryFirst, &d.RetryFirst},
		{&p.RetryMost, &d.RetryMost},
		{&p.ConflictFirst, &d.ConflictFirst},
		{&p.ConflictMost, &d.ConflictMost},
		{&p.Fetch, &d.Fetch},
		{&p.Answer, &d.Answer},
		{&p.Durable, &d.Durable},
		{&p.Body, &d.Body},
		{&p.Drain, &d.Drain},
	} {
		if *f.own <= 0 {
			*f.own = *f.usual
		}
	}
	return p
}

var (
	accountForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	secretForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// check says what is wrong, with the key as it stands in the configuration, and without any secret.
func (c Config) check() error {
	switch {
	case c.Desk == nil:
		return errors.New("the Telegram channel needs a desk")
	case c.Log == nil:
		return errors.New("the Telegram channel needs a logger")
	}
	accounts, tokens, places := map[string]bool{}, map[string]string{}, map[string]string{}
	for _, b := range c.Bots {
		key := "channels.telegram." + b.Account
		if !accountForm.MatchString(b.Account) {
			return fmt.Errorf("channels.telegram: name of bot %.70q: at most 64 letters, digits, _ and -", b.Account)
		}
		if accounts[b.Account] {
			return fmt.Errorf("%s is given twice", key)
		}
		if other, ok := tokens[b.Token]; ok {
			return fmt.Errorf("%s and channels.telegram.%s have the same token: they would take each other's updates", key, other)
		}
		if _, err := session.New(b.Agent, channel, b.Account, "1"); err != nil {
			return fmt.Errorf("%s.agent %.70q: %w", key, b.Agent, err)
		}
		accounts[b.Account], tokens[b.Token] = true, b.Account
		if b.Webhook == nil {
			continue
		}
		if err := b.Webhook.check(); err != nil {
			return fmt.Errorf("%s.webhook.%w", key, err)
		}
		place := b.Webhook.Listen + b.Webhook.path()
		if other, ok := places[place]; ok {
			return fmt.Errorf("%s and channels.telegram.%s have the same webhook: nobody could tell whose updates come", key, other)
		}
		places[place] = b.Account
	}
	return nil
}

func (w *Webhook) check() error {
	u, err := url.Parse(w.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("url: want https://host/path, without ? and #")
	}
	if _, _, err := net.SplitHostPort(w.Listen); err != nil {
		return fmt.Errorf("listen %q: want host:port, as in 127.0.0.1:8443", w.Listen)
	}
	if !secretForm.MatchString(w.Secret) {
		return errors.New("secret: want 1 to 256 of A-Z, a-z, 0-9, _ and -: without it anybody could send updates")
	}
	return nil
}

// path is where the listener expects updates.
func (w *Webhook) path() string {
	if u, err := url.Parse(w.URL); err == nil && u.Path != "" {
		return u.Path
	}
	return "/"
}
