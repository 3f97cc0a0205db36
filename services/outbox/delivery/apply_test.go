package delivery_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

const home = "main.hook.web.anna" // a session on the push channel "hook"

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// event is the n-th of a session, a second after the one before.
func event(n int, id string, b envelope.Body) envelope.Event {
	return envelope.Event{
		ID: id, Session: home, Cursor: uint64(n), Prev: uint64(n - 1),
		Time: epoch.Add(time.Duration(n) * time.Second), Body: b,
	}
}

// fold numbers bodies from 1 and calls the events e1, e2, …
func fold(bodies ...envelope.Body) delivery.State {
	var s delivery.State
	for n, b := range bodies {
		s = s.Apply(event(n+1, "e"+string(rune('1'+n)), b))
	}
	return s
}

func ref(id string, attempt int) deliveryv1.Ref {
	return deliveryv1.Ref{Delivery: id, Attempt: attempt}
}

func completed(text string) turnv1.Completed {
	return turnv1.Completed{Answers: []string{"m1"}, Text: text}
}

func started(id string, attempt int) deliveryv1.Started {
	return deliveryv1.Started{Ref: ref(id, attempt), Worker: "w1", Deadline: epoch.Add(time.Minute)}
}

func TestApplyQueuesWhatIsToBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		body envelope.Body
		want string // "" when nothing is shown
	}{
		"completed":       {completed("hi"), "hi"},
		"failed":          {turnv1.Failed{Text: "the model is gone", Answers: []string{"m1"}}, "the model is gone"},
		"cancelled":       {turnv1.Cancelled{Answers: []string{"m1"}}, "Stopped."},
		"made way":        {turnv1.Cancelled{Answers: []string{"m1"}, Text: "Too many wait."}, "Too many wait."},
		"cancelled, none": {turnv1.Cancelled{Turn: "t"}, ""},
		"cancelled, told": {turnv1.Cancelled{By: "c", Text: "Nothing runs."}, "Nothing runs."},
		"configured":      {turnv1.SessionConfigured{By: "m1", Text: "The model is x."}, "The model is x."},
		"by nobody":       {turnv1.SessionConfigured{Text: "The model is x."}, "The model is x."},
		"compacted":       {turnv1.SessionCompacted{By: "m1", Text: "Compacted.", Summary: "s"}, "Compacted."},
		"by itself":       {turnv1.SessionCompacted{Text: "Compacted.", Summary: "s"}, ""},
		"not compacted":   {turnv1.CompactionFailed{By: "m1", Text: "No."}, "No."},
		"nor by itself":   {turnv1.CompactionFailed{Text: "No."}, ""},
		"compaction":      {turnv1.CompactionStarted{By: "m1"}, ""},
		"overflowed":      {turnv1.Overflowed{Detail: "x"}, ""},
		"answer":          {noticev1.Posted{Service: "turns", Text: "note", Answers: []string{"m1"}}, "note"},
		"notice":          {noticev1.Posted{Service: "tools", Text: "note"}, "note"},
		"empty":           {completed(""), ""},
		"blank":           {completed(" \n"), ""},
		"message":         {messagev1.Received{Text: "hello"}, ""},
		"control":         {messagev1.Control{Verb: messagev1.Stop}, ""},
		"step":            {turnv1.Stepped{Text: "let me see"}, ""},
		"call":            {callv1.Completed{Content: "x"}, ""},
		"reset":           {turnv1.SessionReset{By: "m1", Text: "A new beginning."}, "A new beginning."},
		"reset, untold":   {turnv1.SessionReset{By: "m1"}, ""},
		"cannot decode":   {envelope.Unknown{Type: "turn.completed.v9"}, ""},
		"asked":           {approvalv1.Requested{Approval: "a1", Text: "May it run?"}, "May it run?"},
		"decided":         {approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a1"}, Answers: []string{"m1"}, Text: "Allowed."}, "Allowed."},
		"decided, local":  {approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a1"}, Text: "Allowed."}, "Allowed."},
		"expired":         {approvalv1.Expired{Ref: approvalv1.Ref{Approval: "a1"}, Text: "Too late."}, "Too late."},
		"voided":          {approvalv1.Voided{Ref: approvalv1.Ref{Approval: "a1"}, Reason: "r", Text: "Void."}, "Void."},
		"withdrawn":       {approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: "a1"}}, ""},
		"submitted":       {messagev1.Decision{Approval: "a1"}, ""},
		"awaiting":        {callv1.Awaiting{Shown: "x"}, ""},
		"foreign outcome": {deliveryv1.Sent{Ref: ref("x", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			head, ok := fold(c.body).Head()
			if ok != (c.want != "") || head.Text != c.want {
				t.Fatalf("head %+v, %v; want text %q", head, ok, c.want)
			}
			answers := []string{"m1"}
			switch name {
			case "notice", "cancelled, told", "by nobody", "asked", "decided, local", "expired", "voided":
				answers = nil
			}
			if ok && !slices.Equal(head.Answers, answers) {
				t.Errorf("it answers %v, want %v", head.Answers, answers)
			}
			approval := ""
			if _, about := c.body.(approvalv1.Event); about {
				approval = "a1"
			}
			if ok && head.Approval != approval {
				t.Errorf("it is about approval %q, want %q", head.Approval, approval)
			}
			if ok && (head.Phase != delivery.Pending || head.ID != "e1" || head.Last != "e1") {
				t.Fatalf("head %+v", head)
			}
		})
	}
}

