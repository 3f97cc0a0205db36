package intake

import (
	"context"
	"errors"
	"math"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/telegram"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// TelegramBot is a bot whose updates come in here.
type TelegramBot = telegram.Bot

// TelegramWebhook has them come to a listener instead of being polled for.
type TelegramWebhook = telegram.Webhook

// desk is intake as a channel of its own sees it.
type desk struct {
	*Service
	leases *bus.Leases // set before the channel runs
}

// Judge holds an attempt against the policy of its door. One that is not configured lets nobody in.
func (d *desk) Judge(ctx context.Context, a access.Attempt) (access.Verdict, error) {
	door, ok := d.doors[a.Door.Account]
	if !ok || a.Door.Channel != channelTelegram {
		return access.Verdict{}, fault.New(fault.Denied, "there is no door %s.%s", a.Door.Channel, a.Door.Account)
	}
	return d.judge(ctx, door.Policy, a)
}

// Moved writes down that a group has another number.
func (d *desk) Moved(ctx context.Context, m accessv1.Moved) error { return d.moved(ctx, m) }

// Quarantine keeps what could not be read, once.
func (d *desk) Quarantine(ctx context.Context, s session.ID, key string, q messagev1.Quarantined) error {
	id := thread.MessageID(s, key)
	in := inbound{topic: topic{s, id}, key: key, given: true, body: q, event: envelope.Event{ID: id, Session: s, Key: key, Body: q}}
	ln, err := d.lanes.enter(ctx, s)
	if err != nil {
		return err
	}
	defer d.lanes.leave(s, ln)
	_, err = d.appendOnce(ctx, in)
	return err
}

// Files counts the files of a message.
func (d *desk) Files(ctx context.Context, cursor uint64) (int, error) {
	e, err := d.journal.Get(ctx, cursor)
	switch {
	case errors.Is(err, bus.ErrNoEvent): // the session was deleted meanwhile: with it, nothing is owed
		return math.MaxInt, nil
	case err != nil:
		return 0, err
	}
	if b, ok := e.Body.(messagev1.Received); ok {
		return len(b.Files), nil
	}
	return 0, nil
}

// Keep puts a file into the object store.
func (d *desk) Keep(ctx context.Context, s session.ID, data []byte) (string, error) {
	return d.conn.PutFile(ctx, s, data)
}

// Hold runs fn while this process holds a lease.
func (d *desk) Hold(ctx context.Context, lease string, fn func(context.Context) error) error {
	return d.leases.Hold(ctx, lease, fn)
}

// Value reads a setting.
func (d *desk) Value(ctx context.Context, key string) ([]byte, bool, error) {
	return d.conn.Value(ctx, key)
}

// SetValue replaces a setting.
func (d *desk) SetValue(ctx context.Context, key string, value []byte) error {
	return d.conn.SetValue(ctx, key, value)
}

// verbChannels asks how the channels do that intake opens.
const verbChannels = "channels"

// ChannelsRequest asks how the channels do (svc.intake.channels).
type ChannelsRequest struct{}

// Channels is the answer.
type Channels struct {
	Telegram []telegram.State `json:"telegram"`
}

func (s *Service) onChannels(_ context.Context, data []byte) (any, error) {
	var r ChannelsRequest
	if err := wire.Decode(data, &r); err != nil {
		return nil, err
	}
	out := Channels{Telegram: []telegram.State{}}
	if s.bots != nil {
		out.Telegram = s.bots.States()
	}
	return out, nil
}
