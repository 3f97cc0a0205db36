package faketelegram_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// inbox is a webhook within the process: the other end of Options.Transport.
type inbox struct {
	mu      sync.Mutex
	answers []int // of the next tries; 0: no connection; then 200
	after   string
	got     []string // "seconds chat text status"
	secret  string
	began   time.Time
	open    map[int64]int // tries under way
	slow    time.Duration
	worst   int
}

func (b *inbox) RoundTrip(r *http.Request) (*http.Response, error) {
	var u update
	if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
		return nil, err
	}
	b.mu.Lock()
	chat := u.Message.Chat.ID
	b.open[chat]++
	b.worst = max(b.worst, b.open[chat])
	status := 200
	if len(b.answers) > 0 {
		status, b.answers = b.answers[0], b.answers[1:]
	}
	b.secret = r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
	b.got = append(b.got, fmt.Sprintf("%.0f %d %s %d", time.Since(b.began).Seconds(), chat, u.Message.Text, status))
	slow, after := b.slow, b.after
	b.mu.Unlock()
	defer func() { b.mu.Lock(); b.open[chat]--; b.mu.Unlock() }()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status, Body: io.NopCloser(strings.NewReader("")),
		Header: http.Header{"Retry-After": {after}},
	}, nil
}

func (b *inbox) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.got, ", ")
}

func newInbox(answers ...int) *inbox {
	return &inbox{answers: answers, began: time.Now(), open: map[int64]int{}}
}

func TestWebhookGetsWhatItDidNotTakeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(500, 0, 404, 301)
		s := server(t, faketelegram.Options{Transport: b})
		say(s, "waiting") // is posted once there is a webhook
		r := call(t.Context(), t, s, "setWebhook", p{"url": "https://x.example.org/", "secret_token": "s-1_S", "max_connections": 3})
		if !r.OK || r.Description != "" && !strings.Contains(r.body, "Webhook was set") {
			t.Errorf("%s", r.body)
		}
		say(s, "next")
		time.Sleep(time.Hour)
		// at once, then after 2, 4 and 8 seconds; the next of the chat waits
		want := "0 11 waiting 500, 0 11 waiting 0, 2 11 waiting 404, 6 11 waiting 301, 14 11 waiting 200, 14 11 next 200"
		if got := b.all(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if b.secret != "s-1_S" {
			t.Errorf("secret %q", b.secret)
		}
		var info struct {
			URL         string
			Pending     int    `json:"pending_update_count"`
			Connections int    `json:"max_connections"`
			Error       string `json:"last_error_message"`
			Date        int64  `json:"last_error_date"`
		}
		call(t.Context(), t, s, "getWebhookInfo", nil).decode(t, &info)
		if info.URL != "https://x.example.org/" || info.Pending != 0 || info.Connections != 3 ||
			info.Error != "Wrong response from the webhook: 301 Moved Permanently" || info.Date == 0 {
			t.Errorf("info %+v", info)
		}
		if r := s.Report(); r.HookErrors != 4 || r.Confirmed != 2 || r.Sent != 6 || r.Pending != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestWebhookHonoursRetryAfterAndGivesUpAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(503)
		b.after = "100"
		s := server(t, faketelegram.Options{Transport: b})
		call(t.Context(), t, s, "setWebhook", p{"url": "https://x.example.org/"})
		say(s, "a")
		time.Sleep(time.Hour)
		if got := b.all(); got != "0 11 a 503, 100 11 a 200" {
			t.Errorf("got %s", got)
		}
		b.mu.Lock()
		b.after, b.answers, b.got = "", make([]int, 100_000), nil
		b.mu.Unlock()
		say(s, "b")
		time.Sleep(25 * time.Hour)
		n := strings.Count(b.all(), " b ")
		time.Sleep(25 * time.Hour)
		if m := strings.Count(b.all(), " b "); m != n || n < 1000 {
			t.Errorf("%d tries in a day, %d in two", n, m)
		}
	})
}

func TestWebhookKeepsTheOrderOfEachChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		b.slow = time.Second
		s := server(t, faketelegram.Options{Transport: b})
		call(t.Context(), t, s, "setWebhook", p{"url": "https://x.example.org/", "max_connections": 2})
		for i := range 3 {
			for id := range int64(4) {
				u := faketelegram.User{ID: 100 + id}
				s.Say("", faketelegram.Private(u), u, fmt.Sprint(i))
			}
		}
		time.Sleep(5*time.Second + time.Millisecond)
		b.mu.Lock()
		if len(b.got) != 12 || b.worst != 1 {
			t.Errorf("%d posts in 6 rounds of 2 connections, %d at once in a chat: %v", len(b.got), b.worst, b.got)
		}
		last := map[string]string{}
		for _, g := range b.got {
			f := strings.Fields(g)
			if f[2] < last[f[1]] {
				t.Errorf("out of order: %v", b.got)
			}
			last[f[1]] = f[2]
		}
		b.mu.Unlock()
		time.Sleep(time.Minute)
	})
}

func TestReplayThroughAWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox()
		s := server(t, faketelegram.Options{Transport: b})
		call(t.Context(), t, s, "setWebhook", p{"url": "https://x.example.org/"})
		say(s, "a")
		synctest.Wait()
		s.Replay("", 1)
		synctest.Wait()
		if got := b.all(); got != "0 11 a 200, 0 11 a 200" || s.Report().Pending != 0 {
			t.Errorf("got %s, report %+v", got, s.Report())
		}
		call(t.Context(), t, s, "deleteWebhook", nil)
		s.Replay("", 1)
		if got := poll(t, s, nil); texts(got) != "a" {
			t.Errorf("replayed to a poll: %+v", got)
		}
	})
}

func TestWebhookRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(500, 500, 500, 500, 500, 500, 500)
		s := server(t, faketelegram.Options{Transport: b})
		set := func(params p) result {
			time.Sleep(2 * time.Second)
			return call(t.Context(), t, s, "setWebhook", params)
		}
		const url = "https://x.example.org/"
		wants(t, "long secret", set(p{"url": url, "secret_token": strings.Repeat("a", 257)}), 400, "Bad Request: secret token is too long")
		wants(t, "odd secret", set(p{"url": url, "secret_token": "a b"}), 400, "Bad Request: secret token contains unallowed characters")
		for _, c := range []struct {
			what   string
			r      result
			answer string
		}{
			{"set", set(p{"url": url}), "Webhook was set"},
			{"again", set(p{"url": url}), "Webhook is already set"},
			{"changed", set(p{"url": url, "secret_token": "x"}), "Webhook was set"},
			{"empty", set(p{"url": ""}), "Webhook was deleted"},
			{"delete", call(t.Context(), t, s, "deleteWebhook", nil), "Webhook is already deleted"},
		} {
			if !c.r.OK || !strings.Contains(c.r.body, `"`+c.answer+`"`) {
				t.Errorf("%s: %s", c.what, c.r.body)
			}
		}
		set(p{"url": url})
		wants(t, "at once", call(t.Context(), t, s, "setWebhook", p{"url": url}), 429, "Too Many Requests: retry after 1")
		say(s, "a")
		time.Sleep(time.Second)
		call(t.Context(), t, s, "deleteWebhook", nil)
		if got := poll(t, s, nil); texts(got) != "a" {
			t.Errorf("what no webhook took is there for getUpdates: %+v", got)
		}
		call(t.Context(), t, s, "deleteWebhook", p{"drop_pending_updates": true})
		if got := poll(t, s, p{"offset": 1}); len(got) != 0 {
			t.Errorf("dropped: %+v", got)
		}
	})
}

func TestWebhookOverTheWire(t *testing.T) {
	got := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer hook.Close()
	s := unlimited(t)
	call(t.Context(), t, s, "setWebhook", p{"url": hook.URL})
	s.Inject(json.RawMessage(`{"a":1}`))
	if body := <-got; body != `POST application/json {"a":1,"update_id":870000001}` {
		t.Errorf("body %s", body)
	}
	if err := s.Wait(t.Context(), func(s *faketelegram.Server) bool { return s.Report().Confirmed == 1 }); err != nil {
		t.Error(err)
	}
}
