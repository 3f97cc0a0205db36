package cli

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func requested(id string, level toolv1.Level) approvalv1.Requested {
	return approvalv1.Requested{
		Approval: id, Request: callv1.Request{Turn: "m/t", Call: id, Tool: "tool-" + id, Level: level}, Why: []string{"be\x1bcause"},
		Shown: "tool-" + id + "\npath: x\x1b[31m", Fixed: "that", Grant: "g", Expires: time.Now().Add(time.Hour), Approvers: []string{"local"},
	}
}

func denied(id, text string) approvalv1.Decided {
	return approvalv1.Decided{Ref: approvalv1.Ref{Approval: id, Turn: "m/t", Call: id}, Answer: callv1.Approval{Decision: callv1.Deny}, Text: text}
}

// TestQuestionsOneByOne: an answer of one letter can only mean the question that was put last, and not before it could be read.
func TestQuestionsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, shown := listener(t)
		l.caughtUp = true
		news := func(bodies ...envelope.Body) (told string) {
			shown.Reset()
			for _, b := range bodies {
				l.happened(envelope.Event{ID: "n", Session: "s", Body: b})
			}
			return shown.String()
		}
		answer := func(word string) string {
			shown.Reset()
			if d, ok := answerOf(word); !ok || !l.ask.takes() {
				return "a message"
			} else if err := l.answer(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			return shown.String()
		}
		if got := answer("y"); got != "a message" {
			t.Errorf("nothing is asked: %q", got)
		}
		got := news(requested("a", toolv1.L2), requested("b", toolv1.L3))
		if !strings.Contains(got, "Approval a: may tool-a run? (level L2)\n- because\n") || !strings.Contains(got, "│ tool-a\n│ path: x[31m\nAlways would hold for: that\n") ||
			!strings.Contains(got, "Another question comes after this one: may tool-b run?") || strings.Contains(got, "Approval b") {
			t.Errorf("%s", got)
		}
		if got := answer("Y"); got != unread+"\n" {
			t.Errorf("%q", got)
		}
		ripen := func() string {
			shown.Reset()
			<-l.ask.ripe
			l.ripened()
			return shown.String()
		}
		if got := ripen(); got != asksAlways+"? (anything else is a message)\n" {
			t.Errorf("%q", got)
		}
		if got := answer("yes please"); got != "a message" {
			t.Errorf("%q", got)
		}
		l.ask.answered = "a" // it was handed in
		if got := answer("y"); got != "that is answered; nothing was sent\n" {
			t.Errorf("%q", got)
		}
		got = news(denied("a", "It was de\x1bnied."))
		if !strings.HasPrefix(got, "It was denied.\nApproval b: may tool-b run? (level L3)\n") || strings.Contains(got, "Always would") {
			t.Errorf("%s", got)
		}
		ripen()
		if got := answer("a"); got != noAlways+"\n[y]es, [n]o? (anything else is a message)\n" {
			t.Errorf("%q", got)
		}
		if got := news(approvalv1.Expired{Ref: approvalv1.Ref{Approval: "b"}, Text: "Nobody answered."}); got != "Nobody answered.\n" {
			t.Errorf("%q", got)
		}
		if got := answer("n"); got != "a message" {
			t.Errorf("%q", got)
		}
		if got := news(requested("c", toolv1.L2), turnv1.Cancelled{Turn: "m/t", By: "x"}, approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "c"}}); !strings.HasSuffix(got, "Stopped.\n") {
			t.Errorf("%q", got)
		}
		if at, ok := l.seen(); ok && at != 0 || len(l.ask.docket.open) > 0 {
			t.Errorf("seen up to %d, open %+v", at, l.ask.docket.open)
		}
	})
}

const asksAlways = "[y]es, [a]lways, [n]o"

// TestQuestionsBefore: of what happened while the person was away only what is still open is asked.
func TestQuestionsBefore(t *testing.T) {
	t.Parallel()
	l, shown := listener(t)
	for i, b := range []envelope.Body{
		messagev1.Received{From: me, Text: "x"}, requested("a", toolv1.L2), requested("b", toolv1.L2), denied("a", "No to a."),
	} {
		l.mine["m0"] = true
		l.happened(envelope.Event{ID: "m" + string(rune('0'+i)), Session: "s", Cursor: uint64(i + 1), Body: b})
	}
	if shown.String() != "No to a.\n" {
		t.Errorf("%q", shown)
	}
	l.caughtUp = true
	l.raise()
	l.raise()
	if n := strings.Count(shown.String(), "may tool-b run?"); n != 1 || strings.Contains(shown.String(), "tool-a run") {
		t.Errorf("%s", shown)
	}
}

