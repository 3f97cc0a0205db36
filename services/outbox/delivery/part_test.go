package delivery_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// TestAPartBeginsAnew: neither the mark of a repeat nor the age of the part before it is that of the next one.
func TestAPartBeginsAnew(t *testing.T) {
	s := fold(
		completed("long"),
		started("e1", 1),
		deliveryv1.Unknown{Ref: ref("e1", 1), Resend: true},
		deliveryv1.Started{Ref: ref("e1", 2), Worker: "w1", Deadline: epoch.Add(time.Minute), Repeat: true},
		deliveryv1.Sent{Ref: ref("e1", 2), More: true, Receipt: "77"},
	)
	step, _ := s.Next(machine.View{Now: epoch.Add(time.Hour), Worker: "w1"}, limits()).(machine.Append)
	claim, ok := step.Body.(deliveryv1.Started)
	if !ok || claim.Part != 1 || claim.Attempt != 1 || claim.Repeat {
		t.Fatalf("%+v", step)
	}
	at := epoch.Add(limits().MaxAge) // of the first part's first attempt, and more
	e := event(6, "e6", claim)
	e.Time = at
	s = s.Apply(e).Apply(event(7, "e7", deliveryv1.Deferred{Ref: claim.Ref, Until: at, Reason: "HTTP 503"}))
	if step := s.Next(machine.View{Now: at.Add(time.Minute), Worker: "w1"}, limits()); !claims(step) {
		t.Errorf("given up for the age of the part before: %+v", step)
	}
}

// TestWaitingForRoomIsNoAttempt: an item for which there is no room is not given up for that before its time.
func TestWaitingForRoomIsNoAttempt(t *testing.T) {
	bodies := []envelope.Body{completed("hi")}
	for n := range limits().Attempts + 1 {
		bodies = append(bodies, started("e1", n+1), deliveryv1.Deferred{Ref: ref("e1", n+1), Until: epoch, Reason: "no room", Untried: true})
	}
	if step := fold(bodies...).Next(machine.View{Now: epoch.Add(time.Hour), Worker: "w1"}, limits()); !claims(step) {
		t.Errorf("%+v", step)
	}
}

func claims(s machine.Step) bool {
	a, ok := s.(machine.Append)
	_, started := a.Body.(deliveryv1.Started)
	return ok && started
}

// TestWhoHasAReceiptIsNotToldTwice: a refusal is shown to those only who have no receipt that says it.
func TestWhoHasAReceiptIsNotToldTwice(t *testing.T) {
	for _, tell := range []bool{true, false} {
		if n := len(fold(messagev1.Refused{Detail: "not here", Tell: tell}).Queue); n == 1 != tell {
			t.Errorf("tell %t: %d items", tell, n)
		}
	}
}
