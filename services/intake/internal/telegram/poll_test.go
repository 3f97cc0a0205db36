package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

func TestMessages(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	r := run(t, h, s.URL())
	until(t, s, "a long poll", func(s *faketelegram.Server) bool { return s.Polling("") }) // reactions come when they were asked for
	first := s.Say("", faketelegram.Private(ann), ann, "hello "+whisper)
	s.Edit("", ann.ID, first, "hello again")
	s.Say("", faketelegram.Private(ann), ann, "reply", faketelegram.ReplyTo(first), faketelegram.ForwardedFromHidden("Eve"))
	s.React("", ann.ID, first, ann, "👍")
	got := h.waitFor(t, 4)
	key := fmt.Sprintf("tg.123456789.%d", first)
	if r := got[0]; r.Session != annSession || r.Key != key || r.From.ID != "telegram:1001" || r.From.Name != "Ann Bee" || !r.Tell || r.Group ||
		r.Native != fmt.Sprint(first) || r.Text != "hello "+whisper {
		t.Errorf("message: %+v", r)
	}
	if r := got[1]; r.Edits != thread.MessageID(annSession, key) || r.Text != "hello again" || !strings.HasPrefix(r.Key, "tg.123456789.e") {
		t.Errorf("edit: %+v", r)
	}
	if r := got[2]; r.Quote == nil || r.Quote.Native != fmt.Sprint(first) || r.Forwarded != "Eve" {
		t.Errorf("reply: %+v", r)
	}
	if r := got[3]; r.Reaction == nil || r.Reaction.Native != fmt.Sprint(first) || !slices.Equal(r.Reaction.Emoji, []string{"👍"}) {
		t.Errorf("reaction: %+v", r)
	}
	confirmed(t, s)
	h.wait(t, "the commands are noted", func() bool { return len(h.values) == 1 })
	if s.Commands("")["stop"] == "" {
		t.Error("no commands are set")
	}
	until(t, s, "a long poll", func(s *faketelegram.Server) bool { return s.Polling("") })
	state := r.States()[0]
	if state.Status != Polling || state.Username != "test_bot" || state.LastUpdate == 0 || state.LastError != "" {
		t.Errorf("state %+v", state)
	}
	r.stop(t)
	if s.Report().Overlaps != 0 {
		t.Error("polls overlap")
	}
	// The menu is not set again.
	run(t, h, s.URL())
	until(t, s, "a long poll", func(s *faketelegram.Server) bool { return s.Polling("") })
	set := 0
	for _, c := range s.Calls() {
		if c.Method == "setMyCommands" {
			set++
		}
	}
	if set != 1 {
		t.Errorf("the commands were set %d times", set)
	}
}

// Whatever each takes and however often it fails: a chat keeps its order, and nothing is missing or twice.
func TestOrderPerChat(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.submit = func(ctx context.Context, r wire.Request) error {
		if !pause(ctx, rand.N(3*time.Millisecond)) {
			return context.Cause(ctx)
		}
		if rand.IntN(5) == 0 {
			return fault.New([]fault.Kind{fault.Busy, fault.Full, fault.Unavailable, fault.Timeout}[rand.IntN(4)], "not now")
		}
		return nil
	}
	h.judge = func(access.Attempt) error {
		if rand.IntN(10) == 0 {
			return fault.New(fault.Unavailable, "not now")
		}
		return nil
	}
	run(t, h, s.URL())
	const chats, each = 20, 20
	for n := range each {
		for c := range chats {
			u := faketelegram.User{ID: int64(2000 + c), FirstName: "U"}
			s.Say("", faketelegram.Private(u), u, fmt.Sprintf("%04d", n))
		}
	}
	h.waitFor(t, chats*each)
	confirmed(t, s)
	for c := range chats {
		got := h.texts(fmt.Sprintf("main.telegram.bot.%d", 2000+c))
		if len(got) != each || !slices.IsSorted(got) {
			t.Errorf("chat %d: %v", c, got)
		}
	}
}

