package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []envelope.Body
		inbox  int
		past   int
		open   bool // a model call is claimed
		calls  int  // open ones
	}{
		{name: "nothing"},
		{name: "a message waits", bodies: bodies(said), inbox: 1},
		{name: "a turn starts", bodies: bodies(said, started), inbox: 1, open: true},
		{name: "a turn without a message does not", bodies: bodies(started)},
		{name: "another turn does not start beside it", bodies: bodies(said, said, started, stepped, turnv1.Started{Claim: claim("m2", 1, 1)}), inbox: 2, calls: 1},
		{name: "an answer without a turn", bodies: bodies(said, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}), inbox: 1},
		{name: "the answer", bodies: bodies(said, started, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}), past: 1},
		{name: "an answer of another attempt", bodies: bodies(said, started, turnv1.Completed{Outcome: of("m1", 1, 2), Answers: []string{"m1"}}), inbox: 1, open: true},
		{name: "an answer of another round", bodies: bodies(said, started, turnv1.Failed{Outcome: of("m1", 2, 1), Answers: []string{"m1"}}), inbox: 1, open: true},
		{name: "calls are open", bodies: bodies(said, started, stepped), inbox: 1, calls: 1},
		{name: "an answer while calls are open", bodies: bodies(said, started, stepped, turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}), inbox: 1, calls: 1},
		{name: "a failure while calls are open", bodies: bodies(said, started, stepped, turnv1.Failed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}}), past: 1},
		{name: "the result", bodies: bodies(said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1"}), inbox: 1},
		{name: "a result of another turn", bodies: bodies(said, started, stepped, callv1.Completed{Turn: "m0/t", Call: "c1"}), inbox: 1, calls: 1},
		{name: "resumed", bodies: bodies(said, started, turnv1.Resumed{Claim: claim("m1", 1, 2)}), inbox: 1, open: true},
		{name: "resumed after the step", bodies: bodies(said, started, stepped, turnv1.Resumed{Claim: claim("m1", 1, 2)}), inbox: 1, calls: 1},
		{name: "too long", bodies: bodies(said, started, turnv1.Overflowed{Outcome: of("m1", 1, 1)}), inbox: 1},
		{name: "too long says another attempt", bodies: bodies(said, started, turnv1.Overflowed{Outcome: of("m1", 1, 2)}), inbox: 1, open: true},
		{name: "cancelled while calls are open", bodies: bodies(said, said, started, stepped, turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}}), inbox: 1, past: 1},
		{name: "another turn is cancelled", bodies: bodies(said, started, turnv1.Cancelled{Turn: "m0/t", Answers: []string{"m1"}}), inbox: 1, open: true},
		{name: "what waits is cancelled", bodies: bodies(said, said, started, turnv1.Cancelled{Answers: []string{"m2"}}), inbox: 1, open: true},
		{name: "a compaction of no turn", bodies: bodies(answered("m1"), compacting("m0/t", 1, ""), turnv1.SessionCompacted{Compaction: "m0/t/c", Attempt: 1, Through: "m1/t"}), past: 1},
		{name: "a summary of another attempt", bodies: bodies(answered("m1"), compacting("m1/t", 1, ""), turnv1.SessionCompacted{Compaction: "m1/t/c", Attempt: 2, Through: "m1/t"}), past: 1},
		{name: "a summary", bodies: bodies(answered("m1"), compacting("m1/t", 1, ""), turnv1.SessionCompacted{Compaction: "m1/t/c", Attempt: 1, Through: "m1/t"})},
		{name: "a summary that nobody made", bodies: bodies(answered("m1"), turnv1.SessionCompacted{Compaction: "m1/t/c", Attempt: 1, Through: "m1/t"}), past: 1},
		{name: "no summary", bodies: bodies(answered("m1"), compacting("m1/t", 1, ""), turnv1.CompactionFailed{Compaction: "m1/t/c", Attempt: 1}), past: 1},
		{name: "unknown", bodies: bodies(said, envelope.Unknown{Type: "x.y.v1"}, nil), inbox: 1},
		{name: "deleted", bodies: bodies(answered("m1"), said, turnv1.Started{Claim: claim("m2", 1, 1)}, turnv1.SessionDeleted{By: "cli"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fold(turn.State{}, c.bodies...)
			if open := s.Turn != nil && s.Turn.Open; len(s.Inbox) != c.inbox || len(s.Past) != c.past || open != c.open || len(s.OpenCalls()) != c.calls {
				t.Errorf("got %s", compact(s))
			}
		})
	}
}

