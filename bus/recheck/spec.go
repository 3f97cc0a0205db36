package recheck

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// Spec is what a service tells of its machine. S is the machine's state, R what it is configured with; Service, Kinds, Apply,
// Next and Rules are required.
type Spec[S, R any] struct {
	Service string
	Kinds   []string // that it appends, as in bus.Spec.Appends
	Apply   func(S, envelope.Event) S
	// Next is the machine's step. ev is the event that the step is held against: what it says of the world is given; nil when
	// it is asked what is due now. r are the rules that the event names, or that the session's last event of this service
	// named.
	Next func(s S, v machine.View, ev *envelope.Event, r R) machine.Step
	// Rules decodes what actor.Rulebook has recorded; nil: nobody has, and today's defaults are tried.
	Rules func(recorded json.RawMessage) R
	// Given says that nobody decides an event of the service, or that an effect's side shows in it only. nil: never.
	Given func(ev envelope.Event) bool
	// Parts are those of a session in which something may be due, beside ""; nil: it has none.
	Parts func(S) []string
	// Part is the one that an event is about; nil: "".
	Part func(ev envelope.Event) string
	// Claim is the cursor of the open claim of a part; 0 for none. nil: the machine has no effects.
	Claim func(s S, part string) uint64
	// Outcome is ev with all that the machine determines of the outcome of its effect written anew; nil: the effect of the open
	// claim does not end like this.
	Outcome func(s S, part string, ev envelope.Event) envelope.Body
	// Timeless is body with the recorded times of ev's; used when nobody knows the rules. nil: it has none.
	Timeless func(body, then envelope.Body) envelope.Body
}

// New makes a Machine of a Spec.
func New[S, R any](s Spec[S, R], rules Rules) (Machine, error) {
	switch {
	case s.Service == "" || len(s.Kinds) == 0:
		return nil, errors.New("recheck: a machine without a service, or one that appends nothing")
	case s.Apply == nil || s.Next == nil || s.Rules == nil || rules == nil:
		return nil, errors.New("recheck: " + s.Service + " needs Apply, Next and Rules")
	}
	return &checker[S, R]{Spec: s, find: rules, unknown: &known[R]{rules: s.Rules(nil)}}, nil
}

type checker[S, R any] struct {
	Spec[S, R]
	find    Rules
	unknown *known[R]
	found   sync.Map // of *known[R], by digest
}

// known are decoded rules.
type known[R any] struct {
	rules    R
	recorded bool // else they are today's defaults
}

// rulesOf are the rules of a digest.
func (c *checker[S, R]) rulesOf(digest string) *known[R] {
	if digest == "" {
		return c.unknown
	}
	if k, ok := c.found.Load(digest); ok {
		return k.(*known[R]) //nolint:forcetypeassert // nothing else is stored
	}
	k := c.unknown
	if raw := c.find(c.Spec.Service, digest); raw != nil {
		k = &known[R]{rules: c.Spec.Rules(raw), recorded: true}
	}
	c.found.Store(digest, k)
	return k
}

func (c *checker[S, R]) Service() string { return c.Spec.Service }

func (c *checker[S, R]) Owns(ev envelope.Event) bool {
	kind := ev.Kind()
	suffix := ""
	if s, ok := ev.Body.(envelope.Suffixed); ok {
		suffix = s.SubjectSuffix()
	}
	return slices.ContainsFunc(c.Kinds, func(k string) bool {
		rest, ok := strings.CutPrefix(k, kind)
		return ok && (rest == "" && suffix == "" || rest == ".*" || rest == "."+suffix)
	})
}

func (c *checker[S, R]) On(id session.ID) Fold { return &fold[S, R]{checker: c, session: id} }

type fold[S, R any] struct {
	*checker[S, R]
	session session.ID
	state   S
	digest  string // of the rules of the last event of the service
}

func (f *fold[S, R]) Apply(ev envelope.Event) {
	f.state = f.Spec.Apply(f.state, ev)
	if ev.Rules != "" && f.Owns(ev) {
		f.digest = ev.Rules
	}
}

func (f *fold[S, R]) State() any { return f.state }

func (f *fold[S, R]) Due(now time.Time) []Due {
	parts := []string{""}
	if f.Parts != nil {
		parts = append(parts, f.Parts(f.state)...)
	}
	var due []Due
	for _, part := range parts {
		step := f.Next(f.state, machine.View{Now: now, Session: f.session, Part: part}, nil, f.rulesOf(f.digest).rules)
		if step != nil {
			due = append(due, Due{Service: f.Spec.Service, Part: part, Step: step})
		}
	}
	return due
}
