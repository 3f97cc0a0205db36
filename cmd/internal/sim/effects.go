package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// await lets an effect take its time. It returns ctx's cause when that ends before.
func (l *life) await(ctx context.Context, service string, g actor.Goroutine, what string, d time.Duration) error {
	if l.dead.Load() {
		return errDead
	}
	on := make(chan struct{})
	l.w.loom.ask(arrival{life: l, what: what, take: func() { l.w.loom.after(d, l, what, g.Cursor, func() { close(on) }) }})
	select {
	case <-on:
	case <-l.killed:
		return errDead
	case <-ctx.Done():
		l.turn(service, g)
		return context.Cause(ctx)
	}
	if l.dead.Load() {
		return errDead
	}
	return nil
}

func effectOf(s session.ID, claim envelope.Event) actor.Goroutine {
	return actor.Goroutine{Kind: "perform", Session: s, Cursor: claim.Cursor}
}

// answer is a model call: of a turn, or of a compaction.
func (w *world) answer(ctx context.Context, k *port, work actor.Work[turn.State]) (envelope.Body, error) {
	s := work.State
	grace := turnRules(w.plan).Limits.Grace
	left := time.Until(work.Deadline.Add(-grace))
	g := effectOf(work.Session, work.Claim)
	if c := s.Compaction; c != nil {
		r := w.fate("compacts", work.Session, c.ID, c.Claim.Attempt)
		if err := k.life.await(ctx, k.service, g, "model summarises", min(between(r, 50*time.Millisecond, 30*time.Second), left)); err != nil {
			return nil, err
		}
		if r.IntN(5) == 0 {
			return turnv1.CompactionFailed{
				Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Cause: turnv1.ModelUnavailable, Text: "It could not be summarised.",
			}, nil
		}
		return turnv1.SessionCompacted{
			Compaction: c.ID, Attempt: c.Claim.Attempt, By: c.By, Through: c.Through, Turns: 1, Summary: "what was before", Text: "It is a summary now.",
		}, nil
	}
	t := s.Turn
	if t == nil || !t.Open {
		return nil, fmt.Errorf("no model call is claimed at %d of %s", work.Claim.Cursor, work.Session)
	}
	if !k.life.dead.Load() {
		w.loom.ask(arrival{life: k.life, what: "prompt", take: func() { w.outside.show(work.Session, t, s) }})
	}
	r := w.fate("answers", work.Session, t.ID, t.Claim.Round, t.Claim.Attempt)
	takes := between(r, 20*time.Millisecond, 8*time.Second)
	if r.IntN(12) == 0 {
		takes = time.Hour // it hangs
	}
	late := takes > left
	if err := k.life.await(ctx, k.service, g, "model answers", min(takes, left)); err != nil {
		return nil, err
	}
	out := turnv1.Outcome{Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt, Model: "sim/one", Usage: turnv1.Usage{Input: 10, Output: 5}}
	switch n := r.IntN(20); {
	case late:
		return turnv1.Failed{Outcome: out, Answers: t.Messages, Cause: turnv1.TimedOut, Text: "The model did not finish in time."}, nil
	case n == 0:
		return turnv1.Failed{Outcome: out, Answers: t.Messages, Cause: turnv1.ModelUnavailable, Text: "The model could not be used."}, nil
	case n == 1:
		return nil, fmt.Errorf("the connection to the model broke in a way that nobody has thought of")
	case n == 2:
		return turnv1.Overflowed{Outcome: out, Tokens: 4000}, nil
	case n < 11 && t.Claim.Round < 4:
		b := turnv1.Stepped{Outcome: out}
		for i := range 1 + r.IntN(4) {
			c := turnv1.Call{
				ID: fmt.Sprintf("c%d.%d", t.Claim.Round, i), Tool: toolNames[r.IntN(len(toolNames))], Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)),
			}
			if r.IntN(15) == 0 {
				c.Refusal = "there is no such tool"
			}
			b.Calls = append(b.Calls, c)
		}
		return b, nil
	}
	return turnv1.Completed{Outcome: out, Answers: t.Messages, Text: fmt.Sprintf("an answer to %d messages", len(t.Messages))}, nil
}

// show notes which messages a model call is shown.
func (o *outside) show(s session.ID, t *turn.Turn, st turn.State) {
	seen := o.shown[string(s)+" "+t.ID]
	if seen == nil {
		seen = map[string]bool{}
		o.shown[string(s)+" "+t.ID] = seen
	}
	for _, id := range t.Messages {
		for _, it := range st.Inbox {
			if it.ID == id {
				seen[id] = true
			}
		}
	}
}

// landing is one effect of a call, outside.
type landing struct {
	worker  string
	claim   uint64
	attempt int
}

