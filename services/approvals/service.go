package approvals

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// Endpoints of the service.
const (
	listVerb   = "list"
	getVerb    = "get"
	decideVerb = "decide"
	whoVerb    = "approvers"
)

func kind(b envelope.Body) string { return envelope.KindOf(b.EventType()) }

// ends are the kinds of events that end an approval.
func ends() []string {
	return []string{
		kind(approvalv1.Decided{}), kind(approvalv1.Expired{}), kind(approvalv1.Cancelled{}), kind(approvalv1.Voided{}),
	}
}

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	return bus.Spec{
		Name:    approval.Service,
		Appends: append(ends(), kind(approvalv1.Requested{}), kind(noticev1.Posted{})+"."+approval.Service),
		Doorbells: []string{
			kind(callv1.Awaiting{}), kind(callv1.Asked{}) + ".*", kind(messagev1.Decision{}), kind(turnv1.Cancelled{}), kind(turnv1.Failed{}),
		},
		Timers:    true,
		Snapshots: true,
		Values:    true, // by which rules it has decided
		Serves:    []string{listVerb, getVerb, decideVerb, whoVerb},
		Asks:      []string{toolsService + "." + judgeVerb, toolsService + "." + versionVerb},
		Follows:   true, // the index of open approvals
	}
}

// Config is what the service needs. Conn, Key and Log are required.
type Config struct {
	Conn       *bus.Conn          // as Spec().Name
	Key        ed25519.PrivateKey // signs decisions
	Approvers  []string           // identities that may decide; empty: local
	JoinOwners bool               // who was made an owner when they were let in may decide, too
	TTL        time.Duration      // how long a question is open; 0: 24 h
	SweepEvery time.Duration      // how often it is looked whether the policy has changed; 0: 30 s
	Log        *slog.Logger
}

const (
	defaultTTL   = 24 * time.Hour
	defaultSweep = 30 * time.Second
)

// Service decides approvals. See the package comment.
type Service struct {
	conn   *bus.Conn
	log    *slog.Logger
	rules  func() approval.Rules // as they are now
	book   *actor.Rulebook
	owners *owners
	gate   gate
	actor  *actor.Actor[approval.State]
	index  *index
	queues *queues
	every  time.Duration
	asked  chan struct{} // closed once questions are answered
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("approvals needs a connection")
	case c.Log == nil:
		return nil, errors.New("approvals needs a logger")
	case len(c.Key) != ed25519.PrivateKeySize:
		return nil, errors.New("approvals needs a key to sign decisions with")
	case c.TTL < 0 || c.SweepEvery < 0:
		return nil, errors.New("approvals: a negative time")
	case c.TTL == 0:
		c.TTL = defaultTTL
	}
	if c.SweepEvery == 0 {
		c.SweepEvery = defaultSweep
	}
	if len(c.Approvers) == 0 {
		c.Approvers = []string{local}
	}
	key := slices.Clone(c.Key)
	s := &Service{
		conn: c.Conn, log: c.Log, gate: tools{c.Conn}, index: newIndex(), queues: newQueues(), every: c.SweepEvery,
		asked: make(chan struct{}), book: actor.NewRulebook(c.Conn), owners: newOwners(c.Conn, c.Log, c.Approvers, c.JoinOwners),
	}
	rules := approval.Rules{
		TTL:  c.TTL,
		Sign: func(id session.ID, r callv1.Request, a callv1.Approval) callv1.Approval { return a.Signed(key, id, r) },
	}
	s.rules = func() approval.Rules {
		now := rules
		now.Approvers = s.owners.now()
		return now
	}
	if err := s.rules().Validate(); err != nil {
		return nil, err
	}
	var err error
	if s.actor, err = actor.New(s.machine(), c.Conn, Spec(), actor.Options{}); err != nil {
		return nil, fmt.Errorf("actor of approvals: %w", err)
	}
	return s, nil
}

func (s *Service) machine() actor.Machine[approval.State] {
	return actor.Machine[approval.State]{
		Service: approval.Service,
		Version: approval.Version,
		Apply:   approval.State.Apply,
		Next:    s.next,
		Rules:   func(session.ID) string { return s.digest() },
	}
}

// digest names the rules as they are now.
func (s *Service) digest() string {
	r := s.rules()
	return s.book.Digest(strings.Join(r.Approvers, " "), func() any { return recorded{TTL: r.TTL, Approvers: r.Approvers} })
}

// next is the machine's step, after the gate was asked what the machine needs to know for it.
func (s *Service) next(st approval.State, v machine.View) machine.Step {
	rules := s.rules()
	questions := st.Questions(v, rules)
	if len(questions) == 0 {
		return st.Next(v, rules, nil)
	}
	heard := s.hear(v.Session, questions)
	v.Now = s.now() // asking took a while: an approval may have expired
	return st.Next(v, rules, heard)
}

// hear asks until one question is answered: one that the gate chokes on must not hold up the others.
func (s *Service) hear(id session.ID, questions []approval.Question) *approval.Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), judgeTime)
	defer cancel()
	for _, q := range questions {
		verdict, err := s.gate.judge(ctx, id, q)
		if err == nil {
			return &verdict
		}
		s.log.Warn("an answer waits: the gate could not be asked", "session", id, "call", q.Call, "error", err)
	}
	return nil
}

// now is the time that all processes share.
func (s *Service) now() time.Time { return s.conn.Now().UTC().Round(0) }

// Run asks and decides until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	known := make(chan struct{})
	g.Go(func() error { return s.owners.keep(ctx, known) })
	g.Go(func() error {
		select {
		case <-known:
			return s.actor.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	})
	g.Go(func() error { return s.serve(ctx) })
	g.Go(func() error { return s.keepIndex(ctx) })
	return g.Wait()
}

// Ready returns once answers are taken, or with ctx's error. It does not wait for the index.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.asked:
		return s.actor.Ready(ctx)
	case <-ctx.Done():
		return fmt.Errorf("approvals is not ready: %w", context.Cause(ctx))
	}
}

// serve answers questions until ctx ends.
func (s *Service) serve(ctx context.Context) error {
	return s.conn.ServeAll(ctx, s.asked, bus.Endpoints{
		listVerb: s.answerList, getVerb: s.answerGet, decideVerb: s.answerDecide, whoVerb: s.answerWho,
	})
}
