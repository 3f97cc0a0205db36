package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func due(bytes, keep int) func(*turn.Rules) {
	return func(r *turn.Rules) { r.Compact = turn.Compact{Due: bytes, Keep: keep} }
}

func TestNextCompaction(t *testing.T) {
	one, two := bodies(answered("m1")), bodies(answered("m1"), answered("m2")) // 232 and 464 bytes
	by := compacting("m2/t", 1, "k")
	alone := compacting("m2/t", 1, "")
	failed := turnv1.CompactionFailed{Compaction: "m2/t/c", Attempt: 1}
	fresh, keep, squeeze := control(messagev1.New), control(messagev1.New, "keep"), control(messagev1.Compact)
	long := bodies(one, said, turnv1.Started{Claim: claim("m2", 1, 1)}, turnv1.Overflowed{Outcome: of("m2", 1, 1)})
	within := bodies(long, compacting("m1/t", 1, ""))
	checkCases(t, []nextCase{
		{name: "not due", bodies: two, rules: due(2*aTurn, 0), want: "nothing"},
		{name: "due", bodies: two, rules: due(2*aTurn-1, 0), want: "compaction.started <- e6"},
		{name: "never by itself", bodies: two, rules: due(0, 0), want: "nothing"},
		{name: "one turn is not worth it", bodies: one, rules: due(100, 0), want: "nothing"},
		{name: "a message comes first", bodies: bodies(two, said), rules: due(400, 0), want: "turn.started <- m3"},
		{name: "a message waits for what is starved", bodies: bodies(two, said), rules: due(300, 0), want: "compaction.started <- e6"},
		{name: "after a failure", bodies: bodies(two, alone, failed), rules: due(400, 0), want: "nothing"},
		{name: "after a failure and a quarter more", bodies: bodies(two, alone, failed, answered("m3")), rules: due(400, 0), want: "compaction.started <- e11"},

		{name: "asked for", bodies: bodies(two, squeeze), want: "compaction.started <- e7"},
		{name: "asked for, nothing there", bodies: bodies(squeeze), want: "notice.posted <- e1 beside"},
		{name: "asked for while a turn runs", bodies: bodies(one, said, turnv1.Started{Claim: claim("m2", 1, 1)}, squeeze), want: "held 5"},
		{name: "keep", bodies: bodies(two, keep), want: "compaction.started <- e7"},

		{name: "mine", bodies: bodies(two, alone), mine: 7, want: "perform 7"},
		{name: "somebody else's", bodies: bodies(two, alone), want: "held 7"},
		{name: "its owner is gone", bodies: bodies(two, alone), gone: 7, want: "compaction.started <- e7"},
		{name: "its deadline has passed, mine", bodies: bodies(two, alone), mine: 7, at: time.Hour + 1, want: "perform 7"},
		{name: "the last attempt is gone", bodies: bodies(two, compacting("m2/t", 3, "")), gone: 7, want: "compaction.failed <- e7 tell w1"},
		{name: "the last but one", bodies: bodies(two, compacting("m2/t", 2, "")), gone: 7, want: "compaction.started <- e7"},

		{name: "a message, due by itself", bodies: bodies(two, alone, said), mine: 7, rules: due(400, 0), want: "turn.started <- m3 tell w1"},
		{name: "a message, starved", bodies: bodies(two, alone, said), mine: 7, rules: due(300, 0), want: "perform 7"},
		{name: "a message, asked for", bodies: bodies(two, squeeze, compacting("m2/t", 1, "e7"), said), mine: 8, want: "perform 8"},
		{name: "a message, asked for and answered otherwise", bodies: bodies(two, by, said), mine: 7, want: "perform 7"},
		{name: "afresh, due by itself", bodies: bodies(two, alone, fresh), mine: 7, rules: due(400, 0), want: "session.reset <- e8 tell w1"},
		{name: "afresh, starved", bodies: bodies(two, alone, fresh), mine: 7, rules: due(300, 0), want: "session.reset <- e8 tell w1"},
		{name: "afresh, asked for", bodies: bodies(two, squeeze, compacting("m2/t", 1, "e7"), fresh), want: "held 8"},
		{name: "keep, due by itself", bodies: bodies(two, alone, keep), mine: 7, rules: due(400, 0), want: "perform 7"},
		{name: "asked for while it is due by itself", bodies: bodies(two, alone, squeeze), mine: 7, rules: due(400, 0), want: "perform 7"},
		{name: "a question", bodies: bodies(two, alone, control(messagev1.Status)), mine: 7, want: "notice.posted <- e8 beside"},

		{name: "too long", bodies: long, want: "compaction.started <- e6"},
		{name: "too long, no past", bodies: bodies(said, started, turnv1.Overflowed{Outcome: of("m1", 1, 1)}), want: "turn.continued <- e3"},
		{name: "too long, summarised", bodies: bodies(within, turnv1.SessionCompacted{Compaction: "m1/t/c", Attempt: 1, Through: "m1/t"}), want: "turn.continued <- e6"},
		{name: "too long, no summary", bodies: bodies(within, turnv1.CompactionFailed{Compaction: "m1/t/c", Attempt: 1}), want: "turn.continued <- e6"},
		{name: "within a turn it does not give way", bodies: bodies(within, said), mine: 7, rules: due(400, 0), want: "perform 7"},
		{name: "too long, no rounds left", bodies: long, rules: func(r *turn.Rules) { r.Limits.Rounds = 1 }, want: "turn.failed <- e6"},
		{
			name: "too long twice",
			bodies: bodies(said, started, turnv1.Overflowed{Outcome: of("m1", 1, 1)}, turnv1.Continued{Claim: claim("m1", 2, 1)},
				turnv1.Overflowed{Outcome: of("m1", 2, 1)}),
			want: "turn.continued <- e5",
		},
		{
			name: "too long three times",
			bodies: bodies(said, started, turnv1.Overflowed{Outcome: of("m1", 1, 1)}, turnv1.Continued{Claim: claim("m1", 2, 1)},
				turnv1.Overflowed{Outcome: of("m1", 2, 1)}, turnv1.Continued{Claim: claim("m1", 3, 1)}, turnv1.Overflowed{Outcome: of("m1", 3, 1)}),
			want: "turn.failed <- e7",
		},
	})
}

