package timeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const here = session.ID("main.telegram.mybot.12345")

var (
	noon = time.Date(2026, 9, 18, 12, 0, 0, 0, time.UTC)
	ada  = messagev1.Sender{ID: "telegram:12345", Name: "Ada"}
)

// story is a session that a test makes up.
type story struct {
	events []envelope.Event
	at     time.Time
	cursor uint64
}

func newStory() *story { return &story{at: noon, cursor: 10} }

// after lets time pass.
func (s *story) after(d time.Duration) *story {
	s.at = s.at.Add(d)
	return s
}

// add appends an event, whose id is what causes the others name.
func (s *story) add(id, cause string, body envelope.Body) *story {
	prev := uint64(0)
	if n := len(s.events); n > 0 {
		prev = s.events[n-1].Cursor
	}
	s.cursor++
	s.events = append(s.events, envelope.Event{
		ID: id, Session: here, Cursor: s.cursor, Prev: prev, Cause: cause, Source: "test/1", Time: s.at, Body: body,
	})
	return s
}

func (s *story) says(id, text string) *story {
	return s.add(id, "", messagev1.Received{From: ada, Text: text})
}

func (s *story) claim(turn string, round, attempt int, messages ...string) turnv1.Claim {
	return turnv1.Claim{
		Turn: turn, Round: round, Attempt: attempt, Worker: fmt.Sprint("W", attempt), Deadline: s.at.Add(time.Minute), Messages: messages,
	}
}

func outcome(turn string, round, attempt int) turnv1.Outcome {
	return turnv1.Outcome{
		Turn: turn, Round: round, Attempt: attempt, Model: "local/qwen3",
		Usage: turnv1.Usage{Input: 800, Output: 40, Cost: 1_200_000, Priced: true},
	}
}

func request(turn, call, tool, executor, args string, level toolv1.Level) callv1.Request {
	return callv1.Request{
		Turn: turn, Call: call, Tool: tool, Executor: executor, Arguments: json.RawMessage(args), Level: level, Policy: "p1-1",
	}
}

const second = time.Second

// stories have all kinds of events.
var stories = map[string]struct {
	build func() *story
	later time.Duration // after the last event, it is explained
}{
	"answered":    {answered, time.Minute},
	"fallback":    {fallback, time.Minute},
	"parked":      {parked, time.Hour},
	"approved":    {approved, time.Minute},
	"questioned":  {questioned, time.Minute},
	"refusals":    {refusals, time.Minute},
	"deferred":    {deferred, 10 * second},
	"asking":      {asking, 20 * second},
	"stopped":     {stopped, time.Minute},
	"memory":      {memory, time.Hour},
	"outside":     {outside, time.Hour},
	"access":      {access, time.Hour},
	"deleted":     {deleted, time.Hour},
	"forked":      {forked, time.Hour},
	"holed":       {holed, time.Minute},
	"executor":    {executor, 3 * time.Hour},
	"not-begun":   {func() *story { return newStory().says("m1", "anybody there?") }, 2 * time.Hour},
	"two-in-one":  {twoInOne, time.Minute},
	"compacting":  {compacting, 5 * second},
	"tool-unsure": {toolUnsure, time.Minute},
}

func answered() *story {
	s := newStory().says("m1", "What is the weather\nin Zürich?").after(2 * time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(1200 * time.Millisecond)
	s.add("c1", "t1", turnv1.Completed{Outcome: outcome("m1/t", 1, 1), Answers: []string{"m1"}, Text: "Sunny, 21 °C."}).after(time.Millisecond)
	s.add("d1", "c1", deliveryv1.Started{Ref: deliveryv1.Ref{Delivery: "c1", Attempt: 1}, Worker: "W1", Deadline: s.at}).after(300 * time.Millisecond)
	return s.add("d2", "d1", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "c1", Attempt: 1}, Receipt: "815"})
}

