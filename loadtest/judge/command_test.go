package judge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// command is one with a sender who was told that it is done.
func (s *script) command(id string, verb messagev1.Verb) *script {
	s.evidence.Commands = append(s.evidence.Commands, judge.Command{Session: s.session, ID: id, Text: "/" + string(verb), Status: "completed"})
	return s.add(id, "key-"+id, messagev1.Control{Verb: verb})
}

func (s *script) queue(id, mode string) *script {
	s.command(id, messagev1.Queue)
	return s.add(id+"-done", "", turnv1.SessionConfigured{By: id, Setting: turnv1.QueueSetting, Value: mode, Text: "Queue: " + mode}).
		pushed(id, "")
}

// pushed is the whole delivery of what <id>-done shows; marker is that of its text.
func (s *script) pushed(id, marker string) *script {
	s.delivering(id, 1, false).delivered(id, 1)
	delete(s.evidence.Pushed, mk(id))
	s.evidence.Pushed[marker]++
	return s
}

func (s *script) continued(round int, ids ...string) *script {
	for _, id := range ids {
		s.evidence.Asked[mk(id)]++
	}
	c := claim(1, ids...)
	c.Round = round
	return s.add("", "", turnv1.Continued{Claim: c})
}

// answered completes a turn with one text for several messages.
func (s *script) answered(ids ...string) *script {
	var all []string
	for _, id := range ids {
		all = append(all, mk(id))
	}
	text := "You said: " + strings.Join(all, "\n")
	for i := range s.evidence.Messages {
		if slices.Contains(ids, s.evidence.Messages[i].ID) {
			s.evidence.Messages[i].Text = text
		}
	}
	s.add(ids[0]+"-done", "", turnv1.Completed{Outcome: turnv1.Outcome{Turn: ids[0] + "/t"}, Answers: ids, Text: text})
	return s.pushed(ids[0], mk(ids[0]))
}

// cancelled takes messages out; turn is the first message of the one that ends, or "".
func (s *script) cancelled(by string, why turnv1.Reason, turn string, ids ...string) *script {
	for i := range s.evidence.Messages {
		if slices.Contains(ids, s.evidence.Messages[i].ID) {
			s.evidence.Messages[i].Status = "cancelled"
		}
	}
	if turn != "" {
		turn += "/t"
	}
	s.add(by+"-done", "", turnv1.Cancelled{Turn: turn, Answers: ids, By: by, Reason: why, Text: "Stopped."})
	return s.pushed(by, "")
}

func compaction(attempt int, through string) turnv1.CompactionStarted {
	return turnv1.CompactionStarted{Compaction: through + "/t/c", Attempt: attempt, Through: through + "/t"}
}

// eventful is a run with all that a person can ask for: none of it breaks a promise.
func eventful() *script {
	s := newScript().queue("q1", "steer")
	s.sent("a1").started("a1").sent("a2").continued(2, "a1", "a2").answered("a1", "a2")
	s.sent("b1").started("b1").sent("b2").command("x1", messagev1.Stop).sent("b3").cancelled("x1", turnv1.Stopped, "b1", "b1", "b2")
	s.started("b3").answered("b3")
	s.command("x2", messagev1.Stop).add("x2-done", "", noticev1.Posted{Service: "turns", Text: "There is nothing to stop.", Answers: []string{"x2"}}).pushed("x2", "")
	s.add("", "", compaction(1, "b3")).add("", "", compaction(2, "b3"))
	s.add("", "", turnv1.SessionCompacted{Compaction: "b3/t/c", Attempt: 2, Through: "b3/t", Summary: "short"})
	s.queue("q2", "interrupt").sent("c1").started("c1").sent("c2").cancelled("c2", turnv1.Interrupted, "c1", "c1")
	s.add("", "", compaction(1, "b3")).started("c2") // it gives way
	return s.answered("c2")
}