// An update that is not done is not confirmed, and holds up no other chat; when the process dies it comes again.
func TestNothingIsConfirmedTooEarly(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.submit = func(ctx context.Context, r wire.Request) error {
		if r.Session != annSession {
			return nil
		}
		<-ctx.Done()
		return fault.New(fault.Timeout, "nobody knows")
	}
	r := run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "stuck")
	for i := range 5 {
		s.Say("", faketelegram.Private(bob), bob, fmt.Sprint("b", i))
	}
	h.waitFor(t, 5)
	s.Say("", faketelegram.Private(bob), bob, "b5") // after the first answer
	h.waitFor(t, 6)
	if got := s.Report(); got.Confirmed != 0 || got.Pending != 7 {
		t.Fatalf("%d updates are confirmed, and the first is not done", got.Confirmed)
	}
	r.stop(t)
	if got := s.Report(); got.Confirmed != 0 {
		t.Fatalf("%d updates are confirmed at the end", got.Confirmed)
	}
	h.submit = nil
	run(t, h, s.URL())
	h.waitFor(t, 7)
	confirmed(t, s)
	want := []string{"b0", "b1", "b2", "b3", "b4", "b5", "stuck"}
	if got := h.texts(""); !slices.Equal(got, want) {
		t.Errorf("the journal has %v", got)
	}
}

// The numbers of updates begin anew below the last ones.
func TestNumbersBeginAnew(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "before")
	h.waitFor(t, 1)
	confirmed(t, s)
	s.SkipTo("", 1000)
	for i := range 3 {
		s.Say("", faketelegram.Private(ann), ann, fmt.Sprint("after", i))
	}
	h.waitFor(t, 4)
	confirmed(t, s)
	s.Say("", faketelegram.Private(ann), ann, "at last")
	h.waitFor(t, 5)
	if got := h.texts(""); !slices.Equal(got, []string{"before", "after0", "after1", "after2", "at last"}) {
		t.Errorf("%v", got)
	}
}

// What Telegram sends a second time is known by its key.
func TestRepeats(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	run(t, h, s.URL())
	for i := range 3 {
		s.Say("", faketelegram.Private(ann), ann, fmt.Sprint(i))
	}
	h.waitFor(t, 3)
	confirmed(t, s)
	s.Replay("", 3)
	s.Say("", faketelegram.Private(ann), ann, "end")
	h.wait(t, "the end", func() bool { return h.requests[len(h.requests)-1].Text == "end" })
	if got := h.texts(""); !slices.Equal(got, []string{"0", "1", "2", "end"}) {
		t.Errorf("%v", got)
	}
}

// What is at work and comes again, as the window has forgotten it, is not done once more.
func TestWorkComesAgain(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	release := make(chan struct{})
	h.submit = func(ctx context.Context, r wire.Request) error {
		if r.Text == "slow" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	}
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(bob), bob, "before")
	h.waitFor(t, 1)
	confirmed(t, s)
	s.Say("", faketelegram.Private(ann), ann, "slow")
	until(t, s, "it is sent", func(s *faketelegram.Server) bool { return s.Report().Sent >= 2 })
	for range 3 {
		before := s.Report()
		s.Replay("", 1)
		until(t, s, "it is sent again, and taken", func(s *faketelegram.Server) bool {
			now := s.Report()
			return now.Sent-before.Sent > now.Polls-before.Polls && now.Polls-before.Polls >= 3
		})
	}
	close(release)
	s.Say("", faketelegram.Private(ann), ann, "end")
	h.waitFor(t, 3)
	confirmed(t, s)
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, a := range h.judged {
		if a.User == ann.ID {
			n++
		}
	}
	if n != 2 {
		t.Errorf("two messages were handled %d times", n)
	}
}

// An update that nobody can read is kept, without the token, and those around it go on.
func TestPoison(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	r := run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "before")
	s.Inject(json.RawMessage(`{"message":{"message_id":"five","text":"` + whisper + ` bot` + faketelegram.DefaultToken + ` ` + strings.Repeat("é", 5000) + `"}}`))
	s.Inject(json.RawMessage(`{"message":{"text":"no chat"}}`))
	s.Inject(json.RawMessage(`{"update_id":"` + whisper + `","message":{}}`))
	s.Inject(json.RawMessage(`[1,2]`))
	s.Inject(json.RawMessage(`{"message":7}`))
	s.Say("", faketelegram.Private(ann), ann, "after")
	h.waitFor(t, 2)
	h.wait(t, "five are kept aside", func() bool { return len(h.bad) == 5 })
	confirmed(t, s)
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, q := range h.bad {
		if !strings.HasPrefix(key, "tg.123456789.q") || q.Channel != "telegram" || q.Account != "bot" || q.Reason == "" || q.Bytes == 0 || q.Data == "" {
			t.Errorf("%s: %+v", key, q)
		}
		if strings.Contains(q.Data, canary) || len(q.Data) > maxKept || strings.Contains(q.Reason, whisper) {
			t.Errorf("%s: %d bytes, %q, %.200q", key, len(q.Data), q.Reason, q.Data)
		}
	}
	r.logged(t, "cannot be read and is kept aside")
}

