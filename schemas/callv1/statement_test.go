package callv1_test

import (
	"crypto/ed25519"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
)

const here = session.ID("main.terminal.local.default")

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte{31: seed})
}

func public(seed byte) ed25519.PublicKey { return key(seed).Public().(ed25519.PublicKey) }

func request() callv1.Request {
	args := json.RawMessage(`{"content":"a < b && c > d","path":"AGENTS.md"}`)
	return callv1.Request{
		Turn: "m1/t", Call: "c1", Index: 1, Tool: "write_file", Executor: "builtin", Arguments: args, Digest: canonical.Digest(args),
		ToolDigest: "77b2", Level: toolv1.L2, Policy: "p1-1", Files: []callv1.File{{Path: "AGENTS.md", Digest: "e3b0"}},
	}
}

func approval() callv1.Approval {
	at := time.Date(2026, 9, 18, 10, 20, 30, 5, time.FixedZone("x", 3600))
	return callv1.Approval{
		ID: "a1", Decision: callv1.AllowAlways, By: "telegram:12345", Shown: "9f86", Expires: at.Add(time.Hour), At: at, Grant: "2c26",
	}
}

func TestASignatureHoldsForOneRequest(t *testing.T) {
	r := request()
	a := approval().Signed(key(1), here, r)
	if !a.Verify(public(1), here, r) || !a.VerifyGrant(public(1), here, "77b2") {
		t.Fatal("its own signature does not hold")
	}
	raw, err := json.Marshal(callv1.Dispatched{Request: r, Approval: &a})
	var back callv1.Dispatched
	if err != nil || json.Unmarshal(raw, &back) != nil || !back.Approval.Verify(public(1), here, back.Request) {
		t.Fatal("it does not hold once it was written down")
	}
	if a.Verify(public(2), here, r) || a.Verify(nil, here, r) || a.Verify(public(1), "main.terminal.local.other", r) ||
		a.VerifyGrant(public(2), here, "77b2") || a.VerifyGrant(public(1), "main.terminal.local.other", "77b2") ||
		a.VerifyGrant(public(1), here, "77b3") {
		t.Error("it holds with another key, or elsewhere")
	}
	wider := a
	wider.Grant = "2c27"
	if wider.VerifyGrant(public(1), here, "77b2") {
		t.Error("it holds for something else")
	}
	swapped := r
	swapped.Arguments = json.RawMessage(`{"path":"SOUL.md"}`) // under the old digest
	if a.Verify(public(1), here, swapped) {
		t.Error("it holds for other arguments")
	}
}

// Every field of both is bound: one that is added later and forgotten in the statement fails here.
func TestEveryFieldIsBound(t *testing.T) {
	signed := approval().Signed(key(1), here, request())
	for _, field := range reflect.VisibleFields(reflect.TypeFor[callv1.Request]()) {
		r := request()
		change(reflect.ValueOf(&r).Elem().FieldByIndex(field.Index))
		if signed.Verify(public(1), here, r) {
			t.Errorf("request.%s can be changed", field.Name)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[callv1.Approval]()) {
		if field.Name == "GrantSignature" {
			continue
		}
		a := signed
		change(reflect.ValueOf(&a).Elem().FieldByIndex(field.Index))
		if a.Verify(public(1), here, request()) {
			t.Errorf("approval.%s can be changed", field.Name)
		}
	}
}

func change(v reflect.Value) {
	switch x := v.Interface().(type) {
	case string:
		v.SetString(x + "x")
	case callv1.Decision:
		v.SetString(string(callv1.AllowOnce))
	case int:
		v.SetInt(int64(x) + 1)
	case toolv1.Level:
		v.SetInt(int64(x) + 1)
	case json.RawMessage:
		v.SetBytes([]byte(`{}`))
	case []byte:
		v.SetBytes(append([]byte{x[0] ^ 1}, x[1:]...))
	case []callv1.File:
		v.Set(reflect.ValueOf(append([]callv1.File{{Path: "x"}}, x...)))
	case time.Time:
		v.Set(reflect.ValueOf(x.Add(time.Nanosecond)))
	default:
		panic("teach this test to change a " + v.Type().String())
	}
}

func TestWhatAllowsNothing(t *testing.T) {
	late := approval()
	late.At = late.Expires // at this instant it is expired
	denied := approval()
	denied.Decision = callv1.Deny
	for name, a := range map[string]callv1.Approval{"late": late, "denied": denied} {
		if a.Signed(key(1), here, request()).Verify(public(1), here, request()) {
			t.Errorf("%s: it allows the call", name)
		}
	}
	once := approval()
	once.Decision = callv1.AllowOnce
	if once.Signed(key(1), here, request()).VerifyGrant(public(1), here, "77b2") {
		t.Error("once is taken for always")
	}
}