func fallback() *story {
	s := newStory().says("m1", "hello").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(70 * second)
	s.add("t2", "t1", turnv1.Resumed{Claim: s.claim("m1/t", 1, 2, "m1"), From: "W1"}).after(3 * second)
	o := outcome("m1/t", 1, 2)
	o.Tried = []turnv1.Try{{Model: "claude/opus", Cause: turnv1.ModelUnavailable, Detail: "HTTP 529"}}
	s.add("o1", "t2", turnv1.Overflowed{Outcome: o, Tokens: 9000, Detail: "maximum context length is 8192 tokens"}).after(time.Millisecond)
	s.add("t3", "o1", turnv1.Continued{Claim: s.claim("m1/t", 2, 1, "m1")}).after(second)
	f := outcome("m1/t", 2, 1)
	f.Usage = turnv1.Usage{Input: 12}
	return s.add("f1", "t3", turnv1.Failed{
		Outcome: f, Answers: []string{"m1"}, Cause: turnv1.ModelUnavailable,
		Text: "The model could not be reached.", Detail: "dial tcp 127.0.0.1:8080: connection refused",
	})
}

func parked() *story {
	s := newStory().says("m1", "clean up, please").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(2 * second)
	s.add("s1", "t1", turnv1.Stepped{Outcome: outcome("m1/t", 1, 1), Text: "I look.", Calls: []turnv1.Call{
		{ID: "c1", Tool: "shell", Arguments: json.RawMessage(`{"command":"rm -r <old>"}`)},
	}}).after(time.Millisecond)
	r := request("m1/t", "c1", "shell", "builtin", `{"command":"rm -r \u003cold\u003e"}`, toolv1.L3)
	s.add("w1", "s1", callv1.Awaiting{Request: r, Rule: "level L3", Why: []string{"It removes files."}}).after(time.Millisecond)
	s.add("a1", "w1", approvalv1.Requested{
		Approval: approvalID("w1"), Request: r, Why: []string{"It removes files."}, Approvers: []string{"local"}, Expires: s.at.Add(24 * time.Hour), Text: "May I?",
	}).after(time.Millisecond)
	s.add("d1", "a1", deliveryv1.Started{Ref: deliveryv1.Ref{Delivery: "a1", Attempt: 1}, Worker: "W1", Deadline: s.at}).after(200 * time.Millisecond)
	return s.add("d2", "d1", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "a1", Attempt: 1}, Receipt: "816"})
}

func approved() *story {
	s := parked().after(12 * second)
	s.add("p1", "", messagev1.Decision{From: ada, Approval: approvalID("w1"), Decision: callv1.AllowOnce, Button: true}).after(time.Millisecond)
	r := request("m1/t", "c1", "shell", "builtin", `{"command":"rm old"}`, toolv1.L3)
	s.add("a2", "p1", approvalv1.Decided{
		Ref:    approvalv1.Ref{Approval: approvalID("w1"), Turn: "m1/t", Call: "c1"},
		Answer: callv1.Approval{ID: approvalID("w1"), Decision: callv1.AllowOnce, By: "telegram:12345"}, Edited: &r, Answers: []string{"p1"}, Text: "Allowed.",
	}).after(time.Millisecond)
	s.add("x1", "a2", callv1.Dispatched{Request: r, Rule: "approval"}).after(40 * time.Millisecond)
	s.add("x2", "x1", callv1.Started{Executor: "builtin", Turn: "m1/t", Call: "c1", Attempt: 1, Worker: "W1", Deadline: s.at.Add(time.Minute)}).
		after(340 * time.Millisecond)
	s.add("x3", "x2", callv1.Completed{Executor: "builtin", Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: "removed\nold", Attempt: 1}).after(time.Millisecond)
	s.add("t2", "x3", turnv1.Continued{Claim: s.claim("m1/t", 2, 1, "m1")}).after(time.Millisecond)
	s.add("g1", "t2", deliveryv1.Drafting{Turn: "m1/t", Round: 2, Worker: "W1", Deadline: s.at.Add(second)}).after(100 * time.Millisecond)
	s.add("g2", "g1", deliveryv1.Drafted{Turn: "m1/t", Round: 2, Receipt: "817"}).after(second)
	s.add("e1", "t2", turnv1.Completed{Outcome: outcome("m1/t", 2, 1), Answers: []string{"m1"}, Text: "Done."}).after(time.Millisecond)
	s.add("d3", "a2", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "a2", Attempt: 1}})
	return s.add("d4", "e1", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "e1", Attempt: 1}, Receipt: "817"})
}