// A panic while one update is handled is kept to that update.
func TestPanic(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.submit = func(_ context.Context, r wire.Request) error {
		if r.Text == "boom" {
			panic("boom " + whisper)
		}
		return nil
	}
	r := run(t, h, s.URL())
	for _, text := range []string{"before", "boom", "after"} {
		s.Say("", faketelegram.Private(ann), ann, text)
	}
	h.waitFor(t, 2)
	h.wait(t, "it is kept aside", func() bool { return len(h.bad) == 1 })
	confirmed(t, s)
	r.logged(t, "panicked")
}

// What fails in a way that nobody has foreseen is given up after a while; what waits for room is not.
func TestRefusalsAndFailures(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	var mu sync.Mutex
	tries := map[string]int{}
	h.submit = func(_ context.Context, r wire.Request) error {
		mu.Lock()
		defer mu.Unlock()
		tries[string(r.Text)]++
		switch r.Text {
		case "invalid", "too_large", "not_found", "denied":
			return fault.New(fault.Kind(r.Text), "no")
		case "internal":
			return fmt.Errorf("what")
		case "full", "busy", "timeout", "unavailable", "conflict":
			if tries[string(r.Text)] < 15 {
				return fault.New(fault.Kind(r.Text), "not now")
			}
		}
		return nil
	}
	r := run(t, h, s.URL())
	all := []string{"invalid", "too_large", "not_found", "denied", "internal", "full", "busy", "timeout", "unavailable", "conflict", "end"}
	for _, text := range all {
		s.Say("", faketelegram.Private(ann), ann, text)
	}
	h.waitFor(t, 7)
	confirmed(t, s)
	if got := h.texts(""); !slices.Equal(got, append([]string{""}, all[5:]...)) { // what was not found is told
		t.Errorf("the journal has %v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	for text, want := range map[string]int{"invalid": 1, "too_large": 1, "not_found": 1, "denied": 1, "internal": 10, "full": 15, "conflict": 15, "end": 1} {
		if tries[text] != want {
			t.Errorf("%s was tried %d times, want %d", text, tries[text], want)
		}
	}
	if len(h.bad) != 1 {
		t.Errorf("%d are kept aside", len(h.bad))
	}
	r.logged(t, "telegram updates wait: they cannot be taken in now", "wait no longer")
}

// A command in a chat where nothing was said yet is answered, not passed over.
func TestCommandBeforeAnything(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.submit = func(_ context.Context, r wire.Request) error {
		if r.Text == "/stop" {
			return fault.New(fault.NotFound, "there is no session")
		}
		return nil
	}
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "/stop")
	if r := h.waitFor(t, 1)[0]; !r.Tell || !strings.Contains(r.Refusal, "write a message first") {
		t.Errorf("%+v", r)
	}
	confirmed(t, s)
}

// Two processes: one polls. When it loses the lease the other goes on.
func TestOneProcessPolls(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	a := run(t, h, s.URL())
	until(t, s, "a poll", func(s *faketelegram.Server) bool { return s.Polling("") })
	b := run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "one")
	h.waitFor(t, 1)
	if got := b.States()[0].Status; got != Waiting && got != Starting {
		t.Errorf("the second process is %s", got)
	}
	a.stop(t)
	s.Say("", faketelegram.Private(ann), ann, "two")
	h.waitFor(t, 2)
	h.mu.Lock()
	close(h.lost)
	h.lost = make(chan struct{})
	h.mu.Unlock()
	s.Say("", faketelegram.Private(ann), ann, "three")
	h.waitFor(t, 3)
	if got := s.Report(); got.Overlaps != 0 || got.Conflicts != 0 {
		t.Errorf("%d polls overlap, %d conflicts", got.Overlaps, got.Conflicts)
	}
}

// What has no number that can be read must not confirm what comes after it under the number that was guessed for it.
func TestGuessedNumbersConfirmNothing(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	run(t, h, s.URL())
	want := []string{"0"}
	s.Say("", faketelegram.Private(ann), ann, "0")
	h.waitFor(t, 1)
	for i := 1; i <= 5; i++ {
		s.Inject(json.RawMessage(fmt.Sprintf(`{"update_id":"no number %d"}`, i)))
		h.wait(t, "it is kept aside", func() bool { return len(h.bad) == i })
		s.Say("", faketelegram.Private(ann), ann, fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
		h.waitFor(t, i+1)
	}
	confirmed(t, s)
	if got := h.texts(""); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
