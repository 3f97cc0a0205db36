package approval_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

const (
	home  session.ID = "main.telegram.bot.1"
	anna             = "telegram:1"
	bela             = "telegram:2"
	mal              = "telegram:666"
	ttl              = time.Hour
	epoch            = 1_800_000_000
)

var (
	start = time.Unix(epoch, 0).UTC()
	key   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
)

func rules() approval.Rules {
	return approval.Rules{
		TTL: ttl, Approvers: []string{anna, bela},
		Sign: func(id session.ID, r callv1.Request, a callv1.Approval) callv1.Approval { return a.Signed(key, id, r) },
	}
}

func request(turn, call, args string) callv1.Request {
	return callv1.Request{
		Turn: turn, Call: call, Tool: "send", Executor: "mail", Arguments: json.RawMessage(args),
		Digest: canonical.Digest([]byte(args)), ToolDigest: "t1", Level: toolv1.L2, Policy: "p1",
		Files: []callv1.File{{Path: "a", Digest: "d"}},
	}
}

func awaiting(turn, call string) callv1.Awaiting {
	return callv1.Awaiting{
		Request: request(turn, call, `{"to":"<x&y>"}`), Rule: "level L2", Why: []string{"It sends\nmail."},
		Shown: "send\nto: <x&y>", Fixed: "send to <x&y>", Grant: "g1",
	}
}

// verdict is the gate's answer when nothing has changed.
func verdict(w callv1.Awaiting) approval.Verdict {
	return approval.Verdict{Effect: approval.Ask, Request: w.Request, Shown: w.Shown, Grant: w.Grant}
}

// tale is a session whose events are folded as they come.
type tale struct {
	t      *testing.T
	state  approval.State
	now    time.Time
	cursor uint64
}

func newTale(t *testing.T) *tale {
	t.Helper()
	return &tale{t: t, now: start}
}

// say folds one event, by its wire form, with an id of its own.
func (k *tale) say(id, key string, b envelope.Body) *tale {
	k.t.Helper()
	k.cursor++
	before, _ := json.Marshal(k.state)
	old := k.state
	k.state = k.state.Apply(envelope.Event{
		ID: id, Key: key, Session: home, Cursor: k.cursor, Prev: k.cursor - 1, Time: k.now, Body: b,
	})
	if after, _ := json.Marshal(old); !bytes.Equal(before, after) {
		k.t.Fatalf("%s has changed an old state\n%s\n%s", b.EventType(), before, after)
	}
	var back approval.State
	data, err := json.Marshal(k.state)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if again, _ := json.Marshal(back); err != nil || !bytes.Equal(data, again) {
		k.t.Fatalf("the state does not survive: %v\n%s\n%s", err, data, again)
	}
	return k
}

func (k *tale) view() machine.View { return machine.View{Now: k.now, Session: home, Worker: "w"} }

// run appends what the machine wants until it wants nothing more, and returns the kinds.
func (k *tale) run(heard func(approval.Question) *approval.Verdict) (kinds []string, last machine.Step) {
	k.t.Helper()
	for range 100 {
		var v *approval.Verdict
		if heard != nil {
			for _, q := range k.state.Questions(k.view(), rules()) {
				if v = heard(q); v != nil {
					v.Submission = q.Submission
					break
				}
			}
		}
		step := k.state.Next(k.view(), rules(), v)
		a, ok := step.(machine.Append)
		if !ok {
			return kinds, step
		}
		kinds = append(kinds, envelope.KindOf(a.Body.EventType()))
		k.say(fmt.Sprintf("own%d", k.cursor+1), "", a.Body)
	}
	k.t.Fatal("it comes to no end")
	return nil, nil
}

// asked is a session with one open question.
func asked(t *testing.T) (*tale, approval.Approval) {
	t.Helper()
	k := newTale(t).say("w1", "", awaiting("m/t", "c1"))
	k.run(nil)
	a, ok := k.state.Find(approval.ID(home, "w1"))
	if !ok || !a.Asked {
		t.Fatalf("not asked: %+v", k.state)
	}
	return k, a
}

func decision(by, id string, d callv1.Decision) messagev1.Decision {
	return messagev1.Decision{From: messagev1.Sender{ID: by, Name: "local"}, Approval: id, Decision: d}
}

func unchanged(w callv1.Awaiting) func(approval.Question) *approval.Verdict {
	return func(approval.Question) *approval.Verdict { v := verdict(w); return &v }
}

func body[B envelope.Body](t *testing.T, step machine.Step) B {
	t.Helper()
	a, ok := step.(machine.Append)
	if !ok {
		t.Fatalf("no append: %#v", step)
	}
	b, ok := a.Body.(B)
	if !ok {
		t.Fatalf("appends %#v", a.Body)
	}
	return b
}
