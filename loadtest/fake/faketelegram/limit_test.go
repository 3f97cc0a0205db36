package faketelegram_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// clocked has a clock that a test moves.
func clocked(t *testing.T, l faketelegram.Limits) (*faketelegram.Server, *time.Time) {
	now := time.Unix(1_800_000_000, 0)
	s := server(t, faketelegram.Options{Limits: l, Now: func() time.Time { return now }})
	s.AddChat("", dm)
	s.AddChat("", group)
	return s, &now
}

// retry is retry_after of a send, 0 when it was sent.
func retry(t *testing.T, r result) int {
	t.Helper()
	if r.OK {
		return 0
	}
	n := r.Parameters.RetryAfter
	wants(t, "send", r, 429, fmt.Sprintf("Too Many Requests: retry after %d", n))
	if r.header.Get("Retry-After") != fmt.Sprint(n) || n == 0 {
		t.Errorf("header %q of %s", r.header.Get("Retry-After"), r.body)
	}
	return n
}

func TestPrivateChatLimit(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	s.AddChat("", faketelegram.Private(bob))
	for i, step := range []struct {
		after time.Duration
		chat  int64
		want  int
	}{
		{0, 11, 0},
		{0, 11, 0},
		{0, 11, 0}, // the burst
		{0, 11, 3}, // and no more: held
		{0, 12, 0}, // another chat is not
		{time.Second, 11, 2},
		{time.Second + 500*time.Millisecond, 11, 1},
		{500 * time.Millisecond, 11, 0},
		{time.Second, 11, 0},
		{960 * time.Millisecond, 11, 0}, // within the slack
		{900 * time.Millisecond, 11, 0}, // not, but the burst has room
	} {
		*now = now.Add(step.after)
		if got := retry(t, send(t, s, step.chat, fmt.Sprint(i))); got != step.want {
			t.Errorf("step %d: retry_after %d, want %d", i, got, step.want)
		}
	}
	r := s.Report()
	if want := (faketelegram.Violations{Chat: 4, Held: 2}); r.Violations != want || r.TooMany != 3 || r.Messages != 8 || r.Violations.Sum() != 6 {
		t.Errorf("report %+v", r)
	}
}

func TestGroupLimit(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	for range 20 {
		if retry(t, send(t, s, -500, "x")) != 0 {
			t.Fatal("20 a minute are allowed")
		}
		*now = now.Add(time.Second)
	}
	if got := retry(t, send(t, s, -500, "x")); got != 40 {
		t.Errorf("the 21st: retry_after %d, want 40", got)
	}
	*now = now.Add(10 * time.Second)
	if got := retry(t, send(t, s, -500, "x")); got != 30 {
		t.Errorf("held: retry_after %d, want 30", got)
	}
	*now = now.Add(30 * time.Second)
	for range 2 {
		if got := retry(t, send(t, s, -500, "x")); got != 0 {
			t.Errorf("a minute later: retry_after %d", got)
		}
		*now = now.Add(time.Second)
	}
	if want := (faketelegram.Violations{Group: 1, Held: 1}); s.Report().Violations != want {
		t.Errorf("violations %+v", s.Report().Violations)
	}
}

func TestGroupLimitHasSlack(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	for range 20 {
		send(t, s, -500, "x")
	}
	*now = now.Add(time.Minute - 40*time.Millisecond)
	if got := retry(t, send(t, s, -500, "x")); got != 0 || s.Report().Violations.Sum() != 0 {
		t.Errorf("40 ms too soon: retry_after %d, %+v", got, s.Report().Violations)
	}
}

func TestOverallLimit(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	refused := 0
	for i := range 40 {
		u := faketelegram.User{ID: int64(1000 + i)}
		s.AddChat("", faketelegram.Private(u))
		if retry(t, send(t, s, u.ID, "x")) > 0 {
			refused++
		}
	}
	if v := s.Report().Violations; refused != 10 || v.Overall != 10 || v.Sum() != 10 {
		t.Errorf("%d refused, violations %+v", refused, v)
	}
	*now = now.Add(time.Second)
	for i := range 30 { // those that were refused are not held
		if n := retry(t, send(t, s, int64(1039-i), "x")); n != 0 {
			t.Errorf("a second later: retry_after %d", n)
		}
	}
}

func TestEditLimit(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	id := send(t, s, 11, "x").id(t)
	n := 0
	edit := func() int {
		n++
		return retry(t, call(t.Context(), t, s, "editMessageText", p{"chat_id": 11, "message_id": id, "text": fmt.Sprint(n)}))
	}
	for i, want := range []int{0, 0, 0, 0, 0, 3, 3} {
		if got := edit(); got != want {
			t.Errorf("edit %d: retry_after %d, want %d", i, got, want)
		}
	}
	if retry(t, send(t, s, 11, "a message is not an edit")) != 0 {
		t.Error("a message is held with the edits")
	}
	*now = now.Add(3 * time.Second)
	if edit() != 0 || s.Report().Violations != (faketelegram.Violations{Chat: 1, Edit: 5, Held: 1}) {
		t.Errorf("violations %+v", s.Report().Violations)
	}
}

func TestHoldAndOff(t *testing.T) {
	s, now := clocked(t, faketelegram.Limits{})
	s.Hold("", 11, 35*time.Second)
	if got := retry(t, send(t, s, 11, "x")); got != 35 {
		t.Errorf("held: retry_after %d", got)
	}
	if retry(t, send(t, s, -500, "x")) != 0 {
		t.Error("another chat is held")
	}
	*now = now.Add(35 * time.Second)
	if retry(t, send(t, s, 11, "x")) != 0 {
		t.Error("held for ever")
	}
	off := unlimited(t)
	for range 200 {
		if retry(t, send(t, off, 11, "x")) != 0 {
			t.Fatal("limited")
		}
	}
	if off.Report().Violations.Sum() != 0 {
		t.Error("violations without limits")
	}
}

// Whoever keeps to a message a second in a chat, and to what a 429 says, is never refused a second time and violates nothing.
func TestTheObedientAreServed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, now := clocked(t, faketelegram.Limits{})
		last := map[int64]time.Time{}
		for range rapid.IntRange(1, 60).Draw(rt, "sends") {
			*now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "ms")) * time.Millisecond)
			chat := int64(11)
			if rapid.Bool().Draw(rt, "group") {
				chat = -500
			}
			gap := time.Second
			if chat < 0 {
				gap = 3 * time.Second
			}
			if wait := last[chat].Add(gap).Sub(*now); wait > 0 {
				*now = now.Add(wait)
			}
			last[chat] = *now
			if n := retry(t, send(t, s, chat, "x")); n != 0 {
				rt.Fatalf("retry_after %d", n)
			}
		}
		if v := s.Report().Violations; v.Sum() != 0 {
			rt.Fatalf("violations %+v", v)
		}
	})
}
