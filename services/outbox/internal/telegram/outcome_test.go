package telegram_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram"
)

func oneBot(url string) telegram.Config {
	return telegram.Config{Limits: plenty, Bots: []telegram.Bot{{Account: "mybot", Token: faketelegram.DefaultToken, APIRoot: url}}}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		fault   faketelegram.Fault
		send    channel.Class // of a new message
		edit    channel.Class // of an edit
		after   time.Duration
		untried bool
		reason  string
	}{
		"closed before":  {faketelegram.Fault{Close: true}, channel.Unknown, channel.Retry, 0, false, ""},
		"closed after":   {faketelegram.Fault{Close: true, After: true}, channel.Unknown, channel.Retry, 0, false, ""},
		"garbage":        {faketelegram.Fault{Garbage: true}, channel.Unknown, channel.Retry, 0, false, ""},
		"a proxy's 502":  {faketelegram.Fault{HTML: true}, channel.Unknown, channel.Retry, 0, false, ""},
		"Telegram's 502": {faketelegram.Fault{Status: 502}, channel.Retry, channel.Retry, 0, false, ""},
		"conflict":       {faketelegram.Fault{Status: 409}, channel.Retry, channel.Retry, 0, false, ""},
		"too many":       {faketelegram.Fault{Status: 429, RetryAfter: 33}, channel.Retry, channel.Retry, 33 * time.Second, true, "33"},
		"unauthorized":   {faketelegram.Fault{Status: 401}, channel.Retry, channel.Retry, time.Minute, true, "token is refused"},
		"not found":      {faketelegram.Fault{Status: 404}, channel.Retry, channel.Retry, time.Minute, true, "token is refused"},
		"a page that says no": {
			faketelegram.Fault{HTML: true, Status: 403}, channel.Retry, channel.Retry, time.Minute, true, "api_root",
		},
		"another refusal": {
			faketelegram.Fault{Status: 400, Description: "Bad Request: whatever"}, channel.Permanent, channel.Permanent, 0, false, "whatever",
		},
		"topic closed": {
			faketelegram.Fault{Status: 400, Description: "Bad Request: TOPIC_CLOSED"}, channel.Permanent, channel.Permanent, 0, false, "no right",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, plenty)
			shown := w.send(t, notice(anna, "shown"))
			edit := answer(anna, "text")
			edit.Draft = shown.ID
			post := answer(group, "text")
			for _, call := range []struct {
				item  channel.Item
				class channel.Class
			}{{edit, c.edit}, {post, c.send}} {
				w.Fail(c.fault)
				e := w.fails(t, call.item, call.class)
				if e.After != c.after || e.Untried != c.untried || !strings.Contains(e.Reason, c.reason) || !strings.HasPrefix(e.Reason, "telegram: ") {
					t.Errorf("after %s, untried %t: %s", e.After, e.Untried, e.Reason)
				}
			}
		})
	}
}

// TestChatRefuses: the reason says what a person has to do.
func TestChatRefuses(t *testing.T) {
	for trouble, reason := range map[faketelegram.Trouble]string{
		faketelegram.NotFound: "no such chat", faketelegram.Blocked: "blocked", faketelegram.Kicked: "removed",
		faketelegram.Deactivated: "blocked or removed", faketelegram.NoRights: "no right",
	} {
		w := start(t, plenty)
		w.Refuse(groupChat, trouble)
		if e := w.fails(t, answer(group, "x"), channel.Permanent); !strings.Contains(e.Reason, reason) {
			t.Errorf("%s, want %s", e.Reason, reason)
		}
	}
	w := start(t, plenty)
	for id, reason := range map[session.ID]string{
		"main.telegram.other.1":         "no bot",
		"main.telegram.mybot.anna":      "no chat",
		"main.telegram.mybot.0":         "no chat",
		"main.telegram.mybot.007":       "no chat",
		"main.telegram.mybot.1_t":       "no chat",
		"main.telegram.mybot.1_t-2":     "no chat",
		"main.telegram.mybot.1_t2_t3":   "no chat",
		"main.telegram.mybot.=2B5":      "no chat",
		"":                              "no bot",
		"main.telegram.mybot.999999999": "no such chat",
	} {
		if e := w.fails(t, answer(id, "x"), channel.Permanent); !strings.Contains(e.Reason, reason) {
			t.Errorf("%s: %s", id, e.Reason)
		}
	}
}

