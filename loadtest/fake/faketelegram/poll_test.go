package faketelegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

const first = 870000001

func say(s *faketelegram.Server, words string) {
	for w := range strings.FieldsSeq(words) {
		s.Say("", dm, ann, w)
	}
}

func TestOffsetConfirms(t *testing.T) {
	s := unlimited(t)
	say(s, "a b c d e")
	for _, c := range []struct {
		what   string
		params p
		want   string
	}{
		{"all", p{}, "a b c d e"},
		{"again, for nothing is confirmed", p{"offset": 0}, "a b c d e"},
		{"the first confirms nothing", p{"offset": first}, "a b c d e"},
		{"limit", p{"limit": 2}, "a b"},
		{"limit below 1", p{"limit": -5}, "a"},
		{"two are confirmed", p{"offset": first + 2}, "c d e"},
		{"they stay so", p{"offset": 0}, "c d e"},
		{"a lower offset brings nothing back", p{"offset": first}, "c d e"},
		{"far ahead is not believed", p{"offset": first + 5 + 10}, "c d e"},
		{"negative keeps the last", p{"offset": -1}, "e"},
		{"and the rest is gone", p{"offset": 0}, "e"},
		{"negative keeps no more than there is", p{"offset": -100}, "e"},
		{"a little ahead confirms all", p{"offset": first + 5 + 9}, ""},
		{"nothing", p{"offset": "x"}, ""},
	} {
		if got := texts(poll(t, s, c.params)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if r := s.Report(); r.Updates != 5 || r.Confirmed != 5 || r.Pending != 0 || r.Polls != 14 {
		t.Errorf("report %+v", r)
	}
}

// A queue that is asked at random never loses or reorders what was not confirmed.
func TestNothingUnconfirmedIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := faketelegram.New(faketelegram.Options{Limits: faketelegram.Limits{Off: true}})
		defer s.Close()
		said, confirmed := 0, 0
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			for range rapid.IntRange(0, 3).Draw(rt, "say") {
				said++
				s.Say("", dm, ann, fmt.Sprint(said))
			}
			offset := rapid.IntRange(0, said+1).Draw(rt, "offset")
			limit := rapid.IntRange(1, 5).Draw(rt, "limit")
			confirmed = max(confirmed, min(offset-1, said))
			got := poll(t, s, p{"offset": first + offset - 1, "limit": limit})
			if len(got) != min(limit, said-confirmed) {
				rt.Fatalf("%d updates, %d of %d confirmed", len(got), confirmed, said)
			}
			for i, u := range got {
				if u.ID != int64(first+confirmed+i) || u.Message.Text != fmt.Sprint(confirmed+i+1) {
					rt.Fatalf("update %d is %+v", i, u)
				}
			}
		}
	})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, faketelegram.Options{})
		began := time.Now()
		if got := poll(t, s, p{"timeout": 500}); len(got) != 0 || time.Since(began) != 50*time.Second {
			t.Errorf("%v after %s, want nothing after 50 s", got, time.Since(began))
		}
		got := make(chan string)
		go func() { got <- texts(poll(t, s, p{"offset": 1, "timeout": 30})) }()
		synctest.Wait()
		if !s.Polling("") {
			t.Fatal("no poll")
		}
		began = time.Now()
		say(s, "a b")
		if text, took := <-got, time.Since(began); text != "a b" || took > 2*time.Millisecond {
			t.Errorf("%q after %s", text, took)
		}
		if s.Polling("") {
			t.Error("the poll is still there")
		}

		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			got <- fmt.Sprint(call(ctx, t, s, "getUpdates", p{"offset": first + 2, "timeout": 30}).Gone)
		}()
		synctest.Wait()
		cancel()
		if <-got != "true" || s.Polling("") {
			t.Error("the poll of a dead caller is there")
		}
		if r := s.Report(); r.Overlaps != 0 || r.Conflicts != 0 || r.Sent != 2 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestSecondPollEndsTheFirst(t *testing.T) {
	const other = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	synctest.Test(t, func(t *testing.T) {
		s := server(t, faketelegram.Options{})
		results := make(chan result)
		long := func(offset int) {
			go func() { results <- call(t.Context(), t, s, "getUpdates", p{"offset": offset, "timeout": 40}) }()
			synctest.Wait()
		}
		long(1)
		began := time.Now()
		long(2)
		wants(t, "first", <-results, 409, other)
		long(3)
		wants(t, "second", <-results, 409, other)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("a second conflict after %s, want 3 s", took)
		}
		call(t.Context(), t, s, "getUpdates", p{"offset": 4}) // does not wait, and ends nothing
		if !s.Polling("") {
			t.Error("the third was ended")
		}
		wants(t, "webhook", call(t.Context(), t, s, "setWebhook", p{"url": "ftp://x"}), 400, "Bad Request: invalid webhook URL specified")
		time.Sleep(3 * time.Second)
		call(t.Context(), t, s, "setWebhook", p{"url": "https://bot.example.org/hook"})
		wants(t, "third", <-results, 409, "Conflict: terminated by setWebhook request")
		time.Sleep(3 * time.Second)
		wants(t, "with a webhook", call(t.Context(), t, s, "getUpdates", nil), 409,
			"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
		if r := s.Report(); r.Overlaps != 3 || r.Conflicts != 4 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestRevokedPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, faketelegram.Options{})
		results := make(chan result)
		go func() { results <- call(t.Context(), t, s, "getUpdates", p{"timeout": 40}) }()
		synctest.Wait()
		s.Revoke("")
		wants(t, "poll", <-results, 401, "Unauthorized")
	})
}

func TestCloseEndsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, faketelegram.Options{})
		results := make(chan result)
		go func() { results <- call(t.Context(), t, s, "getUpdates", p{"timeout": 40}) }()
		synctest.Wait()
		s.Close()
		if r := <-results; !r.Gone {
			t.Errorf("%+v", r)
		}
	})
}

func TestAskingTheSameAgainIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, faketelegram.Options{})
		say(s, "a b c")
		for _, want := range []string{"a b c", "a"} { // at once: one only
			if got := texts(poll(t, s, p{"offset": first})); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		time.Sleep(time.Second)
		if got := texts(poll(t, s, p{"offset": first})); got != "a b c" {
			t.Errorf("later: %q", got)
		}
		poll(t, s, p{"offset": first + 3})
		began := time.Now()
		poll(t, s, p{"offset": first + 3})
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("nothing again after %s, want 3 s", took)
		}
	})
}

func TestAllowedUpdatesAreRemembered(t *testing.T) {
	s := unlimited(t)
	id := s.Say("", dm, ann, "a")
	act := func() {
		s.Say("", dm, ann, "b")
		s.Edit("", dm.ID, id, "c")
		s.React("", dm.ID, id, ann, "👍")
	}
	count := func(params p) string {
		messages, edits, reactions := 0, 0, 0
		list := poll(t, s, params)
		for _, u := range list {
			switch {
			case u.Message != nil:
				messages++
			case u.Edited != nil:
				edits++
			case u.Reaction != nil:
				reactions++
			}
		}
		return fmt.Sprint(messages, edits, reactions)
	}
	poll(t, s, p{"offset": -1})
	next := func() int64 { return poll(t, s, p{"offset": -1})[0].ID + 1 }
	for _, c := range []struct {
		what    string
		allowed any
		want    string
	}{
		{"default", nil, "1 1 0"},
		{"reactions asked for", []string{"message", "message_reaction"}, "1 0 1"},
		{"omitted", nil, "1 0 1"},
		{"not a list", "message", "1 0 1"},
		{"other case and nonsense", []string{"EDITED_message", "x"}, "0 1 0"},
		{"empty is the default", []string{}, "1 1 0"},
	} {
		offset := next()
		params := p{"offset": offset}
		if c.allowed != nil {
			params["allowed_updates"] = c.allowed
		}
		poll(t, s, params)
		act()
		if got := count(p{"offset": offset}); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if got := s.Allowed(""); slices.Contains(got, "message_reaction") || !slices.Contains(got, "callback_query") {
		t.Errorf("allowed %v", got)
	}
}

func TestUpdatesDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unlimited(t)
		id := send(t, s, dm.ID, "tap me").id(t)
		say(s, "old")
		s.Tap(dm.ID, id, "x", ann)
		time.Sleep(3 * time.Minute)
		if got := poll(t, s, nil); texts(got) != "old" || len(got) != 1 {
			t.Errorf("after 3 minutes %+v; the tap is dead", got)
		}
		time.Sleep(24 * time.Hour)
		if got := poll(t, s, nil); len(got) != 0 {
			t.Errorf("after a day %+v", got)
		}
	})
}

func TestInject(t *testing.T) {
	s := unlimited(t)
	for _, raw := range []string{
		`{"message":{"text":"no id"}}`,
		`{"update_id":870000005,"message":{"text":"later"}}`,
		`{"update_id":3,"message":{"text":"earlier"}}`,
		`{"update_id":"seven"}`,
		`[]`, `null`,
		`{}`,
	} {
		s.Inject(json.RawMessage(raw))
	}
	get := func(params p) string { return string(call(t.Context(), t, s, "getUpdates", params).Result) }
	want := `[{"message":{"text":"no id"},"update_id":870000001},{"update_id":870000005,"message":{"text":"later"}},` +
		`{"update_id":3,"message":{"text":"earlier"}},{"update_id":"seven"},[],null,{"update_id":870000006}]`
	if got := get(nil); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := get(p{"offset": 870000005}), `[{"update_id":870000005,"message":{"text":"later"}},{"update_id":870000006}]`; got != want {
		t.Errorf("what has no id to confirm it comes once; got %s", got)
	}
	s.Inject(json.RawMessage(`{"message":`))
	if r := call(t.Context(), t, s, "getUpdates", p{"offset": 870000007}); r.OK || r.Status != 200 {
		t.Errorf("what is not JSON spoils the answer: %+v", r)
	}
}

func TestReplayAndSkip(t *testing.T) {
	s := unlimited(t)
	say(s, "a b c")
	poll(t, s, p{"offset": first + 3})
	s.Replay("", 2)
	if got := poll(t, s, p{"offset": first + 3}); texts(got) != "b c" || got[0].ID != first+1 {
		t.Errorf("replayed %+v", got)
	}
	if got := poll(t, s, p{"offset": first + 3}); len(got) != 0 {
		t.Errorf("a second time %+v", got)
	}
	s.SkipTo("", 17)
	say(s, "d")
	if got := poll(t, s, p{"offset": first + 3}); texts(got) != "d" || got[0].ID != 17 {
		t.Errorf("after a week %+v", got)
	}
	if got := poll(t, s, p{"offset": 18}); len(got) != 0 {
		t.Errorf("confirmed %+v", got)
	}
}
