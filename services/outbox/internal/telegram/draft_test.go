package telegram_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

func TestStreams(t *testing.T) {
	c := oneBot("")
	c.Bots = append(c.Bots, telegram.Bot{Account: "live", Token: "987654321:another-token-of-another-bot", Streaming: true})
	s := sender(t, t.Output(), c)
	for id, want := range map[session.ID]bool{
		"main.telegram.live.1": true, anna: false, "main.telegram.none.1": false, "main.telegram.live.x": false, "": false,
	} {
		if got := s.Streams(id); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}

// TestDraft grows in one message, wherever its text stops.
func TestDraft(t *testing.T) {
	w := start(t, plenty)
	const text = "# Title\n\nSome *words* and [a link](https://example.com/x).\n\n```go\nfunc main() {}\n```\n\nEnd 👩‍👩‍👧‍👦."
	receipt := ""
	for end := range len(text) + 1 {
		r, err := w.Draft(t.Context(), anna, receipt, text[:end])
		if err != nil || receipt != "" && r != receipt {
			t.Fatalf("%q: %q, %v", text[:end], r, err)
		}
		receipt = r
	}
	final := answer(anna, text)
	final.Draft = receipt
	w.send(t, final)
	m := w.Messages(annaChat)
	if len(m) != 1 || !strings.HasSuffix(m[0].Text, "End 👩‍👩‍👧‍👦.") {
		t.Fatalf("%+v", m)
	}
	if r := w.Report(); len(r.Refused) > r.Unmodified || r.Unmodified > 1 {
		t.Errorf("%+v", r)
	}
}

// TestLongDraft: one message, and no calls for what it cannot show.
func TestLongDraft(t *testing.T) {
	w := start(t, plenty)
	receipt, err := w.Draft(t.Context(), anna, "", strings.Repeat("word ", 2000))
	if err != nil {
		t.Fatal(err)
	}
	calls := len(w.Calls())
	for _, n := range []int{3000, 30_000} {
		if _, err := w.Draft(t.Context(), anna, receipt, strings.Repeat("word ", n)); err != nil {
			t.Fatal(err)
		}
	}
	m := w.Messages(annaChat)
	if len(m) != 1 || !strings.HasSuffix(m[0].Text, "word…") || format.Units(m[0].Text) > format.MaxUnits || len(w.Calls()) != calls {
		t.Errorf("%d messages, %d calls more: %.20q", len(m), len(w.Calls())-calls, m[0].Text)
	}
}

// TestDraftTakesWhatIsLeft: an edit that has no room is left out; the message stays one.
func TestDraftTakesWhatIsLeft(t *testing.T) {
	w := start(t, telegram.Limits{})
	receipt, err := w.Draft(t.Context(), anna, "", "0")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 500 {
		if r, err := w.Draft(t.Context(), anna, receipt, strings.Repeat("x", 1+n)); err != nil || r != receipt {
			t.Fatalf("%q, %v", r, err)
		}
	}
	if r, err := w.Draft(t.Context(), anna, "", "another"); r != "" || !channel.ErrorOf(err).Untried {
		t.Errorf("%q, %v", r, err)
	}
	final := answer(anna, "all")
	final.Draft = receipt
	w.send(t, final)
	if r := w.Report(); r.Messages != 1 || r.TooMany != 0 || r.Violations.Sum() != 0 || w.texts(annaChat)[0] != "all" {
		t.Errorf("%+v", r)
	}
}

// TestDraftFails: no new message, ever; and a 429 holds the chat for messages, too.
func TestDraftFails(t *testing.T) {
	w := start(t, plenty)
	receipt, err := w.Draft(t.Context(), anna, "", "0")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fault faketelegram.Fault
		class channel.Class
	}{
		"cut":       {faketelegram.Fault{Close: true, After: true}, channel.Retry},
		"502":       {faketelegram.Fault{Status: 502}, channel.Retry},
		"bad token": {faketelegram.Fault{Status: 401}, channel.Retry},
		"gone":      {faketelegram.Fault{Status: 400, Description: "Bad Request: message to edit not found"}, channel.Permanent},
		"blocked":   {faketelegram.Fault{Status: 403, Description: "Forbidden: bot was blocked by the user"}, channel.Permanent},
	} {
		w.Fail(c.fault)
		r, err := w.Draft(t.Context(), anna, receipt, "more: "+name)
		if e := channel.ErrorOf(err); r != receipt || err == nil || e.Class != c.class {
			t.Errorf("%s: %q, %v", name, r, err)
		}
	}
	w.Fail(faketelegram.Fault{Status: 429, RetryAfter: 60})
	if r, err := w.Draft(t.Context(), anna, receipt, "too many"); r != receipt || channel.ErrorOf(err).After != time.Minute {
		t.Errorf("%q, %v", r, err)
	}
	if e := w.fails(t, answer(anna, "x"), channel.Retry); !e.Untried {
		t.Error("the chat is not held")
	}
	if n := w.count("sendMessage"); n != 1 {
		t.Errorf("%d messages", n)
	}
	w.Fail(faketelegram.Fault{Method: "sendMessage", Close: true})
	if r, err := w.Draft(t.Context(), group, "", "x"); r != "" || channel.ErrorOf(err).Class != channel.Unknown {
		t.Errorf("a post without an answer: %q, %v", r, err)
	}
	for _, receipt := range []string{"x", "0", "1/2/3", "-4"} {
		if r, err := w.Draft(t.Context(), group, receipt, "x"); r != receipt || channel.ErrorOf(err).Class != channel.Permanent {
			t.Errorf("%q, %v", r, err)
		}
	}
}

func TestTyping(t *testing.T) {
	w := start(t, plenty)
	for id, thread := range map[session.ID]string{anna: "", topic: "42", general: "1"} {
		if err := w.Typing(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		c := w.Calls()[len(w.Calls())-1]
		if c.Method != "sendChatAction" || c.Params["action"] != "typing" || c.Params["message_thread_id"] != thread {
			t.Errorf("%+v", c)
		}
	}
	if err := w.Typing(t.Context(), "main.telegram.none.1"); channel.ErrorOf(err).Class != channel.Permanent {
		t.Error(err)
	}
	w.Fail(faketelegram.Fault{Status: 429, RetryAfter: 60})
	if err := w.Typing(t.Context(), anna); !channel.ErrorOf(err).Untried {
		t.Error(err)
	}
	if e := w.fails(t, answer(anna, "x"), channel.Retry); !e.Untried {
		t.Error("the chat is not held")
	}
}
