package conversation_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

const home = "main.telegram.bot.1"

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// event is the n-th of a session: its id is e<n>.
func event(n int, b envelope.Body) envelope.Event {
	return envelope.Event{
		ID: fmt.Sprint("e", n), Session: home, Cursor: uint64(n), Prev: uint64(n - 1), Time: epoch.Add(time.Duration(n) * time.Second), Body: b,
	}
}

func fold(bodies ...envelope.Body) conversation.State {
	var s conversation.State
	for i, b := range bodies {
		s, _ = s.Apply(event(i+1, b))
	}
	return s
}

func kinds(s conversation.State) string {
	var all []string
	for _, o := range s.Open() {
		all = append(all, o.Kind+" "+o.ID)
	}
	return strings.Join(all, ", ")
}

func outcome() turnv1.Outcome {
	return turnv1.Outcome{Turn: "t", Round: 1, Attempt: 1, Model: "m", Usage: turnv1.Usage{Input: 3, Output: 2, Cost: 7, Priced: true}}
}

func claim(round, attempt int) turnv1.Claim {
	return turnv1.Claim{Turn: "t", Round: round, Attempt: attempt, Messages: []string{"e1"}}
}

func sent(n, attempt int) deliveryv1.Sent {
	return deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: fmt.Sprint("e", n), Attempt: attempt}, Receipt: "r"}
}

func ref(n, attempt int) deliveryv1.Ref {
	return deliveryv1.Ref{Delivery: fmt.Sprint("e", n), Attempt: attempt}
}