// questioned has a call that asks a person something, and is in the middle of it still.
func questioned() *story {
	s := newStory().says("m1", "book a table").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(2 * second)
	s.add("s1", "t1", turnv1.Stepped{Outcome: outcome("m1/t", 1, 1), Calls: []turnv1.Call{{ID: "c1", Tool: "inn__book", Arguments: json.RawMessage(`{}`)}}}).
		after(time.Millisecond)
	r := request("m1/t", "c1", "inn__book", "mcp-inn", `{}`, toolv1.L1)
	s.add("x1", "s1", callv1.Dispatched{Request: r, Rule: "level L1"}).after(40 * time.Millisecond)
	s.add("x2", "x1", callv1.Started{Executor: "mcp-inn", Turn: "m1/t", Call: "c1", Attempt: 1, Worker: "W1", Deadline: s.at.Add(10 * time.Minute)}).
		after(340 * time.Millisecond)
	q := request("m1/t", "c1", "inn__book", "mcp-inn", `{"when":"20:00"}`, toolv1.L2)
	schema, why := json.RawMessage(`{"type":"object","properties":{"when":{"type":"string"}}}`), []string{"The MCP server inn asks, in the middle of inn__book: \"When?\""}
	s.add("q1", "x2", callv1.Asked{
		Request: q, Attempt: 1, Question: "m1/t/c1/1/1", Message: "When?", Schema: schema, Why: why, Shown: "when = \"20:00\"", Expires: s.at.Add(9 * time.Minute),
	}).after(time.Millisecond)
	return s.add("a1", "q1", approvalv1.Requested{
		Approval: approvalID("q1"), Request: q, Why: why, Approvers: []string{"local"}, Expires: s.at.Add(9 * time.Minute), Text: "When?", Schema: schema,
	})
}

func refusals() *story {
	s := newStory().says("m1", "do four things").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(second)
	s.add("s1", "t1", turnv1.Stepped{Outcome: outcome("m1/t", 1, 1), Calls: []turnv1.Call{
		{ID: "c1", Tool: "weather", Arguments: json.RawMessage(`{}`), Refusal: "weather is not offered"},
		{ID: "c2", Tool: "read_skill", Arguments: json.RawMessage(`{"name":"x"}`), Answer: "a skill"},
		{ID: "c3", Tool: "exec", Arguments: json.RawMessage(`{"command":"ls"}`)},
		{ID: "c4", Tool: "write_file", Arguments: json.RawMessage(`{"path":"a"}`)},
		{ID: "c5", Tool: "write_file", Arguments: json.RawMessage(`{"path":"b"}`)},
	}}).after(time.Millisecond)
	s.add("n3", "s1", callv1.Denied{Turn: "m1/t", Call: "c3", Reason: "no rule allows exec", Rule: "policy.deny[0]"})
	for i, call := range []string{"c4", "c5"} {
		r := request("m1/t", call, "write_file", "builtin", `{"path":"a"}`, toolv1.L2)
		park, id := "w"+call, approvalID("w"+call)
		s.add(park, "s1", callv1.Awaiting{Request: r, Rule: "level L2"})
		s.add("a"+call, park, approvalv1.Requested{Approval: id, Request: r, Approvers: []string{"local"}, Expires: s.at.Add(time.Hour), Text: "?"}).
			after(time.Hour)
		ref := approvalv1.Ref{Approval: id, Turn: "m1/t", Call: call}
		if i == 0 {
			s.add("b"+call, park, approvalv1.Expired{Ref: ref, Text: "Expired."})
		} else {
			s.add("b"+call, park, approvalv1.Voided{Ref: ref, Reason: "the policy has changed", Text: "Void."})
		}
		s.add("n"+call, "b"+call, callv1.Denied{Turn: "m1/t", Call: call, Reason: "nobody has allowed it", Rule: "approval", Approval: id})
	}
	s.after(time.Millisecond).add("f1", "nc5", turnv1.Failed{
		Outcome: turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1}, Answers: []string{"m1"}, Cause: turnv1.TooManyRounds, Text: "It led nowhere.",
	})
	return s
}

