package approvals

import (
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
)

// joined waits until somebody is among those who may decide, or no longer.
func (h *house) joined(t *testing.T, s *Service, who string, want bool) {
	t.Helper()
	limit, tick := time.After(patience), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for slices.Contains(s.rules().Approvers, who) != want {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: %v", who, s.rules().Approvers)
		}
	}
}

// TestWhoIsMadeAnOwnerDecides: with the next question; and who is sent away decides nothing more, old questions included.
func TestWhoIsMadeAnOwnerDecides(t *testing.T) {
	const bela = "telegram:2"
	h := newHouse(t)
	var s *Service
	h.started = func(made *Service) { s = made }
	h.run(t, Config{JoinOwners: true})
	post(t, h.chat, accessv1.Session, "g1", accessv1.Granted{Who: "telegram:3", By: local})
	post(t, h.chat, accessv1.Session, "g2", accessv1.Granted{Who: bela, Owner: true, By: local})
	h.joined(t, s, bela, true)
	if slices.Contains(s.rules().Approvers, "telegram:3") {
		t.Error("who was let in is no owner by that")
	}
	id := h.park(t, talk, "c1")
	h.submit(t, talk, "s1", bela, id, callv1.AllowOnce)
	if b := h.event(t, "approval.decided", id).Body.(approvalv1.Decided); b.Answer.By != bela {
		t.Errorf("%+v", b)
	}
	id = h.park(t, talk, "c2")
	post(t, h.chat, accessv1.Session, "r1", accessv1.Revoked{Who: bela, By: local})
	h.joined(t, s, bela, false)
	post(t, h.chat, talk, "s2", messagev1.Decision{From: messagev1.Sender{ID: bela}, Approval: id, Decision: callv1.AllowOnce, Button: true})
	h.told(t, "s2")
	h.until(t, func(events []envelope.Event) bool {
		return slices.ContainsFunc(events, func(e envelope.Event) bool {
			b, ok := e.Body.(noticev1.Posted)
			return ok && slices.Contains(b.Answers, "s2") && b.Quiet
		})
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if has(h.events, "approval.decided", id) {
		t.Error("somebody who was sent away has decided")
	}
}