// TestOpen: what is open after a history.
func TestOpen(t *testing.T) {
	hi, start := messagev1.Received{Text: "hi"}, turnv1.Started{Claim: claim(1, 1)}
	step := turnv1.Stepped{Outcome: outcome(), Calls: []turnv1.Call{{ID: "c1"}, {ID: "c2", Refusal: "no"}, {ID: "c3", Answer: "yes"}}}
	end := turnv1.Completed{Outcome: outcome(), Answers: []string{"e1"}, Text: "hello"}
	stop := turnv1.Cancelled{Turn: "t", Answers: []string{"e1"}, By: "e9"}
	request := callv1.Request{Turn: "t", Call: "c1"}
	parked, question := callv1.Awaiting{Request: request}, approvalv1.Requested{Approval: "a1", Request: request, Text: "May it?"}
	about := approvalv1.Ref{Approval: "a1", Turn: "t", Call: "c1"}
	type list = []envelope.Body
	for name, c := range map[string]struct {
		history list
		want    string
	}{
		"message":              {list{hi}, "message e1"},
		"turn":                 {list{hi, start}, "message e1, turn t"},
		"turn of nothing":      {list{start}, ""},
		"answer":               {list{hi, start, end}, "delivery e3"},
		"blank answer":         {list{hi, start, turnv1.Completed{Outcome: outcome(), Answers: []string{"e1"}, Text: " "}}, ""},
		"delivered":            {list{hi, start, end, sent(3, 1)}, ""},
		"stale answer":         {list{hi, start, turnv1.Resumed{Claim: claim(1, 2)}, end}, "message e1, turn t, delivery e4"},
		"second claim ignored": {list{hi, start, turnv1.Started{Claim: turnv1.Claim{Turn: "u", Round: 1, Attempt: 1, Messages: []string{"e1"}}}, end}, "delivery e4"},
		"stepped":              {list{hi, start, step}, "message e1, turn t, call c1"},
		"continued":            {list{hi, start, step, callv1.Completed{Turn: "t", Call: "c1"}, turnv1.Continued{Claim: claim(2, 1)}}, "message e1, turn t"},
		"overflowed":           {list{hi, start, turnv1.Overflowed{Outcome: outcome()}}, "message e1, turn t"},
		"denied":               {list{hi, start, step, callv1.Denied{Turn: "t", Call: "c1"}}, "message e1, turn t"},
		"cancelled":            {list{hi, start, step, stop}, "delivery e4"},
		"cancelled, call runs": {
			list{hi, start, step, callv1.Dispatched{Request: request}, callv1.Started{Turn: "t", Call: "c1", Attempt: 1}, stop, sent(6, 1)}, "call c1",
		},
		"cancelled, then the call": {
			list{hi, start, step, callv1.Dispatched{Request: request}, callv1.Started{Turn: "t", Call: "c1", Attempt: 1}, stop, sent(6, 1), callv1.Completed{Turn: "t", Call: "c1", Attempt: 1}}, "",
		},
		"result of another attempt": {
			list{hi, start, step, callv1.Dispatched{Request: request}, callv1.Started{Turn: "t", Call: "c1", Attempt: 1}, callv1.Completed{Turn: "t", Call: "c1"}}, "message e1, turn t, call c1",
		},
		"dispatched, not begun":   {list{hi, start, step, callv1.Dispatched{Request: request}, stop, sent(5, 1)}, ""},
		"parked":                  {list{hi, start, step, parked}, "message e1, turn t, call c1, approval c1"},
		"asked":                   {list{hi, start, step, parked, question}, "message e1, turn t, call c1, approval a1, delivery e5"},
		"cancelled while asked":   {list{hi, start, step, parked, question, sent(5, 1), stop, sent(7, 1)}, "approval a1"},
		"withdrawn":               {list{hi, start, step, parked, question, sent(5, 1), stop, sent(7, 1), approvalv1.Cancelled{Ref: about}}, "delivery e9"},
		"withdrawn, never shown":  {list{hi, start, step, parked, question, stop, approvalv1.Cancelled{Ref: about}}, "delivery e5, delivery e6"},
		"decided":                 {list{parked, question, sent(2, 1), approvalv1.Decided{Ref: about, Text: "Yes"}, sent(4, 1)}, ""},
		"decided, another":        {list{parked, question, sent(2, 1), approvalv1.Decided{Ref: approvalv1.Ref{Approval: "a2", Turn: "t", Call: "c1"}}}, "approval a1"},
		"expired":                 {list{parked, approvalv1.Expired{Ref: about}}, ""},
		"voided":                  {list{parked, question, approvalv1.Voided{Ref: about, Text: "Void"}}, "delivery e2, delivery e3"},
		"decision":                {list{messagev1.Decision{Approval: "a1"}}, "decision e1"},
		"decision taken":          {list{messagev1.Decision{}, approvalv1.Decided{Ref: about, Answers: []string{"e1"}}}, ""},
		"decision told":           {list{messagev1.Decision{}, noticev1.Posted{Service: "approvals", Quiet: true, Answers: []string{"e1"}}}, ""},
		"decision, other notice":  {list{messagev1.Decision{}, noticev1.Posted{Service: "intake", Quiet: true, Answers: []string{"e1"}}}, "decision e1"},
		"control":                 {list{messagev1.Control{Verb: messagev1.Status}}, "control e1"},
		"control told":            {list{messagev1.Control{Verb: messagev1.Status}, noticev1.Posted{Text: "ok", Answers: []string{"e1"}}}, "delivery e2"},
		"control reset":           {list{messagev1.Control{Verb: messagev1.New}, turnv1.SessionReset{By: "e1"}}, ""},
		"control configured":      {list{messagev1.Control{Verb: messagev1.Model}, turnv1.SessionConfigured{By: "e1"}}, ""},
		"stop carried out":        {list{messagev1.Control{Verb: messagev1.Stop}, turnv1.Cancelled{By: "e1"}}, ""},
		"new is no stop":          {list{messagev1.Control{Verb: messagev1.New}, turnv1.Cancelled{By: "e1"}}, "control e1"},
		"new taken out":           {list{messagev1.Control{Verb: messagev1.New}, turnv1.Cancelled{Answers: []string{"e1"}}, sent(2, 1)}, ""},
		"messages taken out":      {list{hi, hi, turnv1.Cancelled{Answers: []string{"e1"}}, sent(3, 1)}, "message e2"},
		"of another turn":         {list{hi, start, turnv1.Cancelled{Turn: "u", Answers: []string{"e1"}}, sent(3, 1)}, "message e1, turn t"},
		"compaction":              {list{turnv1.CompactionStarted{Compaction: "k", Attempt: 1}}, "compaction k"},
		"compacted":               {list{turnv1.CompactionStarted{Compaction: "k", Attempt: 1}, turnv1.SessionCompacted{Compaction: "k", Attempt: 1, Text: "x"}}, ""},
		"not compacted":           {list{turnv1.CompactionStarted{Compaction: "k", Attempt: 1}, turnv1.CompactionFailed{Compaction: "k", Attempt: 1}}, ""},
		"other attempt":           {list{turnv1.CompactionStarted{Compaction: "k", Attempt: 1}, turnv1.CompactionStarted{Compaction: "k", Attempt: 2}, turnv1.SessionCompacted{Compaction: "k", Attempt: 1}}, "compaction k"},
		"compaction gives way":    {list{hi, turnv1.CompactionStarted{Compaction: "k", Attempt: 1}, start}, "message e1, turn t"},
		"quiet notice":            {list{noticev1.Posted{Text: "x", Quiet: true}}, ""},
		"refused, told":           {list{messagev1.Refused{Detail: "too long", Tell: true}}, "delivery e1"},
		"refused":                 {list{messagev1.Refused{Detail: "too long"}}, ""},
		"claimed delivery":        {list{noticev1.Posted{Text: "x"}, deliveryv1.Started{Ref: ref(1, 1)}}, "delivery e1"},
		"failed delivery":         {list{noticev1.Posted{Text: "x"}, deliveryv1.Started{Ref: ref(1, 1)}, deliveryv1.Failed{Ref: ref(1, 1)}}, ""},
		"deferred":                {list{noticev1.Posted{Text: "x"}, deliveryv1.Started{Ref: ref(1, 1)}, deliveryv1.Deferred{Ref: ref(1, 1)}}, "delivery e1"},
		"unknown, again":          {list{noticev1.Posted{Text: "x"}, deliveryv1.Started{Ref: ref(1, 1)}, deliveryv1.Unknown{Ref: ref(1, 1), Resend: true}, sent(1, 1)}, "delivery e1"},
		"unknown, held":           {list{noticev1.Posted{Text: "x"}, deliveryv1.Started{Ref: ref(1, 1)}, deliveryv1.Unknown{Ref: ref(1, 1)}}, ""},
		"one part":                {list{noticev1.Posted{Text: "x"}, deliveryv1.Sent{Ref: ref(1, 1), More: true}, sent(1, 1)}, "delivery e1"},
		"all parts":               {list{noticev1.Posted{Text: "x"}, deliveryv1.Sent{Ref: ref(1, 1), More: true}, deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "e1", Attempt: 1, Part: 1}}}, ""},
		"step without a draft":    {list{hi, start, turnv1.Stepped{Outcome: outcome(), Text: "well"}}, "message e1, turn t"},
		"step with a draft":       {list{hi, start, deliveryv1.Drafting{Turn: "t", Round: 1}, turnv1.Stepped{Outcome: outcome(), Text: "well"}}, "message e1, turn t, delivery e4"},
		"draft that was not":      {list{hi, start, deliveryv1.Drafting{Turn: "t", Round: 1}, deliveryv1.Drafted{Turn: "t", Round: 1}, turnv1.Stepped{Outcome: outcome(), Text: "well"}}, "message e1, turn t"},
		"newer":                   {list{envelope.Unknown{Type: "turn.pondered.v9"}, envelope.Unknown{Type: "turn.pondered.v9"}}, "newer e1"},
		"deleted":                 {list{hi, start, envelope.Unknown{}, turnv1.SessionDeleted{}}, ""},
		"reacted, quarantined":    {list{messagev1.Reacted{}, messagev1.Quarantined{}}, ""},
		"a call nobody announced": {list{callv1.Started{Turn: "t", Call: "x", Attempt: 1}}, "call x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold(c.history...)
			if got := kinds(s); got != c.want {
				t.Errorf("open: %s; want %s", got, c.want)
			}
			if s.Quiet() != (c.want == "") {
				t.Errorf("quiet: %v", s.Quiet())
			}
		})
	}
}