func deferred() *story {
	s := newStory().says("m1", "hi").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(second)
	s.add("e1", "t1", turnv1.Completed{Outcome: outcome("m1/t", 1, 1), Answers: []string{"m1"}, Text: "Hello."})
	ref := deliveryv1.Ref{Delivery: "e1"}
	for i := range 3 {
		ref.Attempt = i + 1
		s.after(time.Minute).add(fmt.Sprint("b", i), "e1", deliveryv1.Started{Ref: ref, Worker: "W1", Deadline: s.at.Add(time.Minute), Repeat: i == 2})
		if i == 1 {
			s.after(second).add("u1", "b1", deliveryv1.Unknown{Ref: ref, Resend: true})
			continue
		}
		s.after(second).add(fmt.Sprint("r", i), fmt.Sprint("b", i), deliveryv1.Deferred{Ref: ref, Until: s.at.Add(10 * time.Minute), Reason: "HTTP 502"})
	}
	return s.add("n1", "", noticev1.Posted{Service: "tools", Text: "The catalogue has changed."})
}

func asking() *story {
	s := answered().after(time.Minute).says("m2", "and tomorrow?").after(second)
	s.add("t2", "m2", turnv1.Started{Claim: s.claim("m2/t", 1, 1, "m2")}).after(5 * second)
	return s.says("m3", "and the day after?").says("m4", "hello?")
}

func stopped() *story {
	s := newStory().says("m1", "count to a million").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(4*second).says("m2", "are you there?").after(second)
	s.add("k1", "", messagev1.Control{From: ada, Verb: messagev1.Stop}).after(time.Millisecond)
	s.add("x1", "k1", turnv1.Cancelled{
		Turn: "m1/t", Answers: []string{"m1", "m2"}, By: "k1", Reason: turnv1.Stopped, Text: "Stopped.", Model: "local/qwen3", Usage: turnv1.Usage{Input: 500, Estimated: true},
	}).after(time.Millisecond)
	s.add("d1", "x1", deliveryv1.Failed{Ref: deliveryv1.Ref{Delivery: "x1", Attempt: 1}, Reason: "the bot was blocked by the user"})
	s.after(second).says("m3", "x").says("m4", "y").add("x2", "m4", turnv1.Cancelled{Answers: []string{"m3", "m4"}, By: "m4", Reason: turnv1.QueueFull, Text: "Too many."})
	return s.add("d2", "x2", deliveryv1.Unknown{Ref: deliveryv1.Ref{Delivery: "x2", Attempt: 1}})
}

func memory() *story {
	s := answered().after(time.Minute)
	s.add("k1", "", messagev1.Control{From: ada, Verb: messagev1.Compact}).after(time.Millisecond)
	start := turnv1.CompactionStarted{Compaction: "m1/t/c", Attempt: 1, Worker: "W1", Deadline: s.at.Add(time.Minute), Through: "m1/t", By: "k1"}
	s.add("q1", "k1", start).after(2 * second)
	s.add("q2", "q1", turnv1.CompactionFailed{Compaction: "m1/t/c", Attempt: 1, By: "k1", Model: "local/qwen3", Cause: turnv1.ModelUnavailable, Text: "It could not be summarised.", Detail: "HTTP 503"}).after(second)
	s.add("k2", "", messagev1.Control{From: ada, Verb: messagev1.Compact}).after(time.Millisecond)
	start.By = "k2"
	s.add("q3", "k2", start).after(2 * second)
	s.add("q4", "q3", turnv1.SessionCompacted{
		Compaction: "m1/t/c", Attempt: 1, By: "k2", Through: "m1/t", Turns: 1, Summary: "They spoke of the weather.", Model: "local/qwen3",
		Usage: turnv1.Usage{Input: 300, Output: 30}, Text: "1 turn is summarised.",
	}).after(second)
	s.add("k3", "", messagev1.Control{From: ada, Verb: messagev1.Model, Argument: "claude/opus"}).after(time.Millisecond)
	s.add("c3", "k3", turnv1.SessionConfigured{By: "k3", Setting: turnv1.ModelSetting, Value: "claude/opus", Text: "As you like."}).after(time.Millisecond)
	s.add("c4", "k3", turnv1.SessionConfigured{By: "k3", Setting: turnv1.QueueSetting, Text: "As you like."}).after(time.Millisecond)
	s.add("k4", "", messagev1.Control{From: ada, Verb: messagev1.New}).after(time.Millisecond)
	s.add("r4", "k4", turnv1.SessionReset{By: "k4", Text: "A new beginning."}).after(time.Millisecond)
	s.add("k5", "", messagev1.Control{From: ada, Verb: messagev1.Status}).after(time.Millisecond)
	s.add("n5", "k5", noticev1.Posted{Service: "turns", Text: "Nothing is going on.", Answers: []string{"k5"}})
	for i, id := range []string{"q2", "q4", "c3", "c4", "r4", "n5"} {
		s.add(fmt.Sprint("dd", i), id, deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: id, Attempt: 1}, Receipt: fmt.Sprint(820 + i)})
	}
	return s
}

