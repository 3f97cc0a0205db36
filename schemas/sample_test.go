package schemas_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

var (
	at       = time.Date(2026, 9, 18, 10, 20, 30, 123456789, time.UTC)
	deadline = at.Add(90 * time.Second)
	sender   = messagev1.Sender{ID: "telegram:12345", Name: "Ada <ada@example.org>"}
	claim    = turnv1.Claim{Turn: "m1/t", Round: 1, Attempt: 2, Worker: "W7kq2nRz", Deadline: deadline, Messages: []string{"m1", "m2"}}
	outcome  = turnv1.Outcome{Turn: "m1/t", Round: 1, Attempt: 2, Model: "local/qwen3", Usage: usage, Tried: []turnv1.Try{
		{Model: "claude/opus", Cause: turnv1.ModelUnavailable, Detail: "HTTP 529"},
	}}
	usage   = turnv1.Usage{Input: 812, Output: 42, CacheRead: 400, CacheWrite: 12, Cost: 1_234_567, Priced: true, Estimated: true}
	ref     = deliveryv1.Ref{Delivery: "e7", Attempt: 1, Part: 1}
	door    = accessv1.Door{Channel: "telegram", Account: "mybot"}
	request = callv1.Request{
		Turn: "m1/t", Call: "c1", Index: 1, Tool: "write_file", Executor: "builtin",
		Arguments: json.RawMessage(`{"content":"hello","path":"AGENTS.md"}`), Digest: "5a1d", ToolDigest: "77b2", Level: toolv1.L2,
		Policy: "p1-00c0ffee00c0ffee", Files: []callv1.File{{Path: "AGENTS.md", Digest: "e3b0"}},
	}
	answer = callv1.Approval{
		ID: "ab2c3d4e5f6", Decision: callv1.AllowAlways, By: "telegram:12345", Shown: "9f86", Expires: deadline, At: at, Grant: "2c26",
		Signature: []byte("signature"), GrantSignature: []byte("another"),
	}
	question = approvalv1.Ref{Approval: "ab2c3d4e5f6", Turn: "m1/t", Call: "c1"}
	why      = []string{"It changes AGENTS.md, which every prompt begins with."}
)