func TestResumedIsLater(t *testing.T) {
	for attempt, cursor := range map[int]uint64{1: 2, 2: 3} { // the claim of an attempt that is known already is a zombie's
		if s := fold(turn.State{}, said, started, turnv1.Resumed{Claim: claim("m1", 1, attempt)}); s.Turn.Claim.Cursor != cursor {
			t.Errorf("attempt %d: %s", attempt, compact(s.Turn.Claim))
		}
	}
}

// What answers a command takes that command away, and leaves the rest as it was.
func TestAnswersToCommands(t *testing.T) {
	asked := bodies(
		said, control(messagev1.Status), control(messagev1.Model, "x"), control(messagev1.Compact), control(messagev1.New, "keep"), stop,
	) // m1, e2…e6
	for _, c := range []struct {
		body                  envelope.Body
		orders, inbox, remain string
	}{
		{noticev1.Posted{Answers: []string{"e2"}}, "e3", "m1 e4 e5", "e6"},
		{noticev1.Posted{}, "e2 e3", "m1 e4 e5", "e6"},
		{noticev1.Posted{Answers: []string{"m1"}}, "e2 e3", "m1 e4 e5", "e6"}, // a notice is no answer to a message
		{noticev1.Posted{Answers: []string{"e2", "e3", "e4", "e6"}}, "", "m1 e5", ""},
		{turnv1.SessionConfigured{By: "e3", Setting: turnv1.ModelSetting, Value: "x"}, "e2", "m1 e4 e5", "e6"},
		{turnv1.SessionReset{By: "e5"}, "e2 e3", "m1 e4", "e6"},
		{turnv1.Cancelled{By: "e6", Answers: []string{"m1"}}, "e2 e3", "e4 e5", ""},
		{turnv1.Cancelled{By: "m1", Answers: []string{"m1"}}, "e2 e3", "e4 e5", "e6"},
	} {
		s := fold(turn.State{}, append(asked, c.body)...)
		var orders, inbox []string
		remain := ""
		for _, o := range s.Orders {
			orders = append(orders, o.ID)
		}
		for _, it := range s.Inbox {
			inbox = append(inbox, it.ID)
		}
		if s.Stop != nil {
			remain = s.Stop.ID
		}
		if strings.Join(orders, " ") != c.orders || strings.Join(inbox, " ") != c.inbox || remain != c.remain {
			t.Errorf("%s leaves %v, %v, %q", compact(c.body), orders, inbox, remain)
		}
	}
}

func TestASecondFactIsIgnored(t *testing.T) {
	s := fold(turn.State{}, said, started)
	again := envelope.Event{ID: "s1", Key: "k", Body: stop}
	s = s.Apply(again)
	s = s.Apply(envelope.Event{ID: "x", Body: turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}, By: "s1"}})
	s = s.Apply(envelope.Event{ID: "m2", Key: "k2", Body: said})
	s = s.Apply(envelope.Event{ID: "y", Cursor: 9, Body: turnv1.Started{Claim: claim("m2", 1, 1)}})
	again.ID = "s2" // a retry of intake under another id
	if s = s.Apply(again); s.Stop != nil {
		t.Error("one stop has stopped two turns")
	}
	if again := s.Apply(envelope.Event{ID: "m2", Key: "other", Body: said}); len(again.Inbox) != 1 {
		t.Error("one id is twice in the inbox")
	}
}

