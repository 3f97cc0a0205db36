package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func TestNext(t *testing.T) {
	stop := messagev1.Control{Verb: messagev1.Stop}
	running := []envelope.Body{said, started} // claim 2, deadline in an hour
	last := []envelope.Body{said, started, turnv1.Resumed{Claim: claim("m1", 1, 6)}}
	at := func(d time.Duration, v machine.View) machine.View {
		v.Now, v.Worker = epoch.Add(d), "w2"
		return v
	}
	for _, c := range []struct {
		name   string
		bodies []envelope.Body
		view   machine.View
		want   string
	}{
		{"nothing", nil, at(0, machine.View{}), "<nil>"},
		{"a message", []envelope.Body{said}, at(0, machine.View{}), "turn.started.v1 <- m1"},
		{"begin afresh", []envelope.Body{messagev1.Control{Verb: messagev1.New}}, at(0, machine.View{}), "session.reset.v1 <- e1"},
		{"mine", running, at(0, machine.View{Mine: 2}), "perform 2"},
		{"mine at its deadline", running, at(time.Hour, machine.View{Mine: 2}), "perform 2"},
		{"mine past its deadline", running, at(time.Hour+1, machine.View{Mine: 2}), "turn.resumed.v1 <- e2"},
		{"an older claim was mine", running, at(0, machine.View{Mine: 1}), "held 2"},
		{"somebody else's", running, at(0, machine.View{}), "held 2"},
		{"an older claim's owner is gone", running, at(0, machine.View{Gone: 1}), "held 2"},
		{"its owner is gone", running, at(0, machine.View{Gone: 2}), "turn.resumed.v1 <- e2"},
		{"its deadline has passed", running, at(time.Hour+1, machine.View{}), "turn.resumed.v1 <- e2"},
		{"the last attempt is gone", last, at(0, machine.View{Gone: 3}), "turn.failed.v1 <- e3"},
		{"a stop, mine", append(running, stop), at(0, machine.View{Mine: 2}), "turn.cancelled.v1 <- e3"},
		{"a stop, somebody else's", append(running, stop), at(0, machine.View{}), "turn.cancelled.v1 <- e3"},
		{"calls are open", append(running, stepped), at(0, machine.View{Mine: 2}), "<nil>"},
		{"calls are open, a stop", append(running, stepped, stop), at(0, machine.View{}), "turn.cancelled.v1 <- e4"},
		{"calls are open, a message", append(running, stepped, said), at(0, machine.View{}), "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got string
			switch step := fold(turn.State{}, c.bodies...).Next(c.view, turn.DefaultLimits()).(type) {
			case nil:
				got = "<nil>"
			case machine.Append:
				got = step.Body.EventType() + " <- " + step.Cause
			case machine.Perform:
				got = fmt.Sprintf("perform %d", step.Claim)
			case machine.Held:
				got = fmt.Sprintf("held %d", step.Claim)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	if err := turn.DefaultLimits().Validate(); err != nil {
		t.Fatal(err)
	}
	err := turn.Limits{}.Validate()
	for _, name := range []string{"attempts", "rounds", "call time", "grace", "history"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("nothing about %s in %v", name, err)
		}
	}
}
