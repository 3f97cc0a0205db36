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

// brief is a step in a word or two.
func brief(step machine.Step) string {
	switch step := step.(type) {
	case machine.Append:
		return envelope.KindOf(step.Body.EventType()) + " <- " + step.Cause + flags(step)
	case machine.Perform:
		return fmt.Sprintf("perform %d", step.Claim)
	case machine.Held:
		return fmt.Sprintf("held %d", step.Claim)
	case machine.Wait:
		return fmt.Sprintf("wait %s", step.Until.Sub(epoch))
	}
	return "nothing"
}

// nextCase: what w2 is told, at a time after epoch.
type nextCase struct {
	name       string
	bodies     []envelope.Body
	mine, gone uint64
	at         time.Duration
	rules      func(*turn.Rules)
	want       string
}

func checkCases(t *testing.T, cases []nextCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := turn.DefaultRules()
			r.Compact = turn.Compact{}
			if c.rules != nil {
				c.rules(&r)
			}
			v := machine.View{Now: epoch.Add(c.at), Worker: "w2", Mine: c.mine, Gone: c.gone}
			if got := brief(fold(turn.State{}, c.bodies...).Next(v, r)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func mode(m turn.Mode) func(*turn.Rules) { return func(r *turn.Rules) { r.Queue.Mode = m } }

func TestNext(t *testing.T) {
	running := bodies(said, started) // claim 2, deadline in an hour
	last := bodies(said, started, turnv1.Resumed{Claim: claim("m1", 1, 6)})
	checkCases(t, []nextCase{
		{name: "nothing", want: "nothing"},
		{name: "a message", bodies: bodies(said), want: "turn.started <- m1"},
		{name: "mine", bodies: running, mine: 2, want: "perform 2"},
		{name: "mine at its deadline", bodies: running, mine: 2, at: time.Hour, want: "perform 2"},
		{name: "mine past its deadline", bodies: running, mine: 2, at: time.Hour + 1, want: "perform 2"},
		{name: "an older claim was mine", bodies: running, mine: 1, want: "held 2"},
		{name: "somebody else's", bodies: running, want: "held 2"},
		{name: "an older claim's owner is gone", bodies: running, gone: 1, want: "held 2"},
		{name: "its owner is gone", bodies: running, gone: 2, want: "turn.resumed <- e2"},
		{name: "its deadline has passed by another clock", bodies: running, at: time.Hour + 1, want: "held 2"},
		{name: "the last attempt is gone", bodies: last, gone: 3, want: "turn.failed <- e3 tell w1"},
		{name: "calls are open", bodies: bodies(running, stepped), mine: 2, want: "nothing"},
		{name: "calls are open, a message", bodies: bodies(running, stepped, said), want: "nothing"},
		{name: "calls are open, begin afresh", bodies: bodies(running, stepped, control(messagev1.New)), want: "nothing"},
		{name: "no call was made", bodies: bodies(running, refused), want: "turn.continued <- e3"},
		{name: "status, mine", bodies: bodies(running, control(messagev1.Status)), mine: 2, want: "notice.posted <- e3 beside"},
		{name: "status, calls are open", bodies: bodies(running, stepped, control(messagev1.Status)), want: "notice.posted <- e4 beside"},
		{name: "an unknown verb", bodies: bodies(control("dance")), want: "nothing"},
		{name: "a new verb among the orders", bodies: bodies(control(messagev1.Queue, "steer")), want: "session.configured <- e1 beside"},
		{name: "begin afresh", bodies: bodies(control(messagev1.New)), want: "session.reset <- e1"},
		{name: "begin afresh, keep nothing", bodies: bodies(control(messagev1.New, "keep")), want: "session.reset <- e1"},
		{name: "begin afresh waits for its turn", bodies: bodies(running, control(messagev1.New)), mine: 2, want: "perform 2"},
		{name: "keep waits for its turn", bodies: bodies(running, control(messagev1.New, "keep")), want: "held 2"},
		{name: "deleted while a call runs", bodies: bodies(running, turnv1.SessionDeleted{}), mine: 2, want: "nothing"},
		{name: "deleted with a stop and a question", bodies: bodies(running, stop, control(messagev1.Status), turnv1.SessionDeleted{}), want: "nothing"},
	})
}

func TestNextStop(t *testing.T) {
	running := bodies(said, started)
	past := bodies(answered("m1"))
	checkCases(t, []nextCase{
		{name: "mine", bodies: bodies(running, stop), mine: 2, want: "turn.cancelled <- e3 tell w1"},
		{name: "somebody else's", bodies: bodies(running, stop), want: "turn.cancelled <- e3 tell w1"},
		{name: "calls are open", bodies: bodies(running, stepped, stop), want: "turn.cancelled <- e4"},
		{name: "only waiting", bodies: bodies(said, stop), want: "turn.cancelled <- e2"},
		{name: "nothing", bodies: bodies(stop), want: "notice.posted <- e1 beside"},
		{name: "only a command waits", bodies: bodies(control(messagev1.Compact), stop), want: "notice.posted <- e2 beside"},
		{name: "a second one", bodies: bodies(running, stop, stop), want: "notice.posted <- e4 beside"},
		{name: "with a question", bodies: bodies(running, stop, control(messagev1.Status)), mine: 2, want: "notice.posted <- e4 beside"},
		{name: "what was asked for", bodies: bodies(past, compacting("m1/t", 1, "k"), stop), mine: 4, want: "compaction.failed <- e5 tell w1"},
		{name: "what was due", bodies: bodies(past, compacting("m1/t", 1, ""), stop), want: "compaction.failed <- e5 tell w1"},
		{
			name: "what was due within a turn",
			bodies: bodies(past, said, turnv1.Started{Claim: claim("m2", 1, 1)}, turnv1.Overflowed{Outcome: of("m2", 1, 1)},
				compacting("m1/t", 1, ""), stop),
			want: "turn.cancelled <- e8 tell w1",
		},
	})
}

func TestNextQueue(t *testing.T) {
	running := bodies(said, started)
	debounce := func(r *turn.Rules) { r.Queue.Mode, r.Queue.Debounce = turn.Collect, 2*time.Second }
	capped := func(full turn.Full) func(*turn.Rules) {
		return func(r *turn.Rules) { r.Queue.Cap, r.Queue.Full = 1, full }
	}
	checkCases(t, []nextCase{
		{name: "followup", bodies: bodies(running, said), mine: 2, want: "perform 2"},
		{name: "interrupt", bodies: bodies(running, said), mine: 2, rules: mode(turn.Interrupt), want: "turn.cancelled <- m2 tell w1"},
		{name: "interrupt, calls are open", bodies: bodies(running, stepped, said), rules: mode(turn.Interrupt), want: "turn.cancelled <- m2"},
		{name: "interrupt, behind a command", bodies: bodies(running, control(messagev1.New), said), rules: mode(turn.Interrupt), want: "held 2"},
		{name: "interrupt begins with what waits", bodies: bodies(said, said), rules: mode(turn.Interrupt), want: "turn.started <- m2"},
		{
			name: "interrupt, the past is summarised",
			bodies: bodies(answered("m1"), said, turnv1.Started{Claim: claim("m2", 1, 1)}, turnv1.Overflowed{Outcome: of("m2", 1, 1)},
				compacting("m1/t", 1, ""), said),
			rules: mode(turn.Interrupt), want: "turn.cancelled <- m3 tell w1",
		},
		{name: "steer during the call", bodies: bodies(running, said), mine: 2, rules: mode(turn.Steer), want: "perform 2"},
		{name: "steer after it", bodies: bodies(running, refused, said), rules: mode(turn.Steer), want: "turn.continued <- e3"},
		{name: "the session's own mode", bodies: bodies(running, turnv1.SessionConfigured{Setting: turnv1.QueueSetting, Value: "interrupt"}, said), want: "turn.cancelled <- m2 tell w1"},
		{name: "an odd mode", bodies: bodies(running, turnv1.SessionConfigured{Setting: turnv1.QueueSetting, Value: "odd"}, said), want: "held 2"},
		{name: "collect waits", bodies: bodies(said, said), rules: debounce, at: time.Second, want: "wait 3s"},
		{name: "collect at its end", bodies: bodies(said, said), rules: debounce, at: 3 * time.Second, want: "turn.started <- m2"},
		{name: "collect waits for the first ten times as long", bodies: bodies(said, make([]envelope.Body, 18), said), rules: debounce, at: 19 * time.Second, want: "wait 20s"},
		{name: "collect, at the limit", bodies: bodies(said, make([]envelope.Body, 18), said), rules: debounce, at: 20 * time.Second, want: "turn.started <- m2"},
		{name: "collect, a clock that is wrong", bodies: bodies(said), rules: debounce, at: -time.Hour, want: "turn.started <- m1"},
		{name: "collect, no debounce", bodies: bodies(said), rules: func(r *turn.Rules) { r.Queue.Mode, r.Queue.Debounce = turn.Collect, 0 }, want: "turn.started <- m1"},
		{
			name: "collect, while the past is summarised", bodies: bodies(answered("m1"), compacting("m1/t", 1, ""), messagev1.Received{Text: "x"}),
			mine: 4, rules: debounce, at: 5 * time.Second, want: "wait 6s",
		},
		{name: "not full", bodies: bodies(running, said), mine: 2, rules: capped(turn.DropNewest), want: "perform 2"},
		{name: "full", bodies: bodies(running, said, said), mine: 2, rules: capped(turn.DropNewest), want: "turn.cancelled <- m3 beside"},
		{name: "full, nothing runs", bodies: bodies(said, said), rules: capped(turn.DropNewest), want: "turn.started <- m1"},
		{name: "more than full, nothing runs", bodies: bodies(said, said, said), rules: capped(turn.DropOldest), want: "turn.cancelled <- m3 beside"},
		{name: "any number", bodies: bodies(running, said, said, said), rules: func(r *turn.Rules) { r.Queue.Cap = 0 }, want: "held 2"},
		{name: "a full queue after a stop", bodies: bodies(running, said, said, stop), rules: capped(turn.DropNewest), want: "turn.cancelled <- e5 tell w1"},
	})
	for full, want := range map[turn.Full]string{turn.DropNewest: "m3", turn.DropOldest: "m2"} {
		r := turn.DefaultRules()
		r.Queue.Cap, r.Queue.Full = 1, full
		step, _ := fold(turn.State{}, bodies(running, said, said)...).Next(machine.View{Now: epoch}, r).(machine.Append)
		if b, ok := step.Body.(turnv1.Cancelled); !ok || strings.Join(b.Answers, " ") != want || b.Turn != "" || b.Reason != turnv1.QueueFull {
			t.Errorf("%s: got %s", full, compact(step.Body))
		}
	}
}
