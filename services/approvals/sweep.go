package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

const (
	reach     = 24 * time.Hour // how much further back than a question is open the index is read
	rereads   = time.Second    // between two tries to read the journal
	overlap   = time.Minute    // of what is read again after the bus was away
	leftovers = time.Hour      // after its expiry an entry is dropped whatever became of it
)

// keepIndex builds the index and keeps it, and voids what the policy has left behind, until ctx ends.
func (s *Service) keepIndex(ctx context.Context) error {
	if err := s.conn.Watch(ctx, append(ends(), kind(approvalv1.Requested{})), s.index.note); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("approvals: %w", err)
	}
	lives := s.conn.NATS().Stats().Reconnects
	if !s.reread(ctx, s.now().Add(-s.rules().TTL-reach)) {
		return nil
	}
	close(s.index.ready)
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for looked := s.now(); ; {
		s.sweep(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if n := s.conn.NATS().Stats().Reconnects; n != lives { // what was announced meanwhile was not heard
			lives = n
			if !s.reread(ctx, looked.Add(-overlap)) {
				return nil
			}
		}
		looked = s.now()
	}
}

// reread notes what the journal has since a time; false when ctx has ended.
func (s *Service) reread(ctx context.Context, since time.Time) bool {
	for {
		err := s.conn.Replay(ctx, bus.ReplayOptions{Since: since, Kinds: "approval.*"}, func(ev envelope.Event) error {
			s.index.note(ev)
			return nil
		})
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		s.log.Warn("the index of approvals is not complete yet", "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(rereads):
		}
	}
}

// sweep voids the open approvals whose policy is no longer the one that decides. While the gate cannot be asked nothing is
// voided, and nothing allowed either.
func (s *Service) sweep(ctx context.Context) {
	policies := make(map[string]string) // by agent; "" where the gate could not be asked
	for _, e := range s.index.all() {
		if ctx.Err() != nil {
			return
		}
		if s.now().Sub(e.expires) > leftovers {
			s.index.close(e.id, e.session)
			continue
		}
		if e.policy == "" {
			continue
		}
		agent := e.session.Agent()
		policy, asked := policies[agent]
		if !asked {
			var err error
			if policy, err = s.gate.version(ctx, agent); err != nil {
				s.log.Debug("policy not known", "agent", agent, "error", err)
				policy = ""
			}
			policies[agent] = policy
		}
		if policy != "" && callv1.PolicyChange(e.policy, policy) != "" {
			s.voidStale(ctx, e, policy)
		}
	}
}

func (s *Service) voidStale(ctx context.Context, e entry, policy string) {
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	ruling, err := s.settle(limited, e.session, e.id, func(st approval.State) (approval.Ruling, error) {
		a, open := st.Find(e.id)
		if !open || a.Over || !a.Asked || a.Form != nil || callv1.PolicyChange(a.Parked.Policy, policy) == "" {
			return approval.Ruling{Kind: approval.Gone}, nil
		}
		return approval.Ruling{Kind: approval.Voids, Body: a.Void(callv1.PolicyChange(a.Parked.Policy, policy) + " has changed since it was asked")}, nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return // at the next start, or the next round
		}
		s.log.Warn("a stale approval is not voided yet", "session", e.session, "approval", e.id, "error", err)
		return
	}
	if ruling.Kind == approval.Voids {
		s.index.close(e.id, e.session)
	}
}