// samples has one body of each event type with every field set: a golden sample is made of it when the type is new.
// Adding a type means adding a body here and running the test with -update.
var samples = []envelope.Body{
	messagev1.Received{
		From: sender, Text: "What is the weather in Zürich?\n", Native: "815", Group: true, Forwarded: "Grace",
		Quote: &messagev1.Quote{Native: "814", From: "mybot", Own: true, Text: "Sunny, 21 °C."},
		Files: []messagev1.File{
			{
				Kind: messagev1.Video, Name: "sky.mp4", Type: "video/mp4", Size: 4711, Width: 1280, Height: 720, Seconds: 12,
				Digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Missing: "it is larger than 20 MB",
			},
		},
	},
	messagev1.Edited{Message: "m1", From: sender, Text: "What is the weather in Bern?"},
	messagev1.Refused{From: sender, Reason: messagev1.TooLarge, Detail: "the message has 70000 bytes; send at most 65536", Bytes: 70000, Tell: true},
	messagev1.Reacted{From: sender, Native: "814", Emoji: []string{"👍"}, Removed: []string{"🤔"}},
	messagev1.Quarantined{Channel: "telegram", Account: "mybot", Source: "900001", Reason: "message.date is a string", Bytes: 14, Data: `{"message":{}}`},
	accessv1.Requested{Door: door, Who: sender.ID, Name: sender.Name, Code: "K7QW2MXR", Expires: deadline},
	accessv1.Granted{Door: door, Who: sender.ID, Name: sender.Name, Owner: true, By: "local"},
	accessv1.Revoked{Door: door, Who: sender.ID, By: "local"},
	accessv1.Moved{Door: door, From: "-777", To: "-100777"},
	messagev1.Control{From: sender, Verb: messagev1.Model, Argument: "local/qwen3"},
	turnv1.Started{Claim: claim},
	turnv1.Continued{Claim: claim},
	turnv1.Resumed{Claim: claim, From: "W1aB3cD4"},
	turnv1.Stepped{Outcome: outcome, Text: "I look it up.", Calls: []turnv1.Call{
		{ID: "c1", Tool: "weather", Arguments: json.RawMessage(`{"city":"Zürich","days":[1,2]}`), Refusal: "weather is not offered", Answer: "a skill"},
	}},
	turnv1.Completed{Outcome: outcome, Answers: []string{"m1", "m2"}, Text: "Sunny, 21 °C."},
	turnv1.Failed{
		Outcome: outcome, Answers: []string{"m1"}, Cause: turnv1.ModelUnavailable,
		Text: "The model could not be reached.", Detail: "dial tcp 127.0.0.1:8080: connection refused",
	},
	turnv1.Cancelled{Turn: "m1/t", Answers: []string{"m1"}, By: "k1", Reason: turnv1.Stopped, Text: "Stopped.", Model: "local/qwen3", Usage: usage},
	turnv1.Overflowed{Outcome: outcome, Tokens: 9000, Detail: "maximum context length is 8192 tokens"},
	turnv1.CompactionStarted{Compaction: "m1/t/c", Attempt: 1, Worker: "W7kq2nRz", Deadline: deadline, Through: "m1/t", By: "k1"},
	turnv1.CompactionFailed{
		Compaction: "m1/t/c", Attempt: 1, By: "k1", Model: "local/qwen3", Usage: usage, Cause: turnv1.ModelUnavailable,
		Text: "The conversation could not be summarised; nothing was changed.", Detail: "HTTP 503",
	},
	turnv1.SessionCompacted{
		Compaction: "m1/t/c", Attempt: 1, By: "k1", Through: "m1/t", Turns: 12, Summary: "They spoke of the weather in Zürich.",
		Model: "local/qwen3", Usage: usage, Text: "12 turns are summarised.",
	},
	turnv1.SessionConfigured{By: "k1", Setting: turnv1.QueueSetting, Value: "steer", Text: "Messages are taken up at once."},
	turnv1.SessionReset{By: "k1", Text: "A new beginning."},
	turnv1.SessionDeleted{By: "retention", Events: 12, Archive: "main.http.default.one-1201.jsonl.gz", Spent: []turnv1.Spend{
		{Day: "2026-09-18", Model: "local/qwen3", Calls: 3, Input: 812, Output: 42, Cost: 12_345, Unpriced: 9, Silent: 1},
	}},
	turnv1.Forked{
		From: "main.telegram.mybot.12345", At: 812, By: "cli", Model: "local/qwen3", Edited: &turnv1.Edit{Cursor: 810, Kind: "message.received"},
		Events: []json.RawMessage{json.RawMessage(`{"cursor":810,"time":"2026-09-18T10:20:30Z","session":"main.telegram.mybot.12345",` +
			`"type":"message.received.v1","id":"m1","cause":"","prev":0,"data":{"from":{"id":"telegram:12345"},"text":"And in Bern?"}}`)},
	},
	messagev1.Decision{From: sender, Approval: "ab2c3d4e5f6", Decision: callv1.Deny, Reason: "not today", Button: true},
	messagev1.PermissionAnswer{From: sender, Request: "abcde", Notice: "e7", Allow: true},
	callv1.Dispatched{Request: request, Rule: "approval", Limit: time.Minute, Again: true, Approval: &answer, Always: &answer},
	callv1.Awaiting{
		Request: request, Rule: "level L2", Why: why, Shown: "write_file\npath: AGENTS.md", Fixed: "write_file with path = AGENTS.md", Grant: "2c26",
	},
	callv1.Denied{
		Turn: "m1/t", Call: "c1", Reason: "no rule allows weather", Rule: "policy.deny[0]", Policy: "p1-00c0ffee00c0ffee", Approval: "ab2c3d4e5f6",
	},
	callv1.Started{Executor: "builtin", Turn: "m1/t", Call: "c1", Attempt: 1, Worker: "W7kq2nRz", Deadline: deadline},
	callv1.Asked{
		Request: request, Attempt: 1, Question: "m1/t/c1/1/1", Message: "Which branch?",
		Schema: json.RawMessage(`{"properties":{"branch":{"default":"main","type":"string"}},"type":"object"}`), Why: why,
		Shown: "branch = \"main\"", Expires: deadline,
	},
	callv1.Completed{
		Executor: "builtin", Turn: "m1/t", Call: "c1", Outcome: callv1.OK, Content: `{"sky":"clear"}`,
		Attempt: 1, Untrusted: true, Private: true, Cut: 12,
		Files: []callv1.Attachment{{Name: "sky.png", Type: "image/png", Size: 4711, Digest: "e3b0"}},
	},
	approvalv1.Requested{
		Approval: "ab2c3d4e5f6", Request: request, Why: why, Shown: "write_file\npath: AGENTS.md", Fixed: "write_file with path = AGENTS.md",
		Grant: "2c26", Approvers: []string{"local", "telegram:12345"}, Expires: deadline, Text: "May I? /approve", Ways: "/approve",
		Schema: json.RawMessage(`{"type":"object"}`),
	},
	approvalv1.Decided{Via: "mcp:claude-code", Ref: question, Answer: answer, Edited: &request, Reason: "not today", Answers: []string{"k1"}, Text: "Allowed."},
	approvalv1.Expired{Ref: question, Text: "Nobody has answered."},
	approvalv1.Cancelled{Ref: question},
	approvalv1.Voided{Ref: question, Reason: "the policy has changed", Text: "This is void."},
	deliveryv1.Started{Ref: ref, Worker: "W7kq2nRz", Deadline: deadline, Repeat: true},
	deliveryv1.Sent{Ref: ref, Receipt: "4711", More: true},
	deliveryv1.Drafting{Turn: "m1/t", Round: 1, Worker: "W7kq2nRz", Deadline: deadline},
	deliveryv1.Drafted{Turn: "m1/t", Round: 1, Receipt: "4711"},
	deliveryv1.Deferred{Ref: ref, Until: deadline, Reason: "429 Too Many Requests", Untried: true},
	deliveryv1.Failed{Ref: ref, Reason: "403: the person has blocked the bot"},
	deliveryv1.Unknown{Ref: ref, Resend: true},
	noticev1.Posted{
		Service: "outbox", Text: "The journal is 90 % full.", Answers: []string{"k1"}, Quiet: true, By: "mcp:claude-code",
		Permission: &noticev1.Permission{Request: "abcde", Tool: "Bash", Description: "Run the tests", Preview: "go test ./...", Expires: at},
	},
}

// event is the whole event that a sample body is stored in.
func event(body envelope.Body) envelope.Event {
	return envelope.Event{
		ID: "e9", Session: "main.telegram.mybot.-100777_t42", Cursor: 1201, Prev: 1198, Cause: "m1", Source: "service/W7kq2nRz",
		Key: "update 42", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Time: at, Body: body,
	}
}

// A field that is not set in a sample could be renamed unseen.
func TestSamplesAreComplete(t *testing.T) {
	for _, body := range samples {
		complete(t, body.EventType(), reflect.ValueOf(body))
	}
}

func complete(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is not set", path)
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			complete(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		complete(t, path, v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			complete(t, path+"[]", v.Index(i))
		}
	}
}
