package builtin

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

// MainAgent lends its workspace to sessions of agents that are not configured.
const MainAgent = "main"

// Executor is the name of the executor: the suffix of its events.
const Executor = "builtin"

// Version is that of the machine of its calls; see execution.Version.
const Version = execution.Version

// Part is the part of its session that an event is about; see execution.Part.
func Part(ev envelope.Event) string { return execution.Part(ev) }

// calls is their machine.
func calls() execution.Machine {
	return execution.Machine{Owns: func(name string) bool { return name == Executor }}
}

// Config is what the executor needs. Conn, Key and Log are required.
type Config struct {
	Conn       *bus.Conn         // as Spec().Name
	Key        ed25519.PublicKey // of the approvals service
	Workspaces map[string]string // absolute folders, by agent
	Private    []string          // files and folders of workspaces that are private, relative to them
	Secrets    []string          // values that leave no tool
	Web        Web
	Exec       *Exec // nil: no shell
	Log        *slog.Logger
}

// Service is the executor; see the package documentation.
type Service struct {
	conn       *bus.Conn
	actor      *actor.Actor[execution.State]
	tools      map[string]tool.Tool
	key        ed25519.PublicKey
	workspaces map[string]string
	secrets    secret.Known
	log        *slog.Logger
	published  chan struct{} // closed once the catalogue is
}

// Spec says what the executor does on the bus.
func Spec() bus.Spec {
	kind := func(b envelope.Body) string { return envelope.KindOf(b.EventType()) }
	return bus.Spec{
		Name: Executor,
		Appends: []string{
			kind(callv1.Started{}) + "." + Executor, kind(callv1.Completed{}) + "." + Executor,
		},
		Doorbells: []string{kind(callv1.Dispatched{}) + "." + Executor, kind(turnv1.Cancelled{})},
		Rung:      true, // by `jetclaw doctor --repair`
		Snapshots: true,
		Values:    true, // by which rules it has decided
		Catalog:   Executor,
	}
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("builtin needs a connection")
	case len(c.Key) != ed25519.PublicKeySize:
		return nil, errors.New("builtin needs the public key of the approvals service")
	case c.Log == nil:
		return nil, errors.New("builtin needs a logger")
	}
	s := &Service{
		conn: c.Conn, key: c.Key, workspaces: maps.Clone(c.Workspaces), secrets: secret.Compile(c.Secrets), log: c.Log,
		tools: map[string]tool.Tool{}, published: make(chan struct{}),
	}
	list, err := s.table(c)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if _, twice := s.tools[t.Name]; twice || !t.Level.Known() || t.Timeout <= 0 || t.Run == nil {
			return nil, fmt.Errorf("builtin: the tool %s is there twice, or not whole", t.Name)
		}
		s.tools[t.Name] = t
	}
	s.actor, err = actor.New(s.machine(), c.Conn, Spec(), actor.Options{})
	return s, err
}

func (s *Service) machine() actor.Machine[execution.State] {
	recorded := s.recorded()
	rules, book := recorded.rules(), actor.NewRulebook(s.conn)
	return actor.Machine[execution.State]{
		Service: Spec().Name,
		Version: execution.Version,
		Apply:   calls().Apply,
		Part:    execution.Part,
		Next:    func(st execution.State, v machine.View) machine.Step { return st.Next(v, rules) },
		Rules:   func(session.ID) string { return book.Digest("", func() any { return recorded }) },
		Perform: s.perform,
	}
}

// attempts is how often a call that may be repeated is claimed.
const attempts = 3

// Run carries out calls until ctx ends; then running ones may finish for a while, and it returns when they have.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.actor.Run(ctx) })
	g.Go(func() error { return s.publish(ctx) })
	return g.Wait()
}

// Ready returns once calls are taken and the catalogue is published, or with ctx's error.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.published:
		return s.actor.Ready(ctx)
	case <-ctx.Done():
		return fmt.Errorf("builtin is not ready: %w", context.Cause(ctx))
	}
}

// Catalogue is what the executor offers, in the order of names.
func (s *Service) Catalogue() toolv1.Catalogue {
	c := toolv1.Catalogue{Executor: Executor}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		c.Tools = append(c.Tools, s.tools[name].Tool)
	}
	return c
}

// publishAgain is how long a bus that does not take the catalogue is left alone.
const publishAgain = time.Second

func (s *Service) publish(ctx context.Context) error {
	data, err := json.Marshal(s.Catalogue())
	if err != nil {
		return fmt.Errorf("catalogue of builtin: %w", err)
	}
	for {
		err := s.conn.SetCatalog(ctx, Executor, data)
		if err == nil {
			close(s.published)
			return nil
		}
		s.log.Warn("the catalogue is not published yet", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(publishAgain):
		}
	}
}

func (s *Service) workspaceOf(id session.ID) string {
	if dir, ok := s.workspaces[id.Agent()]; ok {
		return dir
	}
	return s.workspaces[MainAgent]
}