func TestDecisionsAreAnswered(t *testing.T) {
	t.Parallel()
	l, _ := listener(t)
	l.mine["d"] = true
	l.happened(envelope.Event{ID: "d", Cursor: 1, Body: messagev1.Decision{From: me, Approval: "a", Decision: callv1.Deny}})
	if !l.open["d"] {
		t.Error("nobody waits for what becomes of it")
	}
	b := denied("a", "No.")
	b.Answers = []string{"d"}
	l.happened(envelope.Event{ID: "e", Cursor: 2, Body: b})
	if len(l.open) > 0 {
		t.Errorf("%v", l.open)
	}
}

// TestDocket: open is what was asked and has not ended, whatever comes twice.
func TestDocket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d docket
		open, over := map[string]session.ID{}, map[string]bool{}
		ids := []string{"a", "b", "c", "d", "e"}
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			id := rapid.SampledFrom(ids).Draw(t, "id")
			in := session.ID(map[bool]string{true: "s1", false: "s2"}[id < "c"])
			ref := approvalv1.Ref{Approval: id}
			switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); kind {
			case 0, 1, 2:
				b := requested(id, toolv1.L2)
				b.Turn = "turn-" + id
				d.fold(envelope.Event{Session: in, Body: b})
				if !over[id] {
					open[id] = in
				}
			case 3:
				body := []envelope.Body{
					denied(id, ""), approvalv1.Expired{Ref: ref}, approvalv1.Voided{Ref: ref}, approvalv1.Cancelled{Ref: ref},
				}[rapid.IntRange(0, 3).Draw(t, "end")]
				d.fold(envelope.Event{Session: in, Body: body})
				delete(open, id)
				over[id] = true
			case 4:
				d.fold(envelope.Event{Session: in, Body: turnv1.Failed{Outcome: turnv1.Outcome{Turn: "turn-" + id}}})
				delete(open, id)
			case 5:
				d.fold(envelope.Event{Session: in, Body: turnv1.SessionDeleted{}})
				for other, s := range open {
					if s == in {
						delete(open, other)
					}
				}
			case 6:
				d.fold(envelope.Event{Session: in, Body: messagev1.Received{Text: "x"}})
			}
			var got, want []string
			for _, v := range d.open {
				got = append(got, v.Approval)
			}
			for id := range open {
				want = append(want, id)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("open %q, want %q", got, want)
			}
		}
	})
}

func TestWhatIsWaitedForAfterADecision(t *testing.T) {
	t.Parallel()
	done := callv1.Completed{Turn: "t", Call: "a"}
	for name, c := range map[string]struct {
		open   []string
		bodies []envelope.Body
		over   bool
	}{
		"it runs":                     {nil, []envelope.Body{denied("a", ""), done}, false},
		"the turn ends":               {nil, []envelope.Body{done, turnv1.Completed{Outcome: turnv1.Outcome{Turn: "t"}}}, true},
		"another turn ends":           {nil, []envelope.Body{done, turnv1.Completed{Outcome: turnv1.Outcome{Turn: "u"}}}, false},
		"another question is open":    {[]string{"b"}, []envelope.Body{done}, true},
		"it was answered meanwhile":   {[]string{"b"}, []envelope.Body{denied("b", ""), done}, false},
		"another question comes":      {nil, []envelope.Body{done, approvalv1.Requested{Approval: "c", Request: callv1.Request{Turn: "t"}}}, true},
		"one of another turn":         {nil, []envelope.Body{done, approvalv1.Requested{Approval: "c", Request: callv1.Request{Turn: "u"}}}, false},
		"before its own call is over": {[]string{"b"}, []envelope.Body{denied("a", ""), callv1.Started{Turn: "t", Call: "a"}}, false},
		"it was denied after all":     {[]string{"b"}, []envelope.Body{callv1.Denied{Turn: "t", Call: "a"}}, true},
		"the session is deleted":      {nil, []envelope.Body{turnv1.SessionDeleted{}}, true},
	} {
		w := turnWatch{turn: "t", call: "a", open: map[string]bool{}}
		for _, id := range c.open {
			w.open[id] = true
		}
		for i, b := range c.bodies {
			if got := w.see(b); got != (c.over && i == len(c.bodies)-1) {
				t.Errorf("%s: %t after %T", name, got, b)
			}
		}
	}
}
