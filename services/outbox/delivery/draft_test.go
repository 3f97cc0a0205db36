package delivery_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
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
