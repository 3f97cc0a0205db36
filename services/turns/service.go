package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/daily"
	"github.com/jetclaw/jetclaw/services/turns/internal/router"
	"github.com/jetclaw/jetclaw/services/turns/price"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Budgets are what may be used in one day.
type Budgets = daily.Budgets

// DayBudget is what one agent, or all of them, may use in one day.
type DayBudget = daily.Budget

// Config is what the service needs. Conn, Catalog and Log are required.
type Config struct {
	Conn    *bus.Conn // as Spec().Name
	Catalog Catalog
	Agents  map[string]Agent // by name; MainAgent stands in for all others
	Prices  price.Table
	Budgets Budgets
	Secrets []string // values that no model is shown
	Log     *slog.Logger
}

// Service runs turns. See the package comment.
type Service struct {
	conn  *bus.Conn
	actor *actor.Actor[turn.State]
	asked chan struct{} // closed once questions are answered
	calls *caller
	daily *daily.Accounts // nil: no budget of the day
}

// Endpoints of the service.
const (
	contextVerb = "context"
	deleteVerb  = "delete"
	forkVerb    = "fork"
	rerunVerb   = "rerun"
)

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	kind := func(b envelope.Body) string { return envelope.KindOf(b.EventType()) }
	return bus.Spec{
		Name: "turns",
		Appends: []string{
			kind(turnv1.Started{}), kind(turnv1.Continued{}), kind(turnv1.Resumed{}), kind(turnv1.Stepped{}),
			kind(turnv1.Overflowed{}), kind(turnv1.Completed{}), kind(turnv1.Failed{}), kind(turnv1.Cancelled{}),
			kind(turnv1.CompactionStarted{}), kind(turnv1.CompactionFailed{}), kind(turnv1.SessionCompacted{}),
			kind(turnv1.SessionConfigured{}), kind(turnv1.SessionReset{}), kind(turnv1.SessionDeleted{}), kind(turnv1.Forked{}),
			kind(noticev1.Posted{}) + ".turns",
		},
		Doorbells: []string{
			kind(messagev1.Received{}), kind(messagev1.Control{}), kind(callv1.Completed{}) + ".*", kind(callv1.Denied{}), kind(turnv1.Forked{}),
		},
		Serves:    []string{contextVerb, deleteVerb, forkVerb, rerunVerb},
		Rung:      true, // by `jetclaw doctor --repair`
		Snapshots: true,
		Values:    true, // which models are on hold, and by which rules it has decided
		Live:      true,
		Follows:   true, // only with a budget of the day

		ReadsCatalog: true,
	}
}

// New makes the service; Run starts it.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("turns needs a connection")
	case c.Catalog == nil:
		return nil, errors.New("turns needs a catalog of models")
	case c.Log == nil:
		return nil, errors.New("turns needs a logger")
	}
	calls, err := newCaller(c, c.Conn, c.Conn, c.Conn, c.Conn)
	if err != nil {
		return nil, err
	}
	s := &Service{conn: c.Conn, calls: calls, asked: make(chan struct{})}
	if c.Budgets.Any() {
		s.daily = daily.New(c.Conn, c.Budgets)
		s.daily.Reprice(calls.charge)
		calls.daily = s.daily
	}
	calls.book = actor.NewRulebook(c.Conn)
	if s.actor, err = actor.New(calls.machine(), c.Conn, Spec(), actor.Options{}); err != nil {
		return nil, err
	}
	return s, nil
}

func newCaller(c Config, live Live, store router.Store, tools Catalogue, files Files) (*caller, error) {
	list, err := newAgents(c.Agents, c.Catalog, c.Prices, c.Secrets)
	if err != nil {
		return nil, err
	}
	return &caller{
		agents: list, models: c.Catalog, prices: c.Prices, live: live, log: c.Log, shelf: newShelf(tools, c.Log), files: files,
		route: router.New(router.Config{Catalog: c.Catalog, Store: store, Log: c.Log}),
	}, nil
}

func (c *caller) machine() actor.Machine[turn.State] {
	return actor.Machine[turn.State]{
		Service: Spec().Name,
		Version: turn.Version,
		Apply:   turn.State.Apply,
		Next:    func(s turn.State, v machine.View) machine.Step { return s.Next(v, c.agents.rulesOf(v.Session)) },
		Rules: func(s session.ID) string {
			return c.book.Digest(s.Agent()+" "+s.Channel(), func() any { return c.agents.rulesOf(s) })
		},
		Perform: c.perform,
	}
}

// Run takes turns until ctx ends; then running model calls may finish for a while, and it returns when they have.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.actor.Run(ctx) })
	if s.daily != nil {
		g.Go(func() error { return s.daily.Run(ctx) })
	}
	g.Go(func() error { return s.serve(ctx) })
	return g.Wait()
}

// Ready returns once messages and questions are answered, or with ctx's error.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.asked:
		return s.actor.Ready(ctx)
	case <-ctx.Done():
		return fmt.Errorf("turns is not ready: %w", context.Cause(ctx))
	}
}

// serve answers questions until ctx ends.
func (s *Service) serve(ctx context.Context) error {
	return s.conn.ServeAll(ctx, s.asked, bus.Endpoints{
		contextVerb: s.answerContext, deleteVerb: s.answerDelete, forkVerb: s.answerFork, rerunVerb: s.answerRerun,
	})
}

// callTime bounds what an endpoint does.
const callTime = 10 * time.Second