func TestApplyMovesTheHead(t *testing.T) {
	hi := completed("hi")
	one := started("e1", 1)
	deferred := deliveryv1.Deferred{Ref: ref("e1", 1), Until: epoch.Add(time.Hour), Reason: "busy"}
	unknown := deliveryv1.Unknown{Ref: ref("e1", 1), Resend: true}
	const gone = delivery.Phase("gone")
	for name, c := range map[string]struct {
		bodies []envelope.Body
		phase  delivery.Phase
		tries  int
	}{
		"mailbox":                      {[]envelope.Body{hi, deliveryv1.Sent{Ref: ref("e1", 1)}}, gone, 0},
		"started":                      {[]envelope.Body{hi, one}, delivery.Started, 1},
		"sent":                         {[]envelope.Body{hi, one, deliveryv1.Sent{Ref: ref("e1", 1)}}, gone, 0},
		"failed":                       {[]envelope.Body{hi, one, deliveryv1.Failed{Ref: ref("e1", 1)}}, gone, 0},
		"failed without an attempt":    {[]envelope.Body{hi, deliveryv1.Failed{Ref: ref("e1", 1)}}, gone, 0},
		"deferred":                     {[]envelope.Body{hi, one, deferred}, delivery.Deferred, 1},
		"given up":                     {[]envelope.Body{hi, one, deferred, deliveryv1.Failed{Ref: ref("e1", 1)}}, gone, 0},
		"unknown, to be repeated":      {[]envelope.Body{hi, one, unknown}, delivery.Unknown, 1},
		"unknown, held":                {[]envelope.Body{hi, one, deliveryv1.Unknown{Ref: ref("e1", 1)}}, gone, 0},
		"second attempt":               {[]envelope.Body{hi, one, deferred, started("e1", 2)}, delivery.Started, 2},
		"second claim of one attempt":  {[]envelope.Body{hi, one, started("e1", 2)}, delivery.Started, 1},
		"claim that skips an attempt":  {[]envelope.Body{hi, started("e1", 2)}, delivery.Pending, 0},
		"claim of another item":        {[]envelope.Body{hi, started("e9", 1)}, delivery.Pending, 0},
		"outcome of another item":      {[]envelope.Body{hi, one, deliveryv1.Sent{Ref: ref("e9", 1)}}, delivery.Started, 1},
		"outcome of another attempt":   {[]envelope.Body{hi, one, deliveryv1.Sent{Ref: ref("e1", 2)}}, delivery.Started, 1},
		"late sent after unknown":      {[]envelope.Body{hi, one, unknown, deliveryv1.Sent{Ref: ref("e1", 1)}}, delivery.Unknown, 1},
		"late unknown after deferred":  {[]envelope.Body{hi, one, deferred, unknown}, delivery.Deferred, 1},
		"late deferred, second opened": {[]envelope.Body{hi, one, unknown, started("e1", 2), deferred}, delivery.Started, 2},
		"failed with no number":        {[]envelope.Body{hi, deliveryv1.Failed{Ref: ref("e1", 0)}}, delivery.Pending, 0},
		"reset keeps":                  {[]envelope.Body{hi, one, turnv1.SessionReset{By: "m2", Text: "new"}}, delivery.Started, 1},
		"deleted drops":                {[]envelope.Body{hi, one, turnv1.SessionDeleted{}}, gone, 0},
		"outcome with nothing queued":  {[]envelope.Body{one, deliveryv1.Sent{Ref: ref("e1", 1)}}, gone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold(c.bodies...)
			head, ok := s.Head()
			if !ok {
				head.Phase = gone
			}
			if head.Phase != c.phase || head.Attempt != c.tries {
				t.Fatalf("%s, attempt %d; want %s, %d\n%+v", head.Phase, head.Attempt, c.phase, c.tries, s)
			}
		})
	}
}

func TestApplyDeletedLeavesNothing(t *testing.T) {
	s := fold(completed("a"), completed("b"), deliveryv1.Sent{Ref: ref("e1", 1)}, turnv1.SessionDeleted{})
	if !reflect.DeepEqual(s, delivery.State{Deleted: true}) {
		t.Fatalf("state after session.deleted: %+v", s)
	}
}

func TestApplyShowsADuplicateOnce(t *testing.T) {
	var s delivery.State
	keyed := func(n int, id, key string) envelope.Event {
		e := event(n, id, noticev1.Posted{Service: "tools", Text: "note"})
		e.Key = key
		return e
	}
	s = s.Apply(keyed(1, "a", "k1"))
	s = s.Apply(keyed(2, "a", "k1")) // the same event again
	s = s.Apply(keyed(3, "b", "k1")) // another event of the same fact
	s = s.Apply(keyed(4, "c", ""))
	s = s.Apply(keyed(5, "d", "")) // no key: not the same
	if len(s.Queue) != 3 {
		t.Fatalf("%d items queued, want 3: %+v", len(s.Queue), s.Queue)
	}
	s = s.Apply(event(6, "s", deliveryv1.Sent{Ref: ref("a", 1)}))
	s = s.Apply(keyed(7, "b", "k1"))
	s = s.Apply(keyed(8, "a", ""))
	if len(s.Queue) != 2 {
		t.Fatalf("a finished item came back: %+v", s.Queue)
	}
}

func TestStateIsBounded(t *testing.T) {
	var s delivery.State
	var sizes []int
	for n := range 500 {
		id := "item" + string(rune('A'+n%26)) + string(rune('A'+n/26))
		s = s.Apply(event(2*n+1, id, completed("hi")))
		s = s.Apply(event(2*n+2, id+"s", deliveryv1.Sent{Ref: ref(id, 1)}))
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(data))
	}
	if sizes[499] > sizes[100] {
		t.Fatalf("a state with nothing to show grew from %d to %d bytes", sizes[100], sizes[499])
	}
}