// outside has what people and channels do beside messages, and what nobody can read.
func outside() *story {
	s := newStory()
	s.add("m1", "", messagev1.Received{
		From: ada, Text: "look \x1b[31mhere", Native: "5", Forwarded: "Grace", Files: []messagev1.File{{Kind: messagev1.Photo, Name: "sky.png"}},
	}).after(second)
	s.add("e1", "", messagev1.Edited{Message: "m1", From: ada, Text: "look there"}).after(second)
	s.add("r1", "", messagev1.Reacted{From: ada, Native: "5", Emoji: []string{"👍"}})
	s.add("o1", "", noticev1.Posted{Service: "outbox", Text: "May I run the tests?", By: "mcp:claude-code", Permission: &noticev1.Permission{
		Request: "abcde", Tool: "Bash", Expires: noon.Add(time.Hour),
	}})
	s.add("o2", "", messagev1.PermissionAnswer{From: ada, Request: "abcde", Allow: true})
	s.add("r2", "", messagev1.Reacted{From: ada, Native: "5", Removed: []string{"👍"}})
	s.add("f1", "", messagev1.Refused{From: ada, Reason: messagev1.TooLarge, Detail: "send at most 65536", Bytes: 70000, Tell: true})
	s.add("q1", "", messagev1.Quarantined{Channel: "telegram", Account: "mybot", Source: "900001", Reason: "message.date is a string", Bytes: 14, Data: "{}"})
	s.add("u1", "m1", envelope.Unknown{Type: "turn.pondered.v2", Data: []byte(`{}`), Err: errors.New(`unknown event type "turn.pondered.v2"`)})
	s.add("u2", "m1", envelope.Unknown{Type: "turn.started.v1", Data: []byte(`[]`), Err: errors.New("body of turn.started.v1: not an object")})
	s.add("p1", "", messagev1.Decision{From: ada, Decision: callv1.Deny, Reason: "not today"})
	return s.add("n1", "p1", noticev1.Posted{Service: "approvals", Text: "There is nothing to decide.", Answers: []string{"p1"}})
}

func access() *story {
	door := accessv1.Door{Channel: "telegram", Account: "mybot"}
	s := newStory().add("a1", "", accessv1.Requested{Door: door, Who: "telegram:7", Name: "Eve", Code: "K7QW2MXR", Expires: noon.Add(time.Hour)})
	s.add("a2", "a1", accessv1.Granted{Door: door, Who: "telegram:7", Name: "Eve", Owner: true, By: "local"})
	s.add("a3", "a1", accessv1.Revoked{Door: door, Who: "telegram:7", By: "local"})
	return s.add("a4", "", accessv1.Moved{Door: door, From: "-777", To: "-100777"})
}

// deleted begins with a tombstone below which all was purged, and has another that was not followed by a purge.
func deleted() *story {
	s := newStory().add("x1", "", turnv1.SessionDeleted{By: "retention", Events: 12, Archive: "one.jsonl.gz", Spent: []turnv1.Spend{
		{Day: "2026-09-01", Model: "local/qwen3", Calls: 3, Input: 900, Output: 90, Cost: 5_000_000},
	}})
	s.events[0].Prev = 4
	s.after(time.Minute).says("m1", "again").add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(second)
	return s.add("x2", "", turnv1.SessionDeleted{By: "cli"})
}

