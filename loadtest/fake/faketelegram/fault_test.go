package faketelegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

func TestFaults(t *testing.T) {
	type F = faketelegram.Fault
	for _, c := range []struct {
		what  string
		fault F
		sent  bool
		ok    func(r result) bool
	}{
		{"zero", F{}, false, func(r result) bool { return r.Code == 502 && r.Description == "Bad Gateway" }},
		{"status", F{Status: 500, Description: "Internal Server Error: restart"}, false, func(r result) bool {
			return r.Status == 500 && r.Description == "Internal Server Error: restart"
		}},
		{"429", F{Status: 429, RetryAfter: 7}, false, func(r result) bool {
			return r.Parameters.RetryAfter == 7 && r.Description == "Too Many Requests: retry after 7" && r.header.Get("Retry-After") == "7"
		}},
		{"migration", F{Status: 400, MigrateTo: -9}, false, func(r result) bool { return r.Parameters.MigrateTo == -9 }},
		{"page", F{HTML: true, Status: 503}, false, func(r result) bool {
			return r.Status == 503 && strings.HasPrefix(r.body, "<html>") && r.header.Get("Content-Type") == "text/html"
		}},
		{"garbage", F{Garbage: true}, false, func(r result) bool { return r.Status == 200 && !json.Valid([]byte(r.body)) }},
		{"close", F{Close: true}, false, func(r result) bool { return r.Gone }},
		{"close after", F{Close: true, After: true}, true, func(r result) bool { return r.Gone }},
		{"502 after", F{Status: 502, After: true}, true, func(r result) bool { return r.Status == 502 }},
		{"this chat", F{Chat: 11, Method: "SendMessage"}, false, func(r result) bool { return r.Status == 502 }},
		{"another chat", F{Chat: 12}, true, func(r result) bool { return r.OK }},
		{"another method", F{Method: "getUpdates"}, true, func(r result) bool { return r.OK }},
	} {
		s := unlimited(t)
		s.Fail(c.fault)
		if r := send(t, s, 11, "x"); !c.ok(r) {
			t.Errorf("%s: %+v", c.what, r)
		}
		if got := len(s.Messages(11)); got == 1 != c.sent {
			t.Errorf("%s: %d messages", c.what, got)
		}
		if calls := s.Calls(); len(calls) != 1 || (calls[0].Status == 0) != c.fault.Close {
			t.Errorf("%s: calls %+v", c.what, calls)
		}
		s.Heal()
		if r := send(t, s, 11, "y"); !r.OK {
			t.Errorf("%s: afterwards %+v", c.what, r)
		}
	}
}

func TestFaultsTakeTurns(t *testing.T) {
	s := unlimited(t)
	s.Fail(faketelegram.Fault{Status: 500, Times: 2})
	s.Fail(faketelegram.Fault{Status: 501, Times: -1})
	var got []int
	for range 5 {
		got = append(got, send(t, s, 11, "x").Status)
	}
	if fmt.Sprint(got) != "[500 500 501 501 501]" || s.Report().Faults != 5 {
		t.Errorf("%v", got)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unlimited(t)
		s.Fail(faketelegram.Fault{Delay: time.Minute})
		began := time.Now()
		if r := send(t, s, 11, "x"); !r.OK || time.Since(began) != time.Minute {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
		s.Fail(faketelegram.Fault{Delay: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := call(ctx, t, s, "sendMessage", p{"chat_id": 11, "text": "y"}); !r.Gone || len(s.Messages(11)) != 1 {
			t.Errorf("who does not wait has sent nothing: %+v", r)
		}
	})
}

func TestClosedConnectionsOverTheWire(t *testing.T) {
	s, err := faketelegram.Start(faketelegram.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.AddChat("", dm)
	s.Fail(faketelegram.Fault{Close: true, After: true})
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := strings.NewReader(`{"chat_id":11,"text":"x"}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path("sendMessage"), io.NopCloser(body)) // a body that cannot be sent again
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if res, err := c.Do(r); !errors.Is(err, io.EOF) {
		t.Errorf("%+v, %v", res, err)
	}
	if got := s.Messages(11); len(got) != 1 || got[0].Text != "x" {
		t.Errorf("messages %+v", got)
	}
}

func TestReportOfDuplicates(t *testing.T) {
	s := unlimited(t)
	s.AddChat("", group)
	send(t, s, 11, "same")
	send(t, s, -500, "same")
	id := send(t, s, 11, "same").id(t)
	send(t, s, 11, "other")
	want := faketelegram.Duplicate{Chat: 11, Text: "same", Times: 2}
	if d := s.Report().Duplicates; len(d) != 1 || d[0] != want {
		t.Errorf("duplicates %+v", d)
	}
	call(t.Context(), t, s, "editMessageText", p{"chat_id": 11, "message_id": id, "text": "different"})
	if d := s.Report().Duplicates; len(d) != 0 {
		t.Errorf("after an edit %+v", d)
	}
}

// A bot that answers each update over the wire: 200 people talk at once, each gets their answers in order.
func TestACrowd(t *testing.T) {
	const chats, each = 200, 10
	s, err := faketelegram.Start(faketelegram.Options{Limits: faketelegram.Limits{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	var wg sync.WaitGroup
	for i := range chats {
		wg.Go(func() {
			u := faketelegram.User{ID: int64(1000 + i), FirstName: "P"}
			for n := range each {
				s.Say("", faketelegram.Private(u), u, fmt.Sprint(n))
			}
		})
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- answerAll(ctx, s.URL()+path("")) }()
	err = s.Wait(t.Context(), func(s *faketelegram.Server) bool {
		r := s.Report()
		return r.Messages == chats*each && r.Confirmed == chats*each
	})
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
	t.Logf("%d updates answered in %s", chats*each, time.Since(began))
	cancel()
	if err := <-done; err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	for i := range chats {
		for n, m := range s.Messages(int64(1000 + i)) {
			if m.Text != fmt.Sprint("You said: ", n) {
				t.Fatalf("chat %d, message %d: %q", i, n, m.Text)
			}
		}
	}
	if r := s.Report(); r.Overlaps != 0 || r.Sent != chats*each || len(r.Duplicates) != 0 {
		t.Errorf("report %+v", r)
	}
}

func answerAll(ctx context.Context, root string) error {
	c := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	defer c.CloseIdleConnections()
	post := func(method string, params p, result any) error {
		body, err := json.Marshal(params)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, root+method, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := c.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		return json.NewDecoder(res.Body).Decode(&struct{ Result any }{result})
	}
	for offset := int64(0); ; {
		var list []update
		if err := post("getUpdates", p{"offset": offset, "timeout": 30}, &list); err != nil {
			return err
		}
		for _, u := range list {
			if err := post("sendMessage", p{"chat_id": u.Message.Chat.ID, "text": "You said: " + u.Message.Text}, new(any)); err != nil {
				return err
			}
			offset = u.ID + 1
		}
	}
}
