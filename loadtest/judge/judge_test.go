package judge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// good is a run with a take-over, a repeated push, two sessions and overlapping messages.
func good() *script {
	s := newScript().whole("a1")
	s.sent("a2").started("a2").sent("a3").resumed("a2", 2).completed("a2").started("a3").delivering("a2", 1, false)
	s.add("", "", deliveryv1.Unknown{Ref: ref("a2", 1), Resend: true}).delivering("a2", 2, true).delivered("a2", 2)
	s.completed("a3").delivering("a3", 1, false).delivered("a3", 1)
	s.session = "main.http.default.s2"
	return s.whole("b1")
}

func TestACleanRunHasNoViolations(t *testing.T) {
	v := judge.Judge(good().evidence)
	if len(v.Violations) != 0 {
		t.Fatalf("violations: %+v", v.Violations)
	}
	c := v.Counts
	if c.Accepted != 4 || c.Sessions != 2 || c.Takeovers != 1 || c.Pushed != 5 || c.Repeated != 1 || c.Events["turn.completed"] != 4 {
		t.Errorf("counts %+v", c)
	}
}

func TestEachBrokenPromiseIsFound(t *testing.T) {
	for _, c := range []struct {
		name string
		want judge.Kind
		text string // part of one violation
		run  func() *script
	}{
		{"accepted and gone", judge.Lost, "not in the journal", func() *script {
			s := newScript().whole("a1")
			s.evidence.Messages = append(s.evidence.Messages, judge.Message{Session: s1, ID: "x", Marker: mk("x"), Status: "completed", Text: answer("x")})
			return s
		}},
		{"recorded as sent and never arrived", judge.Lost, "never arrived", func() *script {
			s := newScript().whole("a1")
			delete(s.evidence.Pushed, mk("a1"))
			return s
		}},
		{"key received twice", judge.Doubled, "key key-a1 was received already", func() *script {
			return newScript().sent("a1").received("a1").started("a1").completed("a1").delivered("a1", 1)
		}},
		{"answered twice", judge.Doubled, "answered again", func() *script {
			return newScript().whole("a1").completed("a1")
		}},
		{"turn starts again", judge.Doubled, "starts again after its end", func() *script {
			return newScript().whole("a1").started("a1").completed("a1")
		}},
		{"resumed after its end", judge.Doubled, "which does not run", func() *script {
			return newScript().whole("a1").resumed("a1", 2)
		}},
		{"model asked without a claim", judge.Doubled, "of which 1 claimed", func() *script {
			s := newScript().whole("a1")
			s.evidence.Asked[mk("a1")]++
			return s
		}},
		{"pushed twice, nothing unknown", judge.Doubled, "was pushed 2 times", func() *script {
			s := newScript().whole("a1")
			s.evidence.Pushed[mk("a1")]++
			return s
		}},
		{"sent twice", judge.Doubled, "of a delivery that is sent", func() *script {
			return newScript().whole("a1").delivered("a1", 1)
		}},
		{"attempt upon attempt", judge.Doubled, "has no outcome", func() *script {
			s := newScript().sent("a1").started("a1").completed("a1").delivering("a1", 1, false).delivering("a1", 2, false).delivered("a1", 2)
			s.evidence.Pushed[mk("a1")] = 1
			return s
		}},
		{"received in another order than sent", judge.Disordered, "sent after", func() *script {
			s := newScript().whole("a1").whole("a2")
			slices.Reverse(s.evidence.Messages)
			return s
		}},
		{"started in another order than received", judge.Disordered, "claims mk-a1 after a later message", func() *script {
			s := newScript().sent("a1").sent("a2").started("a2").completed("a2").delivered("a2", 1)
			s.started("a1").completed("a1").delivered("a1", 1)
			s.evidence.Pushed = nil
			return s
		}},
		{"two turns at once", judge.Disordered, "starts while", func() *script {
			return newScript().sent("a1").sent("a2").started("a1").started("a2").completed("a1").completed("a2")
		}},
		{"a later reply overtakes", judge.Disordered, "overtakes", func() *script {
			s := newScript().sent("a1").sent("a2").started("a1").completed("a1").started("a2").completed("a2")
			return s.delivering("a2", 1, false).delivered("a2", 1).delivering("a1", 1, false).delivered("a1", 1)
		}},
		{"turn without an end", judge.Stuck, "runs still", func() *script { return newScript().sent("a1").started("a1") }},
		{"message without a turn", judge.Stuck, "has no answer", func() *script { return newScript().sent("a1") }},
		{"delivery never begun", judge.Stuck, "is not begun", func() *script {
			return newScript().sent("a1").started("a1").completed("a1")
		}},
		{"delivery without an outcome", judge.Stuck, "is begun", func() *script {
			return newScript().sent("a1").started("a1").completed("a1").delivering("a1", 1, false)
		}},
		{"delivery to be repeated", judge.Stuck, "to be repeated", func() *script {
			s := newScript().sent("a1").started("a1").completed("a1").delivering("a1", 1, false)
			return s.add("", "", deliveryv1.Unknown{Ref: ref("a1", 1), Resend: true})
		}},
		{"sender without a reply", judge.Stuck, "never got a final reply", func() *script {
			s := newScript().whole("a1")
			s.evidence.Messages[0].Status = ""
			return s
		}},
		{"gap in the chain", judge.Broken, "by its own account", func() *script {
			s := newScript().whole("a1")
			s.evidence.Journal = slices.Delete(s.evidence.Journal, 3, 4)
			return s
		}},
		{"unreadable event", judge.Broken, "cannot be read", func() *script {
			return newScript().whole("a1").add("x", "", envelope.Unknown{Type: "turn.sung.v1"})
		}},
		{"answer of somebody else", judge.Wrong, "the reply to mk-a1", func() *script {
			s := newScript().whole("a1").whole("a2")
			s.evidence.Messages[0].Text = answer("a2")
			return s
		}},
		{"told another outcome", judge.Wrong, `was told "failed"`, func() *script {
			s := newScript().whole("a1")
			s.evidence.Messages[0].Status = "failed"
			return s
		}},
		{"told an answer that is not there", judge.Wrong, "has no answer", func() *script { return newScript().sent("a1") }},
		{"two messages with one id", judge.Wrong, "id given to both", func() *script {
			s := newScript().whole("a1")
			m := s.evidence.Messages[0]
			m.Marker = mk("other")
			s.evidence.Messages = append(s.evidence.Messages, m)
			return s
		}},
		{"claim of a message that is not there", judge.Wrong, "not received before", func() *script {
			return newScript().started("zz").completed("zz").delivered("zz", 1)
		}},
		{"attempt skipped", judge.Wrong, "attempt 3 after round 1, attempt 1", func() *script {
			return newScript().sent("a1").started("a1").resumed("a1", 3).completed("a1").delivered("a1", 1)
		}},
		{"repeat not marked", judge.Wrong, "not marked", func() *script {
			s := newScript().sent("a1").started("a1").completed("a1").delivering("a1", 1, false)
			s.add("", "", deliveryv1.Unknown{Ref: ref("a1", 1), Resend: true})
			return s.delivering("a1", 2, false).delivered("a1", 2)
		}},
		{"a part left out", judge.Wrong, "part 1 is to be sent", func() *script {
			return newScript().sent("a1").started("a1").completed("a1").parted("a1", 0, true).parted("a1", 2, false)
		}},
		{"a part that is not the last", judge.Stuck, "is not begun", func() *script {
			return newScript().sent("a1").started("a1").completed("a1").parted("a1", 0, true)
		}},
		{"a refusal that is not told", judge.Stuck, "message.refused is not begun", func() *script {
			return newScript().add("a1", "", messagev1.Refused{Reason: messagev1.TooLarge, Detail: "It is too long.", Tell: true})
		}},
		{"delivery of nothing", judge.Wrong, "nothing to show", func() *script {
			return newScript().whole("a1").delivered("zz", 1)
		}},
		{"push of nothing", judge.Wrong, "no such answer", func() *script {
			s := newScript().whole("a1")
			s.evidence.Pushed["mk-zz"] = 1
			return s
		}},
		{"failure without a cause", judge.Failed, "model_unavailable", func() *script {
			s := newScript().sent("a1").started("a1")
			s.evidence.Messages[0].Status = "failed"
			s.add("a1-done", "", turnv1.Failed{Outcome: turnv1.Outcome{Turn: "a1/t"}, Answers: []string{"a1"}, Cause: turnv1.ModelUnavailable})
			return s.delivered("a1", 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge.Judge(c.run().evidence)
			if !slices.ContainsFunc(v.Violations, func(x judge.Violation) bool { return x.Kind == c.want && strings.Contains(x.Text, c.text) }) {
				t.Errorf("no violation %q with %q in %+v", c.want, c.text, v.Violations)
			}
			if v.Of(c.want) == 0 {
				t.Errorf("none of kind %q counted", c.want)
			}
		})
	}
}

func TestExhaustedTurnsAreNotAViolation(t *testing.T) {
	s := newScript().sent("a1").started("a1")
	s.evidence.Messages[0].Status = "failed"
	s.add("a1-done", "", turnv1.Failed{Outcome: turnv1.Outcome{Turn: "a1/t"}, Answers: []string{"a1"}, Cause: turnv1.Exhausted})
	s.delivered("a1", 1)
	s.evidence.Pushed[""] = 1 // what the person is told
	v := judge.Judge(s.evidence)
	if len(v.Violations) != 0 || v.Counts.Failures["exhausted"] != 1 {
		t.Errorf("%+v", v)
	}
	s.evidence.Pushed[""] = 2
	if v := judge.Judge(s.evidence); v.Of(judge.Doubled) != 1 {
		t.Errorf("told twice: %+v", v)
	}
}

func TestAnAnswerOfSeveralParts(t *testing.T) {
	s := newScript().sent("a1").started("a1").completed("a1").delivering("a1", 1, false)
	s.add("", "", deliveryv1.Unknown{Ref: ref("a1", 1), Resend: true}).delivering("a1", 2, true)
	s.add("", "", deliveryv1.Sent{Ref: ref("a1", 2), More: true}).parted("a1", 1, true).parted("a1", 2, false)
	s.add("", "", deliveryv1.Drafting{Turn: "a2/t", Round: 1}).add("", "", deliveryv1.Drafted{Turn: "a2/t", Round: 1, Receipt: "7"})
	if v := judge.Judge(s.evidence); len(v.Violations) != 0 {
		t.Errorf("%+v", v.Violations)
	}
}

func TestResumptions(t *testing.T) {
	// Cursors are seconds: a1 is 1 to 5; a2 starts at 7, is resumed at 9 and ends at 10.
	s := newScript().whole("a1").sent("a2").started("a2").sent("a3").resumed("a2", 2).completed("a2")
	at := func(sec float64) time.Time { return epoch.Add(time.Duration(sec*1000+0.5) * time.Millisecond) }
	r := judge.Resumptions(s.evidence.Journal, []judge.Restart{
		{Killed: at(5.5), Started: at(5.6), Ready: at(5.7)}, // nothing was running
		{Killed: at(7.2), Started: at(7.3), Ready: at(7.5)}, // a2, overtaken by the next kill
		{Killed: at(8.2), Started: at(8.3), Ready: at(8.5)}, // a2, resumed at 9
	})
	want := 500 * time.Millisecond
	if len(r.First) != 1 || r.First[0] != want || len(r.Turns) != 1 || r.Overtaken != 1 || r.LongestCut != 700*time.Millisecond {
		t.Errorf("%+v", r)
	}
}
