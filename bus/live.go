package bus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// PublishLive sends v as JSON to whoever watches the session now. Lossy: never the only copy of anything.
func (c *Conn) PublishLive(s session.ID, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("live message of %s: %w", s, err)
	}
	if err := c.nc.Publish(subject.Live(s), b); err != nil {
		return fmt.Errorf("live message of %s: %w", s, err)
	}
	return nil
}

// SubscribeLive calls fn, one message after the other, until ctx ends. It returns once the subscription is in force.
func (c *Conn) SubscribeLive(ctx context.Context, s session.ID, fn func(data []byte)) error {
	return c.subscribe(ctx, []string{subject.Live(s)}, func(m *nats.Msg) { fn(m.Data) })
}

// SubscribeChannel is SubscribeLive for all sessions of one channel.
func (c *Conn) SubscribeChannel(ctx context.Context, channel string, fn func(s session.ID, data []byte)) error {
	return c.subscribe(ctx, []string{subject.LiveOfChannel(channel)}, func(m *nats.Msg) {
		s, err := subject.ParseLive(m.Subject)
		if err != nil {
			c.log.Debug("live message of no session", "subject", m.Subject, "error", err)
			return
		}
		fn(s, m.Data)
	})
}

// subscribe keeps core subscriptions until ctx ends; it returns once the server has them.
func (c *Conn) subscribe(ctx context.Context, subjects []string, fn nats.MsgHandler) error {
	subs := make([]*nats.Subscription, 0, len(subjects))
	stop := func() {
		for _, s := range subs {
			_ = s.Unsubscribe() // fails only when the connection is closed, and then it is gone as well
		}
	}
	for _, subj := range subjects {
		s, err := c.nc.Subscribe(subj, fn)
		if err != nil {
			stop()
			return fmt.Errorf("subscribe to %s: %w", subj, err)
		}
		subs = append(subs, s)
	}
	if err := c.flush(ctx); err != nil {
		stop()
		return fmt.Errorf("subscribe to %s: %w", subjects[0], err)
	}
	context.AfterFunc(ctx, stop)
	return nil
}