func TestWhatIsSummarised(t *testing.T) {
	past := bodies(answered("m1"), answered("m2"), answered("m3"))
	for _, c := range []struct {
		name    string
		bodies  []envelope.Body
		keep    int
		through string
	}{
		{"the newest fits", past, aTurn, "m2/t"},
		{"the newest does not", past, aTurn - 1, "m3/t"},
		{"two fit", past, 2 * aTurn, "m1/t"},
		{"at least one is", past, 9 * aTurn, "m1/t"},
		{"asked for: all", append(past, control(messagev1.Compact)), aTurn, "m3/t"},
		{"kept afresh: all", append(past, control(messagev1.New, "keep")), aTurn, "m3/t"},
	} {
		r := turn.DefaultRules()
		r.Compact = turn.Compact{Due: 3*aTurn - 1, Keep: c.keep}
		step, _ := fold(turn.State{}, c.bodies...).Next(machine.View{Now: epoch, Worker: "w"}, r).(machine.Append)
		if b, ok := step.Body.(turnv1.CompactionStarted); !ok || b.Through != c.through || b.Compaction != c.through+"/c" || !step.Claim || b.Attempt != 1 {
			t.Errorf("%s: got %s", c.name, compact(step.Body))
		}
	}
}

// One claim at a time: whichever is announced last, or is refused.
func TestOneClaim(t *testing.T) {
	waits := bodies(answered("m1"), said, turnv1.Started{Claim: claim("m2", 1, 1)}, turnv1.Overflowed{Outcome: of("m2", 1, 1)}, compacting("m1/t", 1, ""))
	if s := fold(turn.State{}, append(waits, turnv1.Continued{Claim: claim("m2", 2, 1)})...); s.Compaction != nil || !s.Turn.Open {
		t.Errorf("continued: %s", compact(s))
	}
	runs := bodies(answered("m1"), said, turnv1.Started{Claim: claim("m2", 1, 1)}, compacting("m1/t", 1, ""))
	if s := fold(turn.State{}, runs...); s.Compaction != nil || !s.Turn.Open {
		t.Errorf("a compaction beside a call: %s", compact(s))
	}
	begins := bodies(answered("m1"), compacting("m1/t", 1, ""), said, turnv1.Started{Claim: claim("m2", 1, 1)})
	if s := fold(turn.State{}, begins...); s.Compaction != nil || !s.Turn.Open {
		t.Errorf("started: %s", compact(s))
	}
}

// Summaries that never come must not end in none being tried: what falls out at the bound counts as room for more.
func TestDueAgainAtTheBound(t *testing.T) {
	r := turn.DefaultRules()
	r.Compact = turn.CompactFor(1 << 20)
	var s turn.State
	text := strings.Repeat("x", 8<<10)
	tries := 0
	for i := range 200 {
		m := string(rune('a'+i%26)) + strings.Repeat("i", i/26)
		s = s.Apply(envelope.Event{ID: m, Body: messagev1.Received{Text: text}})
		s = s.Apply(envelope.Event{ID: "s", Cursor: 1, Body: turnv1.Started{Claim: claim(m, 1, 1)}})
		s = s.Apply(envelope.Event{ID: "e", Body: turnv1.Completed{Outcome: of(m, 1, 1), Answers: []string{m}, Text: "x"}})
		step, ok := s.Next(machine.View{Now: epoch}, r).(machine.Append)
		if !ok {
			continue
		}
		if tries++; i == 199 || tries > 40 {
			break
		}
		b := step.Body.(turnv1.CompactionStarted)
		s = s.Apply(envelope.Event{ID: "c", Cursor: 2, Body: b})
		s = s.Apply(envelope.Event{ID: "f", Body: turnv1.CompactionFailed{Compaction: b.Compaction, Attempt: b.Attempt}})
	}
	if tries < 20 || tries > 40 {
		t.Errorf("200 turns of 8 KiB and no summary: %d tries", tries)
	}
}
