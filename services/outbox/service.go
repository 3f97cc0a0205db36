package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

func kind(b envelope.Body) string { return envelope.KindOf(b.EventType()) }

const inTelegram = "@telegram" // behind a kind: in its sessions only

// Spec says what the outbox does on the bus.
func Spec() bus.Spec {
	return bus.Spec{
		Name: "outbox",
		Appends: []string{
			kind(deliveryv1.Started{}), kind(deliveryv1.Sent{}), kind(deliveryv1.Deferred{}),
			kind(deliveryv1.Failed{}), kind(deliveryv1.Unknown{}), kind(deliveryv1.Drafting{}), kind(deliveryv1.Drafted{}),
			kind(noticev1.Posted{}) + ".outbox", // what it is asked to send
		},
		Doorbells: []string{
			kind(turnv1.Completed{}), kind(turnv1.Failed{}), kind(turnv1.Cancelled{}),
			kind(noticev1.Posted{}) + ".*",
			kind(approvalv1.Requested{}), kind(approvalv1.Decided{}), kind(approvalv1.Expired{}), kind(approvalv1.Voided{}),
			kind(approvalv1.Cancelled{}),
			kind(turnv1.SessionConfigured{}), kind(turnv1.SessionReset{}),
			kind(turnv1.SessionCompacted{}), kind(turnv1.CompactionFailed{}),
			// What a channel shows that has drafts, and no receipts for what it refuses.
			kind(turnv1.Stepped{}) + inTelegram, kind(deliveryv1.Drafted{}) + inTelegram, kind(messagev1.Refused{}) + inTelegram,
		},
		Timers:    true,
		Snapshots: true,
		Values:    true, // by which rules it has decided, and what was called of late where a channel has limits
		Serves:    []string{sendVerb},
		Follows:   true, // what is shown of turns that run
	}
}

// Config is what the outbox needs.
type Config struct {
	Conn    *bus.Conn         // as Spec().Name; required
	Senders map[string]Sender // of the push channels, by name: "http"; a mailbox channel named here is pushed instead
	Limits  delivery.Limits   // zero: the default ones
	Log     *slog.Logger      // required
}

// Service is the outbox; see the package documentation.
type Service struct {
	conn    *bus.Conn
	actor   *actor.Actor[delivery.State]
	senders map[string]Sender
	drafts  map[string]*drafts // of the channels that have a Presence
	limits  delivery.Limits
	doors   *doors
	serving chan struct{} // closed once it can be asked to send
	log     *slog.Logger
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("the outbox needs a connection to the bus")
	case c.Log == nil:
		return nil, errors.New("the outbox needs a logger")
	case c.Limits.Attempts == 0 && c.Limits.Routes == nil && c.Limits.Backoff == nil:
		c.Limits = delivery.DefaultLimits()
	}
	s := &Service{
		conn: c.Conn, senders: maps.Clone(c.Senders), drafts: map[string]*drafts{}, limits: c.Limits, doors: newDoors(),
		serving: make(chan struct{}), log: c.Log,
	}
	s.limits.Routes = maps.Clone(c.Limits.Routes)
	if s.limits.Routes == nil {
		s.limits.Routes = map[string]delivery.Route{}
	}
	for name, sender := range s.senders {
		if sender == nil {
			return nil, fmt.Errorf("the outbox has no sender for channel %q", name)
		}
		s.limits.Routes[name] = delivery.Push
		if p, ok := sender.(Presence); ok {
			s.drafts[name] = newDrafts(p, c.Conn, c.Log)
		}
	}
	for name, route := range s.limits.Routes {
		if route == delivery.Push && s.senders[name] == nil {
			return nil, fmt.Errorf("the outbox has no sender for channel %q", name)
		}
	}
	if err := s.limits.Validate(); err != nil {
		return nil, err
	}
	var err error
	s.actor, err = actor.New(s.machine(), c.Conn, Spec(), actor.Options{})
	if err != nil {
		return nil, fmt.Errorf("actor of the outbox: %w", err)
	}
	return s, nil
}

func (s *Service) machine() actor.Machine[delivery.State] {
	book := actor.NewRulebook(s.conn)
	return actor.Machine[delivery.State]{
		Service: Spec().Name,
		Version: delivery.Version,
		Apply:   delivery.State.Apply,
		Next:    s.next,
		Rules:   func(session.ID) string { return book.Digest("", func() any { return s.limits }) },
		Perform: s.perform,
	}
}

// Run delivers until ctx ends; it returns once sends under way have ended or were cut off.
func (s *Service) Run(ctx context.Context) error {
	s.log.Debug("outbox runs", "push", slices.Sorted(maps.Keys(s.senders)))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.actor.Run(ctx) })
	g.Go(func() error { return s.conn.ServeAll(ctx, s.serving, bus.Endpoints{sendVerb: s.onSend}) })
	for channel, d := range s.drafts {
		g.Go(func() error { return s.present(ctx, channel, d.presence) })
	}
	err := g.Wait()
	for _, sender := range s.senders {
		if c, ok := sender.(interface{ Close() }); ok { // its idle connections
			c.Close()
		}
	}
	return err
}

// Ready returns once doorbells are taken, running turns are shown and it can be asked to send, or with ctx's error.
func (s *Service) Ready(ctx context.Context) error {
	for channel, d := range s.drafts {
		select {
		case <-d.hears:
		case <-ctx.Done():
			return fmt.Errorf("the outbox is not ready for %s: %w", channel, context.Cause(ctx))
		}
	}
	select {
	case <-s.serving:
	case <-ctx.Done():
		return fmt.Errorf("the outbox cannot be asked yet: %w", context.Cause(ctx))
	}
	return s.actor.Ready(ctx)
}
