package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	at       = time.Date(2026, 9, 18, 10, 20, 30, 123456789, time.UTC)
	deadline = at.Add(90 * time.Second)
	anna     = messagev1.Sender{ID: "telegram:12345", Name: "Anna <anna@example.org>"}
	answered = []string{"m1", "m2"}
	ref      = deliveryv1.Ref{Delivery: "e7", Attempt: 2, Part: 1}
	question = approvalv1.Ref{Approval: "ab2c3d4e5f6", Turn: "m1/t", Call: "c1"}
	outcome  = turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 1, Model: "local/qwen3"}
)

const topic = session.ID("main.telegram.mybot.-100777_t42")

func requested(executor, grant string) approvalv1.Requested {
	return approvalv1.Requested{Approval: question.Approval, Request: callv1.Request{
		Turn: "m1/t", Call: "c1", Tool: "write_file", Executor: executor, Level: toolv1.L2,
		Arguments: json.RawMessage(`{"content":"a < b","path":"AGENTS.md"}`),
	}, Why: []string{"It changes AGENTS.md."}, Shown: "write_file\npath: AGENTS.md", Grant: grant, Expires: deadline}
}

func decided(d callv1.Decision, reason string) approvalv1.Decided {
	return approvalv1.Decided{Ref: question, Answer: callv1.Approval{ID: question.Approval, Decision: d, By: anna.ID}, Reason: reason}
}

// told is a body of the journal and what clients are told of it. Those without a golden file say nothing.
type told struct {
	golden   string
	body     envelope.Body
	executor string
	types    []Type
}

func (c told) events() []Event {
	return Of(envelope.Event{ID: "e9", Session: topic, Cursor: 812, Time: at, Body: c.body}, c.executor)
}

// cases has every type of the registry: a new one has to be added here, with what clients are to hear of it.
var cases = []told{
	{"message", messagev1.Received{From: anna, Text: "Is a < b?\n", Group: true, Files: make([]messagev1.File, 2)}, "", []Type{MessageType}},
	{"message_edited", messagev1.Edited{Message: "m1", From: anna, Text: "Is b < a?"}, "", []Type{MessageType}},
	{"", messagev1.Refused{From: anna, Reason: messagev1.TooLarge}, "", nil},
	{"", messagev1.Control{From: anna, Verb: messagev1.Model}, "", nil},
	{"", messagev1.Reacted{From: anna}, "", nil},
	{"", messagev1.Quarantined{Channel: "telegram"}, "", nil},
	{"", messagev1.Decision{From: anna, Approval: question.Approval, Decision: callv1.Deny}, "", nil},
	{"permission_allowed", messagev1.PermissionAnswer{From: anna, Request: "abcde", Notice: "e7", Allow: true}, "", []Type{PermissionEnd}},
	{"permission_denied", messagev1.PermissionAnswer{From: anna, Request: "abcde"}, "", []Type{PermissionEnd}},
	{"", accessv1.Requested{}, "", nil},
	{"", accessv1.Granted{}, "", nil},
	{"", accessv1.Revoked{}, "", nil},
	{"", accessv1.Moved{}, "", nil},
	{"turn_started", turnv1.Started{Claim: turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 1, Messages: answered}}, "", []Type{TurnStarted}},
	{"", turnv1.Continued{}, "", nil},
	{"", turnv1.Resumed{}, "", nil},
	{"", turnv1.Stepped{Outcome: outcome, Text: "I look it up."}, "", nil},
	{"turn_completed", turnv1.Completed{Outcome: outcome, Answers: answered, Text: "Sunny, 21 °C."}, "", []Type{MessageType, TurnCompleted}},
	{
		"turn_failed",
		turnv1.Failed{Outcome: outcome, Answers: answered, Cause: turnv1.ModelUnavailable, Text: "The model is away.", Detail: "key 1234"},
		"",
		[]Type{MessageType, TurnCompleted},
	},
	{"turn_cancelled", turnv1.Cancelled{Turn: "m1/t", Answers: answered, Reason: turnv1.Stopped, Text: "Stopped."}, "", []Type{TurnCompleted}},
	{"", turnv1.Overflowed{}, "", nil},
	{"", turnv1.CompactionStarted{}, "", nil},
	{"", turnv1.CompactionFailed{}, "", nil},
	{"", turnv1.SessionCompacted{}, "", nil},
	{"", turnv1.SessionConfigured{}, "", nil},
	{"", turnv1.SessionReset{}, "", nil},
	{"", turnv1.SessionDeleted{}, "", nil},
	{"", turnv1.Forked{}, "", nil},
	{"", callv1.Dispatched{}, "", nil},
	{"", callv1.Awaiting{}, "", nil},
	{"", callv1.Denied{}, "", nil},
	{"", callv1.Started{}, "", nil},
	{"", callv1.Asked{}, "", nil},
	{"", callv1.Completed{}, "", nil},
	{"exec_requested", requested("builtin", "2c26"), "builtin", []Type{ExecRequested}},
	{"plugin_requested", requested("mcp-files", ""), "mcp-files", []Type{PluginRequested}},
	{"exec_allowed", decided(callv1.AllowOnce, ""), "builtin", []Type{ExecResolved}},
	{"plugin_denied", decided(callv1.Deny, "not today"), "mcp-files", []Type{PluginResolved}},
	{"exec_expired", approvalv1.Expired{Ref: question, Text: "Nobody has answered."}, "builtin", []Type{ExecResolved}},
	{"plugin_cancelled", approvalv1.Cancelled{Ref: question}, "mcp-files", []Type{PluginResolved}},
	{"unknown_voided", approvalv1.Voided{Ref: question, Reason: "the policy has changed"}, "", []Type{PluginResolved}},
	{"", deliveryv1.Started{Ref: ref}, "", nil},
	{"", deliveryv1.Drafting{}, "", nil},
	{"", deliveryv1.Drafted{}, "", nil},
	{"delivery_sent", deliveryv1.Sent{Ref: ref, Receipt: "4711", More: true}, "", []Type{DeliveryType}},
	{"delivery_deferred", deliveryv1.Deferred{Ref: ref, Until: deadline, Reason: "429"}, "", []Type{DeliveryType}},
	{"delivery_failed", deliveryv1.Failed{Ref: ref, Reason: "403"}, "", []Type{DeliveryType}},
	{"delivery_unknown", deliveryv1.Unknown{Ref: ref, Resend: true}, "", []Type{DeliveryType}},
	{"notice", noticev1.Posted{Service: "outbox", Text: "The journal is 90 % full."}, "", []Type{MessageType}},
	{"", noticev1.Posted{Service: "outbox", Text: "Only for the record.", Quiet: true}, "", nil},
	{"notice_by", noticev1.Posted{Service: "outbox", Text: "Done.", By: "mcp:claude-code"}, "", []Type{MessageType}},
	{"permission", noticev1.Posted{Service: "outbox", Text: "May I?", By: "mcp:claude-code", Permission: &noticev1.Permission{
		Request: "abcde", Tool: "Bash", Description: "Run the tests", Preview: "go test ./...", Expires: deadline,
	}}, "", []Type{PermissionType}},
}

