package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/tools/internal/gate"
)

// JudgeRequest asks what would be decided about a call now (svc.tools.judge).
type JudgeRequest struct {
	Session   string          `json:"session"`
	Turn      string          `json:"turn"`
	Call      string          `json:"call"`
	Index     int             `json:"index"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Judged is what would be decided.
type Judged struct {
	Effect  call.Effect    `json:"effect"`
	Rule    string         `json:"rule"`
	Reason  string         `json:"reason,omitempty"`
	Why     []string       `json:"why,omitempty"`
	Shown   string         `json:"shown,omitempty"`
	Fixed   string         `json:"fixed,omitempty"`
	Grant   string         `json:"grant,omitempty"`
	Request callv1.Request `json:"request"`
	// Considered says, for people, what was looked at, in order (explain only).
	Considered []string `json:"considered,omitempty"`
}

func judged(v call.Verdict) Judged {
	return Judged{
		Effect: v.Effect, Rule: v.Rule, Reason: v.Reason, Why: v.Why, Shown: v.Shown, Fixed: v.Fixed, Grant: v.Grant, Request: v.Request,
	}
}

func (s *Service) answerJudge(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[JudgeRequest](data)
	if err != nil {
		return nil, err
	}
	id, err := session.Parse(r.Session)
	if err != nil {
		return nil, fault.New(fault.Invalid, "session: %w", err)
	}
	state, _, err := s.actor.Fold(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	q := call.Question{
		Session: id, Turn: r.Turn, Call: r.Call, Index: r.Index, Tool: r.Tool, Arguments: r.Arguments, Taint: state.Taint, Always: state.Always,
	}
	v, _, ok := s.judge(q) // whatever is paused: that would void the question, and it is settled when the call would be dispatched
	if !ok {
		return nil, errNoCatalogue()
	}
	return judged(v), nil
}

func errNoCatalogue() error {
	return fault.New(fault.Unavailable, "the catalogue of tools cannot be read now: try again")
}

// VersionRequest asks for the version of an agent's policy (svc.tools.version).
type VersionRequest struct {
	Agent string `json:"agent"`
}

// Version identifies all that decides about an agent's calls.
type Version struct {
	Policy string `json:"policy"`
}

func (s *Service) answerVersion(_ context.Context, data []byte) (any, error) {
	r, err := bus.Question[VersionRequest](data)
	if err != nil {
		return nil, err
	}
	return Version{Policy: s.gate.Version(r.Agent)}, nil
}

// ExplainRequest asks, for people, how calls would be decided (svc.tools.explain). Without calls it lists the tools: those of the
// executors after the one that is named, as many as an answer holds.
type ExplainRequest struct {
	Calls []Case `json:"calls,omitempty"`
	After string `json:"after,omitempty"`
	// Agent has only those tools listed that this agent may use at all.
	Agent string `json:"agent,omitempty"`
	// Client asks that Agent is a client agent; else the answer is fault.NotFound.
	Client bool `json:"client,omitempty"`
	// Policy stands in for the running one, to try it.
	Policy *Policy `json:"policy,omitempty"`
}

// Case is one call to explain.
type Case struct {
	Session   string          `json:"session"` // whose agent asks; its taints count, too
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Taint     *call.Taint     `json:"taint,omitempty"` // nil: the session's
}

// Explained answers in the order of the cases.
type Explained struct {
	Answers []Judged           `json:"answers,omitempty"`
	Tools   []toolv1.Catalogue `json:"tools,omitempty"` // in the order of their executors
	More    bool               `json:"more,omitempty"`  // there are others after them
}

// maxCases bounds one question.
const maxCases = 1000

func (s *Service) answerExplain(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[ExplainRequest](data)
	if err != nil {
		return nil, err
	}
	if len(r.Calls) > maxCases {
		return nil, fault.New(fault.TooLarge, "%d cases, at most %d at once", len(r.Calls), maxCases)
	}
	all, ok := s.shelf.get(false)
	if !ok {
		return nil, errNoCatalogue()
	}
	g := s.gate
	if r.Policy != nil {
		if g, err = s.gate.With(*r.Policy); err != nil {
			return nil, fault.New(fault.Invalid, "%w", err)
		}
	}
	if r.Client && !g.Client(r.Agent) {
		return nil, fault.New(fault.NotFound, "there is no client agent %q: add agents.%s: {client: true, tools: {allow: [...]}} to jetclaw.yaml",
			r.Agent, r.Agent)
	}
	if len(r.Calls) == 0 {
		if r.Agent != "" {
			all = g.Usable(r.Agent, all)
		}
		some, more := page(all, r.After)
		return Explained{Tools: some, More: more}, nil
	}
	out := Explained{}
	for _, c := range r.Calls {
		one, err := s.explain(ctx, g, all, c)
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, one)
	}
	return out, nil
}

// page are the next catalogues after an executor: at least one, and no more than are together as large as one may be.
func page(all []toolv1.Catalogue, after string) (some []toolv1.Catalogue, more bool) {
	size := 0
	for _, c := range all {
		if c.Executor <= after {
			continue
		}
		raw, err := json.Marshal(c)
		if size += len(raw); err != nil || len(some) > 0 && size > bus.MaxCatalog {
			return some, true
		}
		some = append(some, c)
	}
	return some, false
}

func (s *Service) explain(ctx context.Context, g *gate.Gate, all []toolv1.Catalogue, c Case) (Judged, error) {
	id, err := session.Parse(c.Session)
	if err != nil {
		return Judged{}, fault.New(fault.Invalid, "session: %w", err)
	}
	q := call.Question{Session: id, Turn: "explain", Call: "explain", Tool: c.Tool, Arguments: c.Arguments}
	if c.Taint != nil {
		q.Taint = *c.Taint
	} else {
		state, _, err := s.actor.Fold(ctx, id, 0)
		if err != nil {
			return Judged{}, err
		}
		q.Taint, q.Always = state.Taint, state.Always
	}
	v, considered := g.Explain(all, q)
	if now := unlessPaused(all, v, time.Now()); now.Rule == pausedRule { // the answer is about the rules, as tests of policies are
		considered = append(considered, pausedRule+": it is denied all the same for now: "+now.Reason)
	}
	one := judged(v)
	one.Considered = considered
	return one, nil
}