// TestHeldByTelegram: the chat is left alone until then, without a call; others are not.
func TestHeldByTelegram(t *testing.T) {
	w := start(t, plenty)
	w.Fail(faketelegram.Fault{Status: 429, RetryAfter: 300})
	w.fails(t, answer(anna, "x"), channel.Retry)
	calls := len(w.Calls())
	e := w.fails(t, answer(anna, "x"), channel.Retry)
	if e.After < 299*time.Second || e.After > 300*time.Second || !e.Untried || !strings.Contains(e.Reason, "holds the chat") {
		t.Errorf("after %s: %s", e.After, e.Reason)
	}
	if err := w.Typing(t.Context(), anna); err != nil {
		t.Error(err)
	}
	receipt, err := w.Draft(t.Context(), anna, "", "x")
	if de := channel.ErrorOf(err); receipt != "" || de.Class != channel.Retry || !de.Untried {
		t.Errorf("%q, %v", receipt, err)
	}
	if receipt, err = w.Draft(t.Context(), anna, "7", "x"); receipt != "7" || err != nil {
		t.Errorf("%q, %v", receipt, err)
	}
	if n := len(w.Calls()); n != calls {
		t.Errorf("%d calls in a held chat", n-calls)
	}
	w.send(t, answer(group, "x"))
}

// TestNothingListens: it did not arrive, and says so. However long that lasts it is no fault of the item, and is tried every five minutes.
func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := sender(t, io.Discard, oneBot("http://"+addr))
	for attempt, after := range map[int]time.Duration{1: time.Second, 3: 16 * time.Second, 4: 64 * time.Second, 8: 5 * time.Minute, 1000: 5 * time.Minute} {
		i := answer(anna, "x")
		i.Attempt = attempt
		if e := failure(t, s, i, channel.Retry); !e.Untried || e.After != after {
			t.Errorf("attempt %d: untried %t, after %s", attempt, e.Untried, e.After)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Send(ctx, answer(anna, "x")); channel.ErrorOf(err).Class != channel.Retry {
		t.Error(err)
	}
	if err := s.Typing(t.Context(), anna); channel.ErrorOf(err).Class != channel.Retry {
		t.Error(err)
	}
}

// TestLimitsAtTheServer: with Telegram's own limits nothing is refused, and nothing comes too soon.
func TestLimitsAtTheServer(t *testing.T) {
	w := start(t, telegram.Limits{})
	for _, id := range []session.ID{anna, group, anna, group} {
		w.send(t, notice(id, "message"))
	}
	if r := w.Report(); r.TooMany != 0 || r.Violations.Sum() != 0 || r.Messages != 4 {
		t.Errorf("%+v", r)
	}
}

// TestNoRoom: by our own limits nothing is asked of Telegram; two accounts of one token share them.
func TestNoRoom(t *testing.T) {
	w := start(t, plenty)
	c := oneBot(w.URL())
	c.Limits.Overall = telegram.Limit{N: 1, Per: time.Hour}
	c.Bots = append(c.Bots, telegram.Bot{Account: "again", Token: c.Bots[0].Token, APIRoot: w.URL()})
	s := sender(t, w.log, c)
	if _, err := s.Send(t.Context(), answer(anna, "x")); err != nil {
		t.Fatal(err)
	}
	e := failure(t, s, answer("main.telegram.again.-555", "x"), channel.Retry)
	if !e.Untried || e.After < 59*time.Minute || e.After > time.Hour || len(w.Calls()) != 1 {
		t.Errorf("after %s, %d calls", e.After, len(w.Calls()))
	}
}

func TestNewRefuses(t *testing.T) {
	good := oneBot("").Bots[0]
	log := newLog(io.Discard)
	for name, c := range map[string]telegram.Config{
		"no log":             {Bots: []telegram.Bot{good}},
		"no account":         {Log: log, Bots: []telegram.Bot{{Token: good.Token}}},
		"an account twice":   {Log: log, Bots: []telegram.Bot{good, good}},
		"no token":           {Log: log, Bots: []telegram.Bot{{Account: "a"}}},
		"a token on a line":  {Log: log, Bots: []telegram.Bot{{Account: "a", Token: good.Token + "\n"}}},
		"a root with a user": {Log: log, Bots: []telegram.Bot{{Account: "a", Token: good.Token, APIRoot: "https://me:x@example.com"}}},
	} {
		_, secret, _ := strings.Cut(good.Token, ":")
		if s, err := telegram.New(c); s != nil || err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
