package delivery_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

func round(n, attempt int) turnv1.Claim {
	return turnv1.Claim{Turn: "m1/t", Round: n, Attempt: attempt, Worker: "w1"}
}

func drafting(n int) deliveryv1.Drafting {
	return deliveryv1.Drafting{Turn: "m1/t", Round: n, Worker: "w1", Deadline: epoch.Add(time.Minute)}
}

// TestNoDraftIsLeftBehind: a call that spoke and broke off is made again and says nothing before it calls a tool. What it has
// shown becomes the turn's end; no second draft is begun beside it.
func TestNoDraftIsLeftBehind(t *testing.T) {
	s := fold(
		turnv1.Started{Claim: round(1, 1)},
		drafting(1),
		deliveryv1.Drafted{Turn: "m1/t", Round: 1, Receipt: "77"},
		turnv1.Resumed{Claim: round(1, 2)},
		turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 2}},
		turnv1.Continued{Claim: round(2, 1)},
		drafting(2),
		deliveryv1.Drafted{Turn: "m1/t", Round: 2, Receipt: "78"},
		turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 2}, Answers: []string{"m1"}, Text: "done"},
	)
	if len(s.Drafts) > 0 {
		t.Errorf("left behind: %+v", s.Drafts)
	}
	if head, ok := s.Head(); !ok || head.Draft == nil || head.Draft.Receipt != "77" {
		t.Errorf("the end of the turn does not become the draft that is there: %+v", head)
	}
}

// TestADraftThatNobodyRecordedMakesARepeat: it may stand there, and the answer says what stands there again.
func TestADraftThatNobodyRecordedMakesARepeat(t *testing.T) {
	for name, c := range map[string]struct {
		drafted []deliveryv1.Drafted
		want    bool
	}{
		"not recorded": {nil, true},
		"posted":       {[]deliveryv1.Drafted{{Turn: "m1/t", Round: 1, Receipt: "77"}}, false},
		"not posted":   {[]deliveryv1.Drafted{{Turn: "m1/t", Round: 1}}, false},
	} {
		s := fold(turnv1.Started{Claim: round(1, 1)}, drafting(1))
		for _, d := range c.drafted {
			s = s.Apply(event(3, "e3", d))
		}
		s = s.Apply(event(4, "e4", turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1}, Answers: []string{"m1"}, Text: "done"}))
		step, ok := s.Next(machine.View{Now: epoch.Add(2 * time.Minute), Worker: "w2"}, limits()).(machine.Append)
		if b, started := step.Body.(deliveryv1.Started); !ok || !started || b.Repeat != c.want {
			t.Errorf("%s: %+v", name, step)
		}
	}
}

// TestDraftsThatComeTooLate: one that is claimed when its turn is over is none, and one that is recorded when its item is on its
// way as a new message is not edited instead.
func TestDraftsThatComeTooLate(t *testing.T) {
	end := turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1}, Answers: []string{"m1"}, Text: "done"}
	if s := fold(turnv1.Started{Claim: round(1, 1)}, end, drafting(1)); len(s.Drafts) > 0 {
		t.Errorf("drafts of a turn that has ended: %+v", s.Drafts)
	}
	s := fold(
		turnv1.Started{Claim: round(1, 1)}, drafting(1), end, started("e3", 1),
		deliveryv1.Drafted{Turn: "m1/t", Round: 1, Receipt: "77"},
	)
	if head, ok := s.Head(); !ok || head.Draft == nil || head.Draft.Receipt != "" {
		t.Errorf("%+v", head)
	}
	s = fold(turnv1.Started{Claim: round(1, 1)}, turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m0/t"}, Text: "late"})
	if s.Speaks != "m1/t" {
		t.Errorf("the end of another turn ends it: %q", s.Speaks)
	}
}

// TestAnItemWaitsForItsDraft: until it is known whether it was posted, and until another worker that may be at it has let go. The
// parts behind the first wait for nothing.
func TestAnItemWaitsForItsDraft(t *testing.T) {
	end := turnv1.Completed{Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1}, Answers: []string{"m1"}, Text: "done"}
	posted := deliveryv1.Drafted{Turn: "m1/t", Round: 1, Receipt: "77"}
	open := fold(turnv1.Started{Claim: round(1, 1)}, drafting(1), end) // until epoch + 1 min
	shown := fold(turnv1.Started{Claim: round(1, 1)}, drafting(1), posted, end)
	second := shown.Apply(event(5, "e5", started("e4", 1))).
		Apply(event(6, "e6", deliveryv1.Sent{Ref: ref("e4", 1), More: true, Receipt: "77"}))
	ended := epoch.Add(4 * time.Second)
	for name, c := range map[string]struct {
		state  delivery.State
		worker string
		now    time.Time
		until  time.Time // zero: it begins
	}{
		"being posted":           {open, "w1", epoch.Add(time.Minute - 1), epoch.Add(time.Minute)},
		"nobody says":            {open, "w1", epoch.Add(time.Minute), time.Time{}},
		"the own":                {shown, "w1", ended, time.Time{}},
		"another's":              {shown, "w2", ended, ended.Add(3 * time.Second)},
		"another's, for long":    {shown, "w2", ended.Add(3 * time.Second), time.Time{}},
		"another's, second part": {second, "w2", ended, time.Time{}},
	} {
		step := c.state.Next(machine.View{Now: c.now, Worker: c.worker}, limits())
		if wait, waits := step.(machine.Wait); waits && !wait.Until.Equal(c.until) || waits == c.until.IsZero() || !waits && !claims(step) {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
