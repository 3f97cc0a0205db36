package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// DefaultSystem is the system text of an agent that nobody has described.
const DefaultSystem = "You are a helpful personal assistant. Answer briefly and plainly, in the language of the person who writes."

// Config is what the service needs. Conn, Model and Log are required.
type Config struct {
	Conn   *bus.Conn // as Spec().Name
	Model  Model
	Limits turn.Limits // zero: turn.DefaultLimits()
	System string      // what the model is told first; "": DefaultSystem
	Tools  []model.Tool
	Log    *slog.Logger
}

// Service runs turns. See the package comment.
type Service struct {
	actor *actor.Actor[turn.State]
}

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	kind := func(b envelope.Body) string { return envelope.KindOf(b.EventType()) }
	return bus.Spec{
		Name: "turns",
		Appends: []string{
			kind(turnv1.Started{}), kind(turnv1.Continued{}), kind(turnv1.Resumed{}), kind(turnv1.Stepped{}),
			kind(turnv1.Completed{}), kind(turnv1.Failed{}), kind(turnv1.Cancelled{}),
			kind(turnv1.SessionReset{}), kind(turnv1.SessionDeleted{}),
		},
		Doorbells: []string{
			kind(messagev1.Received{}), kind(messagev1.Control{}), kind(callv1.Completed{}) + ".*", kind(callv1.Denied{}),
		},
		Snapshots: true,
		Live:      true,
	}
}

// New makes the service; Run starts it.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("turns needs a connection")
	case c.Model == nil:
		return nil, errors.New("turns needs a model")
	case c.Log == nil:
		return nil, errors.New("turns needs a logger")
	}
	m, err := newMachine(c, c.Conn)
	if err != nil {
		return nil, err
	}
	a, err := actor.New(m, c.Conn, Spec(), actor.Options{})
	if err != nil {
		return nil, err
	}
	return &Service{actor: a}, nil
}

func newMachine(c Config, live Live) (actor.Machine[turn.State], error) {
	if c.Limits == (turn.Limits{}) {
		c.Limits = turn.DefaultLimits()
	}
	if err := c.Limits.Validate(); err != nil {
		return actor.Machine[turn.State]{}, fmt.Errorf("limits of turns: %w", err)
	}
	if c.System == "" {
		c.System = DefaultSystem
	}
	calls := &caller{model: c.Model, tools: c.Tools, system: c.System, limits: c.Limits, live: live, log: c.Log}
	return actor.Machine[turn.State]{
		Service: Spec().Name,
		Version: turn.Version,
		Apply:   turn.State.Apply,
		Next:    func(s turn.State, v machine.View) machine.Step { return s.Next(v, c.Limits) },
		Perform: calls.perform,
	}, nil
}

// Run takes turns until ctx ends; then running model calls may finish for a while, and it returns when they have.
func (s *Service) Run(ctx context.Context) error { return s.actor.Run(ctx) }

// Ready returns once messages are answered, or with ctx's error.
func (s *Service) Ready(ctx context.Context) error { return s.actor.Ready(ctx) }