func TestOf(t *testing.T) {
	heard, listed := map[Type]bool{}, map[string]bool{}
	for _, c := range cases {
		name := c.body.EventType()
		listed[name] = true
		var types []Type
		for _, e := range c.events() {
			types, heard[e.Type] = append(types, e.Type), true
			if e.Cursor != 812 || e.Session != topic || !e.Time.Equal(at) {
				t.Errorf("%s: an event somewhere else: %+v", name, e)
			}
		}
		if !slices.Equal(types, c.types) || (c.golden == "") != (len(types) == 0) {
			t.Errorf("%s %s says %v, want %v", name, c.golden, types, c.types)
		}
		if c.golden != "" {
			compare(t, c)
		}
	}
	for _, typ := range registry.All() {
		if !listed[typ.Name] {
			t.Errorf("%s is not in the table: say what clients are told of it", typ.Name)
		}
	}
	for _, typ := range All() {
		if !heard[typ] {
			t.Errorf("nothing says %s", typ)
		}
	}
}

func compare(t *testing.T, c told) {
	t.Helper()
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c.events()); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", c.golden+".json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s: got\n%s", golden, &got)
	}
}

// TestHouse: what happens in the house's own sessions is nobody's business outside.
func TestHouse(t *testing.T) {
	for _, c := range cases {
		if got := Of(envelope.Event{Session: "main.house.x.y", Cursor: 1, Time: at, Body: c.body}, c.executor); got != nil {
			t.Errorf("%s: %+v", c.body.EventType(), got)
		}
	}
	if got := Of(envelope.Event{Session: topic, Body: envelope.Unknown{Type: "nobody.knows.v1"}}, ""); got != nil {
		t.Errorf("a type that nobody knows: %+v", got)
	}
}

func TestResolves(t *testing.T) {
	for _, c := range cases {
		id, ok := Resolves(envelope.Event{Body: c.body})
		ends := slices.Contains(c.types, ExecResolved) || slices.Contains(c.types, PluginResolved)
		if ok != ends || ok && id != question.Approval {
			t.Errorf("%s: %q, %v", c.body.EventType(), id, ok)
		}
	}
}
