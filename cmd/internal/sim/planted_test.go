package sim

import (
	"context"
	"io"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools/call"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// eager acks each bell before anybody has looked.
type eager struct{ actor.Bells }

func (b eager) Doorbells(ctx context.Context, s bus.Spec, ring func(bus.Bell)) error {
	return b.Bells.Doorbells(ctx, s, func(b bus.Bell) {
		_ = b.Ack()
		ring(b)
	})
}

// TestPlantedBugs shows that the checker finds what it is for: each bug within a few histories.
func TestPlantedBugs(t *testing.T) {
	for name, tam := range map[string]tamper{
		"a bell is acked before its session is quiet": {bells: func(b actor.Bells) actor.Bells { return eager{b} }},
		"the journal appends without comparing":       {blind: true},
		"processes go by their own clocks":            {ownClocks: true},
		"the gate asks nobody": {trusts: true, judge: func(j call.Judge) call.Judge {
			return func(q call.Question) call.Verdict {
				v := j(q)
				if v.Effect == call.Ask {
					v.Effect = call.Run
				}
				return v
			}
		}},
		"the gate lets through what is forbidden": {judge: func(j call.Judge) call.Judge {
			return func(q call.Question) call.Verdict {
				v := j(q)
				if v.Effect == call.Deny {
					v.Effect = call.Run
				}
				return v
			}
		}},
		"a call that may happen once is repeated": {judge: func(j call.Judge) call.Judge {
			return func(q call.Question) call.Verdict {
				v := j(q)
				v.Again = true
				return v
			}
		}},
		"an answer takes messages with it that the model has not seen": {turns: func(m *actor.Machine[turn.State]) {
			perform := m.Perform
			m.Perform = func(ctx context.Context, w actor.Work[turn.State]) (envelope.Body, error) {
				body, err := perform(ctx, w)
				if b, ok := body.(turnv1.Completed); ok {
					for _, it := range w.State.Inbox {
						if it.Verb == "" && it.ID != b.Answers[0] {
							b.Answers = append(b.Answers, it.ID)
						}
					}
					return b, err
				}
				return body, err
			}
		}},
		"a stop does nothing": {turns: func(m *actor.Machine[turn.State]) {
			next := m.Next
			m.Next = func(s turn.State, v machine.View) machine.Step {
				s.Stop = nil
				return next(s, v)
			}
		}},
		"a message is answered in the wrong order": {turns: func(m *actor.Machine[turn.State]) {
			next := m.Next
			m.Next = func(s turn.State, v machine.View) machine.Step {
				if n := len(s.Inbox); s.Turn == nil && n > 1 && s.Inbox[0].Verb == "" && s.Inbox[n-1].Verb == "" {
					s.Inbox = append([]turn.Item{s.Inbox[n-1]}, s.Inbox[:n-1]...)
				}
				return next(s, v)
			}
		}},
		"a delivery of unknown outcome is repeated in silence": {outbox: func(m *actor.Machine[delivery.State]) {
			next := m.Next
			m.Next = func(s delivery.State, v machine.View) machine.Step {
				step := next(s, v)
				if a, ok := step.(machine.Append); ok {
					if b, ok := a.Body.(deliveryv1.Unknown); ok {
						a.Body = deliveryv1.Deferred{Ref: b.Ref, Until: v.Now}
						return a
					}
				}
				return step
			}
		}},
		"a deferred delivery has no bell": {outbox: func(m *actor.Machine[delivery.State]) {
			next := m.Next
			m.Next = func(s delivery.State, v machine.View) machine.Step {
				if _, ok := next(s, v).(machine.Wait); ok {
					return nil
				}
				return next(s, v)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const enough = 60
			for seed := uint64(1); seed <= enough; seed++ {
				if r := history(t, NewPlan(seed), io.Discard, tam); r.Err != nil {
					t.Logf("seed %d: %.300v", seed, r.Err)
					return
				}
			}
			t.Errorf("%d histories, and nobody has noticed", enough)
		})
	}
}

var _ callv1.Event