// TestSummary: what a list shows.
func TestSummary(t *testing.T) {
	anna := messagev1.Sender{ID: "telegram:1", Name: "Anna"}
	s := fold(
		messagev1.Control{From: anna, Verb: messagev1.New, Argument: "keep"},
		messagev1.Received{From: anna, Text: "\n  " + strings.Repeat("ä", 100) + "\nmore"},
		turnv1.Started{Claim: turnv1.Claim{Turn: "t", Round: 1, Attempt: 1, Messages: []string{"e2"}}},
		turnv1.Stepped{Outcome: outcome(), Text: "let me see", Calls: []turnv1.Call{{ID: "c"}}},
		messagev1.Received{From: messagev1.Sender{ID: "telegram:2"}, Text: strings.Repeat("x", 1000)},
	)
	if s.Title != strings.Repeat("ä", 79)+"…" || !slices.Equal(s.Names(), []string{"Anna", "telegram:2"}) || s.Messages != 2 || s.Turns != 1 ||
		s.Calls != 1 || s.Events != 5 || s.Tokens != 5 || s.Cost != 7 || s.First != 1 || s.Last != 5 || s.Answers != 0 ||
		s.LastMessage.Cut != 600 || len(s.LastMessage.Text) != 400 || !s.Updated.Equal(epoch.Add(5*time.Second)) {
		t.Errorf("%+v, last %+v", s, s.LastMessage)
	}
	s, c := s.Apply(event(6, messagev1.Edited{Message: "e2", Text: "new title"}))
	if s.Title != "new title" || c.Edited != "e2" || c.Text != "new title" {
		t.Errorf("edited: %+v, %+v", s, c)
	}
	if s := fold(messagev1.Received{Files: []messagev1.File{{Kind: messagev1.Photo}}}); s.Title != "photo" {
		t.Errorf("title of a picture: %q", s.Title)
	}
	_, c = s.Apply(event(7, turnv1.SessionReset{}))
	if c.Message == nil || c.Message.Role != conversation.Notice || c.Message.Text == "" {
		t.Errorf("reset: %+v", c)
	}
	if s, c := s.Apply(event(8, turnv1.SessionDeleted{})); !c.Deleted || !reflect.DeepEqual(s, conversation.State{}) {
		t.Errorf("deleted: %+v, %+v", s, c)
	}
}

