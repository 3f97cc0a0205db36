package sim

import (
	"context"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/bus/lru"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// files is an executor of service mcp.
var files = subject.Executor(mcp.Name, "files")

// specs are what the services do on the bus.
var specs = map[string]bus.Spec{
	turns.Spec().Name:     turns.Spec(),
	tools.Spec().Name:     tools.Spec(),
	approvals.Spec().Name: approvals.Spec(),
	builtin.Spec().Name:   builtin.Spec(),
	mcp.Spec().Name:       withBells(mcp.Spec(), envelope.KindOf(callv1.Dispatched{}.EventType())+"."+files),
	outbox.Spec().Name:    outbox.Spec(),
}

// withBells: the consumers of executors come from the configuration.
func withBells(s bus.Spec, more ...string) bus.Spec {
	s.Doorbells = append(slices.Clip(s.Doorbells), more...)
	return s
}

// services are those that run in each process, in the order in which they are begun.
var services = []string{
	turns.Spec().Name, tools.Spec().Name, approvals.Spec().Name, builtin.Spec().Name, mcp.Spec().Name, outbox.Spec().Name,
}

// actorOf makes the actor of one service of a new life, with the service's own machine.
func (w *world) actorOf(k *port) func(context.Context) error {
	switch k.service {
	case turns.Spec().Name:
		return run(k, w.turns(k))
	case tools.Spec().Name:
		return run(k, w.tools(k))
	case approvals.Spec().Name:
		return run(k, w.approvals(k))
	case builtin.Spec().Name:
		return run(k, builtin.Simulated(w.executor(k)))
	case mcp.Spec().Name:
		return run(k, mcp.Simulated(w.executor(k)))
	default:
		return run(k, w.outbox(k))
	}
}

func run[S any](k *port, m actor.Machine[S]) func(context.Context) error {
	spec := specs[k.service]
	a, err := actor.NewOn(m, k.ports(spec), spec, actor.Options{SnapshotEvery: 8, Cache: lru.Limits{Entries: 2, Bytes: 1 << 10}})
	if err != nil {
		panic(err) // the same machine was accepted before
	}
	return a.Run
}

func (w *world) turns(k *port) actor.Machine[turn.State] {
	rules := turnRules(w.plan)
	m := actor.Machine[turn.State]{
		Service: k.service, Version: turn.Version, Apply: turn.State.Apply,
		Next: func(s turn.State, v machine.View) machine.Step { return s.Next(v, rules) },
		Perform: func(ctx context.Context, work actor.Work[turn.State]) (envelope.Body, error) {
			return w.answer(ctx, k, work)
		},
	}
	if w.tamper.turns != nil {
		w.tamper.turns(&m)
	}
	return m
}

func (w *world) tools(k *port) actor.Machine[call.State] {
	judge := call.Judge(w.judge)
	if w.tamper.judge != nil {
		judge = w.tamper.judge(judge)
	}
	return actor.Machine[call.State]{
		Service: k.service, Version: call.Version, Apply: call.State.Apply,
		Next: func(s call.State, v machine.View) machine.Step { return s.Next(v, judge) },
	}
}

// judgeTime is that of the approvals service.
const judgeTime = 4 * time.Second

func (w *world) approvals(k *port) actor.Machine[approval.State] {
	rules := approval.Rules{
		TTL: askTTL, Approvers: []string{boss, local},
		Sign: func(id session.ID, r callv1.Request, a callv1.Approval) callv1.Approval {
			return a.Signed(w.key, id, r)
		},
	}
	return actor.Machine[approval.State]{
		Service: k.service, Version: approval.Version, Apply: approval.State.Apply,
		Next: func(s approval.State, v machine.View) machine.Step {
			questions := s.Questions(v, rules)
			if len(questions) == 0 {
				return s.Next(v, rules, nil)
			}
			heard := w.hear(k, v.Session, questions)
			v.Now = k.clock().UTC().Round(0)
			return s.Next(v, rules, heard)
		},
	}
}

// askTTL is how long people are asked.
const askTTL = 3 * time.Minute

// hear asks the gate, in whichever process, about the first question that it answers.
func (w *world) hear(k *port, id session.ID, questions []approval.Question) *approval.Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), judgeTime)
	defer cancel()
	for _, q := range questions {
		var v call.Verdict
		err := k.life.call(ctx, "ask the gate", judgeTime, func() error {
			v = w.judge(call.Question{Session: id, Turn: q.Turn, Call: q.Call, Index: q.Index, Tool: q.Tool, Arguments: q.Arguments})
			return nil
		})
		if err == nil {
			return &approval.Verdict{
				Submission: q.Submission, Effect: approval.Effect(v.Effect), Request: v.Request, Reason: v.Reason, Shown: v.Shown, Grant: v.Grant,
			}
		}
	}
	return nil
}

func (w *world) outbox(k *port) actor.Machine[delivery.State] {
	m := actor.Machine[delivery.State]{
		Service: k.service, Version: delivery.Version, Apply: delivery.State.Apply,
		Next: func(s delivery.State, v machine.View) machine.Step { return s.Next(v, w.limits) },
		Perform: func(ctx context.Context, work actor.Work[delivery.State]) (envelope.Body, error) {
			return w.send(ctx, k, work)
		},
	}
	if w.tamper.outbox != nil {
		w.tamper.outbox(&m)
	}
	return m
}

func limitsOf(p Plan) delivery.Limits {
	l := delivery.DefaultLimits()
	l.Routes = map[string]delivery.Route{"http": delivery.Push, "terminal": delivery.Mailbox}
	l.Attempts, l.SendTime, l.MaxAge = 5, 10*time.Second, 24*time.Hour
	l.Backoff = func(d string, n int) time.Duration { return min(delivery.Backoff(d, n), 20*time.Second) }
	l.ResendUnknown = p.Seed%3 != 0
	return l
}

func turnRules(p Plan) turn.Rules {
	r := turn.DefaultRules()
	r.Limits.CallTime, r.Limits.TurnTime, r.Limits.Rounds = 20*time.Second, time.Minute, 6
	r.Queue.Cap = 6
	r.Queue.Mode = turn.Modes()[p.Seed%4]
	r.Compact = turn.Compact{Due: 2000, Keep: 500}
	r.Model, r.Models, r.Providers = "sim/one", []string{"sim/one", "sim/two"}, []string{"sim"}
	return r
}
