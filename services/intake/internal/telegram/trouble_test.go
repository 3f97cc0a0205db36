package telegram

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// Whatever the Bot API does for a while: it is said, nothing is lost, and the state tells how the bot does.
func TestTroubles(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    faketelegram.Fault
		says string
	}{
		{"409", faketelegram.Fault{Status: 409, Description: "Conflict: terminated by other getUpdates request"}, "another process polls"},
		{"502 as JSON", faketelegram.Fault{Status: 502}, "cannot be reached"},
		{"502 as HTML", faketelegram.Fault{HTML: true}, "cannot be reached"},
		{"HTML with 200", faketelegram.Fault{HTML: true, Status: 200}, "check api_root"},
		{"garbage", faketelegram.Fault{Garbage: true}, "cannot be reached"},
		{"closed", faketelegram.Fault{Close: true}, "cannot be reached"},
		{"404", faketelegram.Fault{Status: 404, Description: "Not Found"}, "the token or api_root is wrong"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, h := fake(t, faketelegram.Options{}), newHouse()
			tc.f.Method, tc.f.Times = "getUpdates", 6
			s.Fail(tc.f)
			r := run(t, h, s.URL())
			s.Say("", faketelegram.Private(ann), ann, "hello")
			h.waitFor(t, 1)
			confirmed(t, s)
			r.logged(t, tc.says, "can be reached again", "tries=6")
			if n := strings.Count(r.log.String(), "trying again"); n != 1 {
				t.Errorf("it is said %d times", n)
			}
			if st := r.States()[0]; st.LastError == "" || st.Status != Polling {
				t.Errorf("state %+v", st)
			}
		})
	}
}

// The limit of one call is waited for.
func TestLimited(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	s.Fail(faketelegram.Fault{Method: "getUpdates", Status: 429, RetryAfter: 1})
	s.Fail(faketelegram.Fault{Method: "setMyCommands", Status: 429, RetryAfter: 490, Times: -1})
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "hello")
	h.waitFor(t, 1)
	var polls []time.Time
	for _, c := range s.Calls() {
		if c.Method == "getUpdates" {
			polls = append(polls, c.At)
		}
	}
	if len(polls) < 2 || polls[1].Sub(polls[0]) < time.Second {
		t.Errorf("polls at %v", polls)
	}
}

// A token that is refused stops its bot, and no other.
func TestUnauthorized(t *testing.T) {
	const second = "5:another-token-of-the-fake-Bot-API"
	s, h := fake(t, faketelegram.Options{Tokens: map[string]faketelegram.Bot{
		faketelegram.DefaultToken: {Username: "first_bot"}, second: {Username: "second_bot"},
	}}), newHouse()
	r := run(t, h, s.URL(), func(c *Config) {
		c.Bots = append(c.Bots, Bot{Account: "two", Agent: "main", Token: second, APIRoot: s.URL()},
			Bot{Account: "three", Agent: "main", Token: "6:nobody-has-this-token", APIRoot: s.URL()})
	})
	s.Say("first_bot", faketelegram.Private(ann), ann, "one")
	s.Say("second_bot", faketelegram.Private(ann), ann, "two")
	h.waitFor(t, 2)
	until(t, s, "a long poll", func(s *faketelegram.Server) bool { return s.Polling("first_bot") })
	s.Revoke("first_bot")
	s.Say("second_bot", faketelegram.Private(ann), ann, "three")
	h.waitFor(t, 3)
	r.log.wait(t, "channels.telegram.bot.token")
	r.log.wait(t, "channels.telegram.three.token")
	for i, want := range []Status{Unauthorized, Polling, Unauthorized} {
		if got := r.States()[i].Status; got != want {
			t.Errorf("bot %d is %s, want %s", i, got, want)
		}
	}
	s.Say("second_bot", faketelegram.Private(ann), ann, "four")
	h.waitFor(t, 4)
	r.logged(t, "its token is refused", "@BotFather", "channels.telegram.three.token")
	r.stop(t)
	if strings.Contains(r.log.String(), "another-token") || strings.Contains(r.log.String(), "nobody-has-this") {
		t.Error("a token is in the log")
	}
}

