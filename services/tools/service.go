package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/tools/internal/gate"
)

// Policy is the operator's rules.
type Policy = gate.Policy

// Rule is one rule of a Policy.
type Rule = gate.Rule

// Agent is what an agent's model may ask for.
type Agent = gate.Agent

// Config is what the service needs. Conn and Log are required.
type Config struct {
	Conn    *bus.Conn // as Spec().Name
	Policy  Policy
	Agents  map[string]Agent // by name; "main" stands in for all others
	Private []string         // files and folders of workspaces that are private, relative to them
	Secrets []string         // values that may stand in no arguments
	Log     *slog.Logger
}

// Service is the gate; see the package documentation.
type Service struct {
	conn  *bus.Conn
	actor *actor.Actor[call.State]
	gate  *gate.Gate
	shelf *shelf
	asked chan struct{} // closed once questions are answered
}

// Endpoints of the service.
const (
	judgeVerb   = "judge"
	versionVerb = "version"
	explainVerb = "explain"
)

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	kind := func(b envelope.Body) string { return envelope.KindOf(b.EventType()) }
	return bus.Spec{
		Name:    "tools",
		Appends: []string{kind(callv1.Dispatched{}) + ".*", kind(callv1.Awaiting{}), kind(callv1.Denied{})},
		Doorbells: []string{
			kind(turnv1.Stepped{}), kind(approvalv1.Decided{}), kind(approvalv1.Expired{}), kind(approvalv1.Voided{}),
		},
		Rung:         true, // by `jetclaw doctor --repair`
		Snapshots:    true,
		ReadsCatalog: true,
		Serves:       []string{judgeVerb, versionVerb, explainVerb},
	}
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("tools needs a connection")
	case c.Log == nil:
		return nil, errors.New("tools needs a logger")
	}
	g, err := gate.New(gate.Config{Policy: c.Policy, Agents: c.Agents, Private: c.Private, Secrets: c.Secrets})
	if err != nil {
		return nil, err
	}
	s := &Service{conn: c.Conn, gate: g, shelf: &shelf{from: c.Conn, log: c.Log}, asked: make(chan struct{})}
	s.actor, err = actor.New(s.machine(), c.Conn, Spec(), actor.Options{})
	return s, err
}

func (s *Service) machine() actor.Machine[call.State] {
	return actor.Machine[call.State]{
		Service: Spec().Name,
		Version: call.Version,
		Apply:   call.State.Apply,
		Next:    s.next,
	}
}

// blind is how long a call waits for a catalogue that cannot be read.
const blind = time.Second

// next is the machine's step with a judge that knows the catalogue. Nothing is decided without one: a tool that nobody is
// known to have is not the same as a bus that is away.
func (s *Service) next(st call.State, v machine.View) machine.Step {
	unread := false
	step := st.Next(v, func(q call.Question) call.Verdict {
		verdict, all, ok := s.judge(q)
		unread = !ok
		held := unlessPaused(all, verdict, v.Now)
		if held.Rule != pausedRule {
			return held
		}
		if all, ok = s.shelf.get(true); !ok { // it may just have ended
			return held
		}
		return unlessPaused(all, verdict, v.Now)
	})
	if unread {
		return machine.Wait{Until: v.Now.Add(blind)}
	}
	return step
}

// judge asks the gate about a call, and says by which catalogues; ok is false when there are none to judge by.
func (s *Service) judge(q call.Question) (_ call.Verdict, all []toolv1.Catalogue, ok bool) {
	if all, ok = s.shelf.get(false); !ok {
		return call.Verdict{}, nil, false
	}
	for _, c := range all {
		if _, known := c.Find(q.Tool); known {
			return s.gate.Judge(all)(q), all, true
		}
	}
	if all, ok = s.shelf.get(true); !ok { // its executor may have started just now
		return call.Verdict{}, nil, false
	}
	return s.gate.Judge(all)(q), all, true
}

// Run decides until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.actor.Run(ctx) })
	g.Go(func() error { return s.serve(ctx) })
	return g.Wait()
}

// Ready returns once calls are decided about and questions are answered, or with ctx's error.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.asked:
		return s.actor.Ready(ctx)
	case <-ctx.Done():
		return fmt.Errorf("tools is not ready: %w", context.Cause(ctx))
	}
}

// serve answers questions until ctx ends.
func (s *Service) serve(ctx context.Context) error {
	return s.conn.ServeAll(ctx, s.asked, bus.Endpoints{judgeVerb: s.answerJudge, versionVerb: s.answerVersion, explainVerb: s.answerExplain})
}