func TestCommandsBreakNoPromise(t *testing.T) {
	v := judge.Judge(eventful().evidence)
	if len(v.Violations) != 0 {
		t.Fatalf("violations: %+v", v.Violations)
	}
	if c := v.Counts; c.Steered != 1 || c.Stopped != 2 || c.Interrupt != 1 || c.Rounds != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestDroppedMessagesAreOutOfTheOrder(t *testing.T) {
	s := newScript().sent("a1").started("a1").sent("a2").sent("a3").cancelled("a3", turnv1.QueueFull, "", "a3")
	s.answered("a1").started("a2").answered("a2")
	if v := judge.Judge(s.evidence); len(v.Violations) != 0 {
		t.Errorf("violations: %+v", v.Violations)
	}
}

func TestOfSeveralStopsTheFirstIsCarriedOutForAll(t *testing.T) {
	s := newScript().sent("a1").started("a1").command("x1", messagev1.Stop).sent("a2").command("x2", messagev1.Stop)
	s.add("x2-done", "", noticev1.Posted{Service: "turns", Text: "Stopping already.", Answers: []string{"x2"}}).pushed("x2", "")
	s.cancelled("x1", turnv1.Stopped, "a1", "a1", "a2")
	if v := judge.Judge(s.evidence); len(v.Violations) != 0 {
		t.Errorf("violations: %+v", v.Violations)
	}
}

func TestBrokenPromisesAroundCommands(t *testing.T) {
	for _, c := range []struct {
		name string
		want judge.Kind
		text string
		run  func() *script
	}{
		{"command gone", judge.Lost, "accepted and is not in the journal", func() *script {
			s := newScript()
			s.evidence.Commands = []judge.Command{{Session: s1, ID: "x", Text: "/stop", Status: "completed"}}
			return s
		}},
		{"command without an answer", judge.Stuck, "has no answer", func() *script { return newScript().command("x", messagev1.Status) }},
		{"command answered twice", judge.Doubled, "is answered again", func() *script {
			return newScript().queue("q", "steer").queue("q", "collect")
		}},
		{"nobody told its sender", judge.Stuck, "never got", func() *script {
			s := newScript().queue("q", "steer")
			s.evidence.Commands[0].Status = ""
			return s
		}},
		{"refused command", judge.Wrong, `was told "failed"`, func() *script {
			s := newScript().queue("q", "steer")
			s.evidence.Commands[0].Status = "failed"
			return s
		}},
		{"a message joins in followup", judge.Wrong, "in queue mode followup", func() *script {
			return newScript().sent("a1").started("a1").sent("a2").continued(2, "a1", "a2").answered("a1", "a2")
		}},
		{"a message joins before an earlier one", judge.Disordered, "claims mk-a2 after a later message", func() *script {
			return newScript().queue("q", "steer").sent("a1").started("a1").sent("a2").sent("a3").continued(2, "a1", "a3").continued(3, "a1", "a3", "a2").answered("a1", "a3", "a2")
		}},
		{"a message leaves a turn", judge.Wrong, "about other messages than before", func() *script {
			return newScript().queue("q", "steer").sent("a1").started("a1").sent("a2").continued(2, "a1", "a2").continued(3, "a1").answered("a1")
		}},
		{"answered what was not shown", judge.Wrong, "its claim shows", func() *script {
			return newScript().sent("a1").started("a1").sent("a2").answered("a1", "a2")
		}},
		{"cancelled by nobody", judge.Wrong, "which is no stop", func() *script {
			return newScript().sent("a1").started("a1").cancelled("zz", turnv1.Stopped, "a1", "a1")
		}},
		{"cancelled by another command", judge.Wrong, "which is no stop", func() *script {
			return newScript().sent("a1").started("a1").command("x", messagev1.New).cancelled("x", turnv1.Stopped, "a1", "a1")
		}},
		{"cancelled and sent after the stop", judge.Wrong, "came after what cancelled it", func() *script {
			return newScript().sent("a1").started("a1").command("x", messagev1.Stop).sent("a2").cancelled("x", turnv1.Stopped, "a1", "a1", "a2")
		}},
		{"cancelled and answered", judge.Doubled, "answered again", func() *script {
			return newScript().sent("a1").started("a1").command("x", messagev1.Stop).cancelled("x", turnv1.Stopped, "a1", "a1").started("a1").answered("a1")
		}},
		{"interrupted in followup", judge.Wrong, "interrupts in queue mode followup", func() *script {
			return newScript().sent("a1").started("a1").sent("a2").cancelled("a2", turnv1.Interrupted, "a1", "a1").started("a2").answered("a2")
		}},
		{"cancelled and the turn goes on", judge.Wrong, "it runs on", func() *script {
			return newScript().sent("a1").started("a1").command("x", messagev1.Stop).cancelled("x", turnv1.Stopped, "", "a1")
		}},
		{"cancelled in part", judge.Wrong, "without its message a2", func() *script {
			return newScript().queue("q", "steer").sent("a1").started("a1").sent("a2").continued(2, "a1", "a2").command("x", messagev1.Stop).cancelled("x", turnv1.Stopped, "a1", "a1")
		}},
		{"compaction without an end", judge.Stuck, "runs still", func() *script { return newScript().whole("a1").add("", "", compaction(1, "a1")) }},
		{"compaction of a turn that runs", judge.Wrong, "which has not ended", func() *script {
			return newScript().sent("a1").started("a1").add("", "", compaction(1, "a1")).answered("a1")
		}},
		{"compaction ends twice", judge.Doubled, "which does not run", func() *script {
			end := turnv1.SessionCompacted{Compaction: "a1/t/c", Attempt: 1}
			return newScript().whole("a1").add("", "", compaction(1, "a1")).add("", "", end).add("", "", end)
		}},
		{"notice sent and gone", judge.Lost, "recorded as sent", func() *script {
			s := newScript().queue("q", "steer")
			delete(s.evidence.Pushed, "")
			return s
		}},
		{"notice pushed twice", judge.Doubled, "pushes that answer no message", func() *script {
			s := newScript().queue("q", "steer")
			s.evidence.Pushed[""]++
			return s
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge.Judge(c.run().evidence)
			if !slices.ContainsFunc(v.Violations, func(x judge.Violation) bool { return x.Kind == c.want && strings.Contains(x.Text, c.text) }) {
				t.Errorf("no violation %q with %q in %+v", c.want, c.text, v.Violations)
			}
		})
	}
}

func TestMoments(t *testing.T) {
	s := eventful()
	// A kill between each two events: what goes on then is what the events before say.
	var kills []time.Time
	for _, e := range s.evidence.Journal {
		kills = append(kills, e.Time.Add(time.Millisecond))
	}
	count := func(f func(envelope.Body) bool) int {
		n := 0
		for _, e := range s.evidence.Journal {
			if f(e.Body) {
				n++
			}
		}
		return n
	}
	compactions := count(func(b envelope.Body) bool { _, ok := b.(turnv1.CompactionStarted); return ok })
	got := judge.MomentsOf(s.evidence.Journal, "followup", kills)
	// One event each after: the two stops (x1: and b3), a2 and b2 (and the stop, and b3) that wait, the second round.
	want := judge.Moments{Compaction: compactions, Stop: 3, Waiting: 4, Steered: 1, Rounds: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := judge.MomentsOf(s.evidence.Journal, "followup", nil); none != (judge.Moments{}) {
		t.Errorf("without kills: %+v", none)
	}
}
