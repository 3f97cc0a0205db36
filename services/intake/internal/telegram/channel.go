package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// Channel is all bots. Its methods may be called from any goroutine.
type Channel struct {
	bots  []*bot
	log   *slog.Logger
	pace  Pace
	ready chan struct{} // closed once the listeners are open
	ended chan struct{} // closed when Run returns
}

// New checks the configuration; it calls nobody. Its errors hold no secret.
func New(c Config) (*Channel, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	ch := &Channel{log: c.Log, pace: c.Pace.orDefault(), ready: make(chan struct{}), ended: make(chan struct{})}
	for _, b := range c.Bots {
		made, err := newBot(b, c)
		if err != nil {
			return nil, err
		}
		ch.bots = append(ch.bots, made)
	}
	return ch, nil
}

// Run takes updates in until ctx ends, or a listener fails. When it returns nothing of it runs. A bot whose token is refused
// stops alone. It is called once.
func (c *Channel) Run(ctx context.Context) error {
	defer close(c.ended)
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hooks, ports, err := c.listen(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error, len(ports))
	for _, p := range ports {
		parts.Go(func() {
			if err := p.serve(ctx); err != nil {
				failed <- err
			}
		})
	}
	for _, h := range hooks {
		parts.Go(func() { h.run(ctx) })
	}
	for _, b := range c.bots {
		if b.Webhook == nil {
			parts.Go(func() { b.poll(ctx) })
		}
	}
	close(c.ready)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel() // open requests are told to come again
	for _, p := range ports {
		parts.Go(func() { p.drain(c.pace.Drain) })
	}
	return err
}

// listen opens the listeners of all webhooks, or none.
func (c *Channel) listen(ctx context.Context) (hooks []*hook, ports []*port, err error) {
	byAddr := map[string]*port{}
	for _, b := range c.bots {
		if b.Webhook == nil {
			continue
		}
		p := byAddr[b.Webhook.Listen]
		if p == nil {
			p = newPort(b.Webhook.Listen, c.log, c.pace)
			if err := p.listen(ctx); err != nil {
				for _, open := range ports {
					open.listener.Close()
				}
				return nil, nil, err
			}
			byAddr[b.Webhook.Listen] = p
			ports = append(ports, p)
		}
		h := newHook(b)
		p.hooks[b.Webhook.path()] = h
		hooks = append(hooks, h)
	}
	return hooks, ports, nil
}

var errEnded = errors.New("the Telegram channel has stopped")

// Ready returns nil once the listeners of webhooks are open. It does not wait for Telegram.
func (c *Channel) Ready(ctx context.Context) error {
	select {
	case <-c.ended:
		return errEnded
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the Telegram channel is not ready: %w", context.Cause(ctx))
	}
}

// States says how each bot does.
func (c *Channel) States() []State {
	out := make([]State, 0, len(c.bots))
	for _, b := range c.bots {
		out = append(out, b.state.get())
	}
	return out
}