func forked() *story {
	s := newStory().add("f1", "", turnv1.Forked{
		From: "main.telegram.mybot.9", At: 44, By: "cli", Model: "claude/opus", Edited: &turnv1.Edit{Cursor: 41, Kind: "message.received"},
		Events: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{}`)},
	})
	s.after(second).says("m1", "and now?")
	return s.after(time.Millisecond).add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")})
}

// holed has lost what came between the claim of a call and its result, and its beginning.
func holed() *story {
	s := approved()
	gone := s.events[10]
	s.events = append(s.events[1:10:10], s.events[11:]...)
	if gone.ID != "x2" {
		panic(gone.ID)
	}
	return s
}

func executor() *story {
	s := newStory().says("m1", "list files").after(time.Millisecond)
	s.add("t1", "m1", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1")}).after(second)
	s.add("s1", "t1", turnv1.Stepped{Outcome: outcome("m1/t", 1, 1), Calls: []turnv1.Call{
		{ID: "c1", Tool: "list", Arguments: json.RawMessage(`{}`)},
		{ID: "c2", Tool: "web_fetch", Arguments: json.RawMessage(`{"url":"x"}`)},
		{ID: "c3", Tool: "read_file", Arguments: json.RawMessage(`{}`)},
	}})
	s.add("x1", "s1", callv1.Dispatched{Request: request("m1/t", "c1", "list", "files", `{}`, toolv1.L0), Rule: "level L0"})
	s.add("x2", "s1", callv1.Dispatched{Request: request("m1/t", "c2", "web_fetch", "builtin", `{"url":"x"}`, toolv1.L0), Rule: "level L0"}).after(second)
	return s.add("y2", "x2", callv1.Started{Executor: "builtin", Turn: "m1/t", Call: "c2", Attempt: 1, Worker: "W1", Deadline: s.at.Add(4 * time.Hour)})
}

func twoInOne() *story {
	s := newStory().says("m1", "one").after(second).says("m2", "two").after(3 * second)
	s.add("t1", "m2", turnv1.Started{Claim: s.claim("m1/t", 1, 1, "m1", "m2")}).after(second)
	return s.add("e1", "t1", turnv1.Completed{Outcome: outcome("m1/t", 1, 1), Answers: []string{"m1", "m2"}, Text: ""})
}

func compacting() *story {
	s := memory()
	s.says("m9", "once more").add("t9", "m9", turnv1.Started{Claim: s.claim("m9/t", 1, 1, "m9")})
	s.add("e9", "t9", turnv1.Completed{Outcome: outcome("m9/t", 1, 1), Answers: []string{"m9"}, Text: "Yes."})
	s.add("d9", "e9", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "e9", Attempt: 1}})
	return s.add("q9", "e9", turnv1.CompactionStarted{Compaction: "m9/t/c", Attempt: 1, Worker: "W1", Deadline: s.at.Add(time.Minute), Through: "m9/t"})
}

func toolUnsure() *story {
	s := executor().after(time.Minute)
	s.add("z2", "y2", callv1.Completed{Executor: "builtin", Turn: "m1/t", Call: "c2", Outcome: callv1.Unknown, Content: "its worker died", Attempt: 1})
	s.add("k1", "", messagev1.Control{From: ada, Verb: messagev1.Stop})
	r := request("m1/t", "c3", "read_file", "builtin", `{}`, toolv1.L2)
	s.add("w3", "s1", callv1.Awaiting{Request: r, Rule: "level L2"})
	s.add("a3", "w3", approvalv1.Requested{Approval: approvalID("w3"), Request: r, Expires: s.at.Add(time.Hour), Text: "?"})
	s.add("v1", "k1", turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}, By: "k1", Text: "Stopped."})
	return s.add("a4", "v1", approvalv1.Cancelled{Ref: approvalv1.Ref{Approval: approvalID("w3"), Turn: "m1/t", Call: "c3"}})
}