// executor carries calls out: the request travels, something happens there, the answer travels.
func (w *world) executor(k *port) func(context.Context, envelope.Event, callv1.Dispatched, time.Time) (callv1.Completed, error) {
	return func(ctx context.Context, claim envelope.Event, d callv1.Dispatched, until time.Time) (callv1.Completed, error) {
		started, ok := claim.Body.(callv1.Started)
		if !ok {
			return callv1.Completed{}, fmt.Errorf("%s claims no call", claim.Type())
		}
		out := callv1.Completed{Executor: d.Executor, Turn: d.Turn, Call: d.Call, Attempt: started.Attempt, Untrusted: true}
		if why := w.admits(claim.Session, d); why != "" && !w.tamper.trusts {
			out.Outcome, out.Content = callv1.Refused, why
			return out, nil
		}
		r := w.fate("carries out", claim.Session, d.Turn, d.Call, started.Attempt)
		left := time.Until(until)
		there, back := between(r, time.Millisecond, 300*time.Millisecond), between(r, time.Millisecond, 300*time.Millisecond)
		takes := between(r, time.Millisecond, 5*time.Second)
		if r.IntN(15) == 0 {
			takes = time.Hour
		}
		g := effectOf(claim.Session, claim)
		g.Part = d.Call
		lands, breaks, odd := r.IntN(12) != 0, r.IntN(10) == 0, r.IntN(10) == 0
		if !k.life.dead.Load() && lands {
			w.loom.ask(arrival{life: k.life, what: "request", take: func() { // it is under way, whatever becomes of who has sent it
				w.loom.after(there, nil, "effect", claim.Cursor, func() { w.outside.land(claim, d, started) })
			}})
		}
		total := there + takes + back
		if err := k.life.await(ctx, k.service, g, "tool answers", min(total, left)); err != nil {
			return callv1.Completed{}, err
		}
		switch {
		case total > left:
			out.Outcome, out.Content = callv1.TimedOut, "it was ended"
		case !lands:
			out.Outcome, out.Content = callv1.Error, "it could not be reached"
		case breaks:
			out.Outcome, out.Content = callv1.Unknown, "the connection broke"
		case odd:
			return out, fmt.Errorf("trouble that nobody has thought of")
		default:
			out.Outcome, out.Content = callv1.OK, "done"
		}
		return out, nil
	}
}

func (o *outside) land(claim envelope.Event, d callv1.Dispatched, b callv1.Started) {
	key := callKey(claim.Session, d.Turn, d.Call)
	o.landed[key] = append(o.landed[key], landing{worker: b.Worker, claim: claim.Cursor, attempt: b.Attempt})
	o.w.trace.say(o.w.loom.now(), "EFFECT %s %s", d.Tool, key)
}

func callKey(s session.ID, turn, call string) string { return string(s) + " " + turn + " " + call }

// arrivalOf is something that a push channel has shown.
type arrivalOf struct {
	delivery string
	repeat   bool
}

// send is one attempt to deliver something.
func (w *world) send(ctx context.Context, k *port, work actor.Work[delivery.State]) (envelope.Body, error) {
	claim, ok := work.Claim.Body.(deliveryv1.Started)
	head, queued := work.State.Head()
	if !ok || !queued || head.ID != claim.Delivery {
		return nil, fmt.Errorf("%s at %d of %s announces no delivery", work.Claim.Type(), work.Claim.Cursor, work.Session)
	}
	r := w.fate("sends", work.Session, claim.Delivery, claim.Attempt)
	left := time.Until(work.Deadline.Add(-w.limits.Grace))
	there, takes := between(r, time.Millisecond, 200*time.Millisecond), between(r, 5*time.Millisecond, time.Second)
	n := r.IntN(20)
	arrives := n > 2
	if arrives && !k.life.dead.Load() {
		w.loom.ask(arrival{life: k.life, what: "post", take: func() {
			w.loom.after(there, nil, "shown", work.Claim.Cursor, func() {
				w.trace.say(w.loom.now(), "SHOWN %s attempt %d repeat %v", claim.Delivery, claim.Attempt, claim.Repeat)
				w.outside.arrived[work.Session] = append(w.outside.arrived[work.Session], arrivalOf{claim.Delivery, claim.Repeat})
			})
		}})
	}
	if n == 3 || n == 2 { // no answer
		takes = time.Hour
	}
	late := there+takes > left
	if err := k.life.await(ctx, k.service, effectOf(work.Session, work.Claim), "channel answers", min(there+takes, left)); err != nil {
		return nil, err
	}
	switch {
	case late:
		return deliveryv1.Unknown{Ref: claim.Ref, Resend: w.limits.ResendUnknown}, nil
	case n == 0:
		return deliveryv1.Failed{Ref: claim.Ref, Reason: "the channel does not take it"}, nil
	case n == 1:
		wait := max(w.limits.Backoff(claim.Delivery, claim.Attempt), time.Duration(r.IntN(90))*time.Second)
		return deliveryv1.Deferred{Ref: claim.Ref, Until: k.clock().Add(wait).UTC().Round(0), Reason: "too many"}, nil
	}
	return deliveryv1.Sent{Ref: claim.Ref, Receipt: "r"}, nil
}