// TestSaidByAProgram: what a program outside says for the agent is the assistant's, a notice of jetclaw is not.
func TestSaidByAProgram(t *testing.T) {
	asks := &noticev1.Permission{Request: "abcde", Tool: "Bash"}
	for n, c := range []struct {
		b          noticev1.Posted
		role, from string
	}{
		{noticev1.Posted{Service: "outbox", Text: "done", By: "mcp:x"}, conversation.Assistant, "mcp:x"},
		{noticev1.Posted{Service: "outbox", Text: "may I?", By: "mcp:x", Permission: asks}, conversation.Assistant, "mcp:x"},
		{noticev1.Posted{Service: "turns", Text: "ok"}, conversation.Notice, ""},
	} {
		s, change := conversation.State{}.Apply(event(n+1, c.b))
		if m := change.Message; m == nil || m.Role != c.role || m.From != c.from || m.Text != c.b.Text || s.LastMessage.Role != c.role {
			t.Errorf("%+v: %+v", c.b, m)
		}
		if want := fmt.Sprintf("delivery e%d", n+1); kinds(s) != want {
			t.Errorf("%+v: %s is open, want %s", c.b, kinds(s), want)
		}
	}
	s, change := conversation.State{}.Apply(event(1, messagev1.PermissionAnswer{Request: "abcde", Allow: true}))
	if change.Message != nil || !s.Quiet() {
		t.Errorf("the answer: %+v, %+v", change, s)
	}
}

func TestDuplicates(t *testing.T) {
	var s conversation.State
	for n := 1; n <= 2; n++ {
		ev := event(n, messagev1.Received{Text: "hi"})
		ev.Key = "k"
		s, _ = s.Apply(ev)
	}
	if s.Messages != 1 || kinds(s) != "message e1" {
		t.Errorf("the same fact twice: %d, %s", s.Messages, kinds(s))
	}
}

// TestFork: what waits for an answer in the past waits in the fork; nothing else does.
func TestFork(t *testing.T) {
	var lines []json.RawMessage
	for i, b := range []envelope.Body{
		messagev1.Received{From: messagev1.Sender{ID: "local"}, Text: "hi"},
		turnv1.Started{Claim: claim(1, 1)},
		turnv1.Stepped{Outcome: outcome(), Calls: []turnv1.Call{{ID: "c1"}}},
		noticev1.Posted{Text: "x"},
		messagev1.Control{Verb: messagev1.Status},
		messagev1.Received{Text: "second"},
	} {
		line, err := envelope.LineOf(event(i+1, b))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	ev := event(1, turnv1.Forked{From: "main.telegram.bot.0", At: 6, Events: lines})
	ev.ID, ev.Cursor = "f", 100
	s, c := conversation.State{}.Apply(ev)
	if s.ForkOf != "main.telegram.bot.0" || s.ForkAt != 6 || s.Title != "hi" || kinds(s) != "message e1, turn t, message e6" || s.Messages != 0 ||
		s.Tokens != 0 || s.First != 100 || c.Message == nil || c.Message.Cursor != 100 {
		t.Errorf("%+v, %s, %+v", s, kinds(s), c)
	}
	s, _ = s.Apply(event(101, turnv1.Continued{Claim: claim(2, 1)}))
	o := outcome()
	o.Round = 2
	s, _ = s.Apply(event(102, turnv1.Completed{Outcome: o, Answers: []string{"e1", "e6"}, Text: "done"}))
	if kinds(s) != "delivery e102" {
		t.Errorf("answered: %s", kinds(s))
	}
}