// A webhook that is left, or set meanwhile, is removed, and what waits is not lost.
func TestLeftWebhook(t *testing.T) {
	s, h := fake(t, faketelegram.Options{WebhookRetry: time.Hour}), newHouse()
	dead := httptest.NewServer(http.NotFoundHandler())
	defer dead.Close()
	hook := func() {
		body := strings.NewReader(fmt.Sprintf(`{"url":%q,"secret_token":"x"}`, dead.URL))
		res, err := http.Post(s.URL()+"/bot"+faketelegram.DefaultToken+"/setWebhook", "application/json", body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		res.Body.Close()
	}
	hook()
	s.Say("", faketelegram.Private(ann), ann, "one")
	r := run(t, h, s.URL())
	h.waitFor(t, 1)
	hook()
	s.Say("", faketelegram.Private(ann), ann, "two")
	h.waitFor(t, 2)
	confirmed(t, s)
	r.logged(t, "a webhook was set for this telegram bot, and is removed")
	if got := h.texts(""); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%v", got)
	}
}

// A server that does not wait, or does not go by offsets, is not asked without a pause.
func TestNoStorm(t *testing.T) {
	for name, answer := range map[string]string{
		"does not wait":         `[]`,
		"knows no offsets":      `[{"update_id":7,"message":{"message_id":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001},"text":"hello"}}]`,
		"numbers that are none": `[{"update_id":"x"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			polls := make(chan time.Time, 1000)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):] {
				case "/getMe":
					fmt.Fprint(w, `{"ok":true,"result":{"id":123456789,"username":"test_bot"}}`)
				case "/getUpdates":
					select {
					case polls <- time.Now():
					default:
					}
					fmt.Fprintf(w, `{"ok":true,"result":%s}`, answer)
				default:
					fmt.Fprint(w, `{"ok":true,"result":{}}`)
				}
			}))
			defer api.Close()
			h := newHouse()
			r := run(t, h, api.URL, func(c *Config) { c.Pace.RetryFirst, c.Pace.RetryMost = 50*time.Millisecond, 100*time.Millisecond })
			var at []time.Time
			for len(at) < 8 {
				select {
				case p := <-polls:
					at = append(at, p)
				case <-time.After(patience):
					t.Fatal("no polls")
				}
			}
			if d := at[7].Sub(at[1]); d < 200*time.Millisecond {
				t.Errorf("six polls within %v", d)
			}
			r.stop(t)
			if len(h.texts("")) > 1 {
				t.Errorf("%v", h.texts(""))
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{first: time.Second, most: 30 * time.Second}
	var last time.Duration
	for i := range 12 {
		d := b.step()
		if d < time.Second || d > 30*time.Second || d < last && last < 20*time.Second && i > 0 && d*5/4 < last {
			t.Fatalf("step %d waits %v after %v", i, d, last)
		}
		last = d
	}
	if last != 30*time.Second {
		t.Errorf("at last %v", last)
	}
	if b.reset(); b.step() > 2*time.Second {
		t.Error("it does not begin anew")
	}
}

func TestReminders(t *testing.T) {
	var r reminders
	now := time.Now()
	if !r.due(1, now) || r.due(1, now.Add(59*time.Minute)) || !r.due(2, now) || !r.due(1, now.Add(time.Hour)) {
		t.Error("not once an hour")
	}
	for i := range int64(1000) {
		r.due(i+10, now)
	}
	if len(r.said) > maxReminded {
		t.Errorf("%d chats are kept in mind", len(r.said))
	}
	if !r.due(5000, now.Add(3*time.Hour)) {
		t.Error("it is full for ever")
	}
}

// An episode is said when it begins, each hour, and when it ends.
func TestEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &tape{}
		tr := trouble{log: slog.New(slog.NewTextHandler(log, nil))}
		for range 130 {
			tr.begin(Unreachable, errPanic)
			time.Sleep(time.Minute)
		}
		tr.begin(Conflict, errPanic)
		tr.end()
		tr.end()
		if n := strings.Count(log.String(), "\n"); n != 5 {
			t.Errorf("%d lines:\n%s", n, log)
		}
	})
}

// A stranger who blocks the bot and starts it again, or moves groups about, does not fill the log.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	r := run(t, h, s.URL())
	for i := range 500 {
		status := []string{"kicked", "member"}[i%2]
		s.Inject(json.RawMessage(fmt.Sprintf(`{"my_chat_member":{"date":1,"from":{"id":666,"first_name":"x"},"chat":{"id":666,"type":"private"},"new_chat_member":{"status":%q}}}`, status)))
		s.Inject(json.RawMessage(fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"group"},"migrate_to_chat_id":%d}}`, i+1, -1000-i, -100000-i)))
	}
	confirmed(t, s)
	r.stop(t)
	if n := strings.Count(r.log.String(), "level=INFO"); n > 300 {
		t.Errorf("%d lines", n)
	}
}