func TestBounds(t *testing.T) {
	var s turn.State
	big := strings.Repeat("é", 20<<10)
	for i := range 100 {
		m := fmt.Sprintf("m%d", i)
		s = s.Apply(envelope.Event{ID: m, Key: "k" + m, Body: messagev1.Received{Text: big}})
		s = s.Apply(envelope.Event{ID: "s" + m, Cursor: uint64(i + 1), Time: epoch, Body: turnv1.Started{Claim: claim(m, 1, 1)}})
		s = s.Apply(envelope.Event{ID: "c" + m, Body: turnv1.Completed{Outcome: of(m, 1, 1), Answers: []string{m}, Text: "ok"}})
	}
	if n := len(compact(s)); n > turn.Kept+32<<10 {
		t.Errorf("a state of %d bytes", n)
	}
	if len(s.Seen) != 64 || s.Seen[63].ID != "m99" {
		t.Errorf("%d facts, the last is %v", len(s.Seen), s.Seen[len(s.Seen)-1])
	}
	huge := strings.Repeat("é", 80<<10)
	s = fold(turn.State{}, said, started, stepped, callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: huge})
	c := s.Turn.Entries[1].Calls[0]
	if want := `[cut: 65536 of 163840 bytes shown; call read_result {"result":"4","offset":65536} for the rest]`; c.Note != want || len(c.Result) != 64<<10 {
		t.Errorf("%d bytes of a result, and %q", len(c.Result), c.Note)
	}
}

func with(o callv1.Outcome, content string) callv1.Completed {
	return callv1.Completed{Turn: "m1/t", Call: "c1", Outcome: o, Content: content}
}

func TestResults(t *testing.T) {
	for _, c := range []struct {
		body envelope.Body
		want string
		own  bool
		fail bool
	}{
		{with(callv1.OK, "fine"), "fine", false, false},
		{with(callv1.Error, "oh"), "error: oh", false, true},
		{with(callv1.Unknown, "x"), "outcome unknown, the call may have been carried out: x", false, true},
		{with(callv1.TimedOut, "x"), "timed out: it was ended at its time limit, what it had done by then is done: x", false, true},
		{with(callv1.Cancelled, "x"), "cancelled: it was ended before it was finished, what it had done by then is done: x", false, false},
		{with(callv1.Refused, "x"), "refused, it was not carried out: x", false, true},
		{with("odd", "x"), "odd: x", false, false},
		{callv1.Denied{Turn: "m1/t", Call: "c1", Reason: "no"}, "denied: no", true, true},
		{callv1.Denied{Turn: "m1/t", Call: "c1"}, "denied", true, true},
	} {
		s := fold(turn.State{}, said, started, stepped, c.body, callv1.Denied{Turn: "m1/t", Call: "c1", Reason: "second"})
		got := s.Turn.Entries[1].Calls[0]
		if got.Result != c.want || got.Own != c.own || got.Failed != c.fail || !got.Done || got.Note != "" {
			t.Errorf("%s gives %s", compact(c.body), compact(got))
		}
		if _, foreign := c.body.(callv1.Completed); foreign && (got.Cursor != 4 || got.Result[got.Lead:] != c.body.(callv1.Completed).Content) {
			t.Errorf("%s begins at %d of event %d", compact(c.body), got.Lead, got.Cursor)
		}
	}
	lost := with(callv1.OK, "x")
	lost.Cut = 7
	if got := fold(turn.State{}, said, started, stepped, lost).Turn.Entries[1].Calls[0]; got.Note != "[the tool said 7 bytes more, of which nothing was kept]" {
		t.Errorf("got %s", compact(got))
	}
	s := fold(turn.State{}, said, started, turnv1.Stepped{Outcome: of("m1", 1, 1), Calls: []turnv1.Call{{ID: "a", Refusal: "no"}, {ID: "b", Answer: "text"}, {ID: "c"}}})
	if got := s.Turn.Entries[1].Calls; got[0].Result != "not called: no" || got[1].Result != "text" || !got[1].Own || got[2].Done || s.Turn.Calls != 3 {
		t.Errorf("got %s", compact(got))
	}
}
