package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const approval = "abcdefghij2"

// prompt has the bot send a message that a person can tap on.
func prompt(t *testing.T, s *faketelegram.Server, chat int64) int {
	t.Helper()
	c, err := botapi.New(botapi.Config{Token: faketelegram.DefaultToken, APIRoot: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id, err := c.SendMessage(t.Context(), botapi.Send{Chat: chat, Text: "May I?", Buttons: [][]botapi.Button{{{Text: "Yes", Data: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return int(id)
}

func answer(t *testing.T, s *faketelegram.Server, id string) faketelegram.Answer {
	t.Helper()
	var a faketelegram.Answer
	until(t, s, "an answer to the tap", func(s *faketelegram.Server) (ok bool) { a, ok = s.Answer(id); return ok })
	return a
}

func TestTaps(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.policy = access.Policy{Mode: access.Allowlist, Allow: []int64{ann.ID}}
	var reply atomic.Pointer[wire.Reply]
	h.reply = func(r wire.ReplyRequest) (wire.Reply, error) {
		if r.Session != annSession || r.Until != wire.UntilAnswer || r.WaitMS != brisk().Answer.Milliseconds() || r.MessageID == "" {
			t.Errorf("asked with %+v", r)
		}
		return *reply.Load(), nil
	}
	run(t, h, s.URL())
	s.AddChat("", faketelegram.Private(ann))
	s.AddChat("", faketelegram.Private(bob))
	m := prompt(t, s, ann.ID)
	for i, tc := range []struct {
		decision callv1.Decision
		reply    wire.Reply
		verb     messagev1.Verb
		argument string
		text     string
		alert    bool
	}{
		{callv1.AllowOnce, wire.Reply{Status: wire.Completed, Text: "Allowed.\nIt runs now.", Decision: callv1.AllowOnce}, messagev1.Approve, approval, "Allowed.", false},
		{callv1.AllowAlways, wire.Reply{Status: wire.Completed, Text: "Somebody was first.", Decision: ""}, messagev1.Approve, approval + " always", "Somebody was first.", true},
		{callv1.Deny, wire.Reply{Status: wire.Pending}, messagev1.Deny, approval, taken, false},
		{callv1.Deny, wire.Reply{Status: wire.Completed, Decision: callv1.Deny, Text: strings.Repeat("é", 300)}, messagev1.Deny, approval, strings.Repeat("é", 200), false},
	} {
		reply.Store(&tc.reply)
		id := s.Tap(ann.ID, m, approvalv1.Button{Approval: approval, Decision: tc.decision}.Data(), ann)
		r := h.waitFor(t, i+1)[i]
		if r.Verb != tc.verb || string(r.Argument) != tc.argument || !r.Button || r.Session != annSession || r.From.ID != "telegram:1001" || r.Key != "tg.123456789.c"+id {
			t.Errorf("%+v", r)
		}
		if a := answer(t, s, id); a.Alert != tc.alert || !strings.HasPrefix(a.Text, strings.TrimSuffix(tc.text, "é")) {
			t.Errorf("answer %+v, want %q", a, tc.text)
		}
	}
	// What is no button of ours, in its one form.
	for _, data := range []string{"x", "ap:allow-once:", "ap:allow-once:abcdefghij2 always", "ap:deny:no id", "ap:maybe:" + approval} {
		if a := answer(t, s, s.Tap(ann.ID, m, data, ann)); a.Text != unused || a.Alert {
			t.Errorf("%q: %+v", data, a)
		}
	}
	// Somebody who is not let in.
	data := approvalv1.Button{Approval: approval, Decision: callv1.AllowOnce}.Data()
	if a := answer(t, s, s.Tap(bob.ID, prompt(t, s, bob.ID), data, bob)); a.Text != notIn || !a.Alert {
		t.Errorf("a stranger: %+v", a)
	}
	// One who is somebody else in the chat.
	if a := answer(t, s, s.Tap(ann.ID, m, data, bob)); a.Text != notIn || !a.Alert {
		t.Errorf("another's chat: %+v", a)
	}
	confirmed(t, s)
	if n := len(h.waitFor(t, 4)); n != 4 {
		t.Errorf("%d requests", n)
	}
	// The tap comes again: it is known.
	s.Replay("", 12)
	s.Say("", faketelegram.Private(ann), ann, "end")
	h.wait(t, "the end", func() bool { return h.requests[len(h.requests)-1].Text == "end" })
	if n := len(h.waitFor(t, 5)); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// A stranger's tap at a door with pairing tells the code, and nothing is submitted.
func TestTapOfSomebodySentAway(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.policy = access.Policy{Mode: access.Pairing}
	run(t, h, s.URL())
	s.AddChat("", faketelegram.Private(bob))
	a := answer(t, s, s.Tap(bob.ID, prompt(t, s, bob.ID), "x", bob))
	if !strings.Contains(a.Text, "ABCDEFGH") || !a.Alert || len(h.texts("")) != 0 {
		t.Errorf("%+v, %v", a, h.texts(""))
	}
}

// The gate's refusal is what the person is told; what cannot be answered is left.
func TestTapRefused(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	var refuse atomic.Bool
	refuse.Store(true)
	h.judge = func(access.Attempt) error {
		if refuse.Load() {
			h.submitFails(fault.New(fault.NotFound, "there is nothing to decide"))
		} else {
			h.submitFails(nil)
		}
		return nil
	}
	h.reply = func(wire.ReplyRequest) (wire.Reply, error) { return wire.Reply{}, fault.New(fault.Timeout, "no") }
	run(t, h, s.URL())
	s.AddChat("", faketelegram.Private(ann))
	m := prompt(t, s, ann.ID)
	data := approvalv1.Button{Approval: approval, Decision: callv1.AllowOnce}.Data()
	if a := answer(t, s, s.Tap(ann.ID, m, data, ann)); a.Text != "there is nothing to decide" || !a.Alert {
		t.Errorf("%+v", a)
	}
	refuse.Store(false)
	if a := answer(t, s, s.Tap(ann.ID, m, data, ann)); a.Text != taken || a.Alert {
		t.Errorf("%+v", a)
	}
	// A query that is too old, and one of an inline message: nothing is retried, nothing is submitted.
	s.Inject(json.RawMessage(`{"callback_query":{"id":"1","from":{"id":1001},"data":"` + data + `"}}`))
	s.Inject(json.RawMessage(`{"callback_query":{"id":"2","from":{"id":1001},"data":"x","message":{"message_id":5,"date":0,"chat":{"id":1001,"type":"private"}}}}`))
	until(t, s, "both are answered once", func(s *faketelegram.Server) bool {
		n := 0
		for _, c := range s.Calls() {
			if c.Method == "answerCallbackQuery" && c.Status == 400 {
				n++
			}
		}
		return n == 2
	})
	confirmed(t, s)
	if n := len(h.waitFor(t, 1)); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// submitFails is called with mu held.
func (h *house) submitFails(err error) {
	h.submit = nil
	if err != nil {
		h.submit = func(context.Context, wire.Request) error { return err }
	}
}

// TestReactsToWhatIsPassedOn: nothing else is said to an answer to a program's question; to other messages nothing is shown.
func TestReactsToWhatIsPassedOn(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.passes = "yes abcde"
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "hello")
	id := s.Say("", faketelegram.Private(ann), ann, "yes abcde")
	reactions := func(s *faketelegram.Server) (all []faketelegram.Call) {
		for _, c := range s.Calls() {
			if c.Method == "setMessageReaction" {
				all = append(all, c)
			}
		}
		return all
	}
	until(t, s, "a reaction", func(s *faketelegram.Server) bool { return len(reactions(s)) > 0 })
	got := reactions(s)
	if len(got) != 1 || got[0].Status != 200 || got[0].Chat != ann.ID || got[0].Params["message_id"] != strconv.Itoa(id) {
		t.Errorf("%+v, the message is %d", got, id)
	}
}
