package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

func TestAccess(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	listed, other, forum := faketelegram.Supergroup(-100777, "Listed"), faketelegram.Supergroup(-100888, "Other"), faketelegram.Forum(-100999, "Forum")
	h.policy = access.Policy{Mode: access.Pairing, Allow: []int64{ann.ID}, Groups: map[int64]access.Group{
		-100777: {RequireMention: true}, -100999: {}, -5: {},
	}}
	r := run(t, h, s.URL())
	s.Say("", other, ann, whisper)
	s.Say("", other, ann, whisper)
	s.Say("", listed, ann, "not meant for it")
	s.Say("", faketelegram.Private(bob), bob, "let me in")
	s.Say("", faketelegram.Private(bob), bob, "please")
	s.Say("", faketelegram.Private(ann), ann, "hello")
	s.Say("", listed, bob, "@test_bot hi")
	s.Say("", forum, ann, "in a topic", faketelegram.InTopic(42))
	s.Say("", forum, ann, "as the group", faketelegram.AsChat(forum))
	s.Say("", faketelegram.Group(-5, "Old"), ann, "small group")
	h.waitFor(t, 6)
	s.Migrate("", -5, faketelegram.Supergroup(-1005, "New"))
	s.Say("", faketelegram.Supergroup(-1005, "New"), ann, "large group")
	got := h.waitFor(t, 7)
	confirmed(t, s)
	want := map[string]string{
		"main.telegram.bot.1002": "", annSession: "hello", "main.telegram.bot.-100777": "hi", "main.telegram.bot.-100999_t42": "in a topic",
		"main.telegram.bot.-100999": "as the group", "main.telegram.bot.-5": "small group",
	}
	for _, q := range got[:6] {
		if text, ok := want[q.Session]; !ok || string(q.Text) != text {
			t.Errorf("%s: %q", q.Session, q.Text)
		}
		delete(want, q.Session)
		if q.Session == "main.telegram.bot.1002" && (!strings.Contains(q.Refusal, "ABCDEFGH") || !q.Tell || q.Native != "") {
			t.Errorf("pairing: %+v", q)
		}
		if q.Text == "as the group" && q.From.ID != "telegram:-100999" {
			t.Errorf("anonymous: %+v", q.From)
		}
	}
	if last := got[6]; last.Session != "main.telegram.bot.-5" || last.Text != "large group" {
		t.Errorf("after the move: %+v", last)
	}
	r.logged(t, "messages of a telegram group that is not listed are ignored", `channels.telegram.bot.groups: {\"-100888\": {}}`)
	r.logged(t, "the configuration may keep the old one")
	for _, text := range []string{"not listed are ignored", "has another number"} {
		if n := strings.Count(r.log.String(), text); n != 1 {
			t.Errorf("%q is said %d times", text, n)
		}
	}
}

// Somebody who is not told a code, as others wait, is seen in the log: once, not for each message.
func TestCrowdAtTheDoor(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.policy = access.Policy{Mode: access.Pairing}
	r := run(t, h, s.URL())
	for i := range int64(6) {
		u := faketelegram.User{ID: 2000 + i, FirstName: "U"}
		s.Say("", faketelegram.Private(u), u, whisper)
		s.Say("", faketelegram.Private(u), u, whisper)
		h.wait(t, "a verdict", func() bool { return len(h.judged) == int(2*i+2) })
	}
	confirmed(t, s)
	if n := len(h.texts("")); n != access.MaxOpen {
		t.Errorf("%d are told a code", n)
	}
	said := r.log.String()
	if n := strings.Count(said, "level=INFO msg=\"a stranger is not asked: three already wait\""); n != 1 || !strings.Contains(said, "jetclaw pairing list") {
		t.Errorf("it is said %d times:\n%s", n, said)
	}
}

func TestMembers(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	r := run(t, h, s.URL())
	for _, u := range []string{
		`{"chat":{"id":-100888,"type":"supergroup"},"from":{"id":1001},"new_chat_member":{"status":"member"}}`,
		`{"chat":{"id":-100888,"type":"supergroup"},"from":{"id":1001},"new_chat_member":{"status":"kicked"}}`,
		`{"chat":{"id":1001,"type":"private"},"from":{"id":1001},"new_chat_member":{"status":"kicked"}}`,
		`{"chat":{"id":1001,"type":"private"},"from":{"id":1001},"new_chat_member":{"status":"member"}}`,
	} {
		s.Inject(json.RawMessage(`{"my_chat_member":` + u + `}`))
	}
	confirmed(t, s)
	r.logged(t, "is in a group that is not listed", "no longer in a group", "has blocked", "has started")
	if len(h.texts("")) != 0 {
		t.Error("something was submitted")
	}
}

// Without a verdict nothing happens, and the update stays.
func TestFailsClosed(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	var broken sync.Map
	broken.Store("broken", true)
	h.judge = func(access.Attempt) error {
		if _, ok := broken.Load("broken"); ok {
			return fault.New(fault.Internal, "the fold is broken")
		}
		return nil
	}
	run(t, h, s.URL())
	s.Say("", faketelegram.Private(ann), ann, "hello")
	h.wait(t, "many tries", func() bool { return len(h.judged) > 20 })
	if len(h.texts("")) != 0 || s.Report().Confirmed != 0 {
		t.Fatal("it went on without a verdict")
	}
	broken.Clear()
	h.waitFor(t, 1)
	confirmed(t, s)
}

func TestSessionIDs(t *testing.T) {
	for _, p := range []string{peer(12345, 0), peer(-100777, 0), peer(-100777, 42)} {
		id, err := session.New("main", channel, "bot", p)
		if err != nil || id.Peer() != p || !strings.HasSuffix(string(id), "."+p) {
			t.Errorf("%s: %s, %v", p, id, err)
		}
	}
}

// The messages of a group that has another number are counted from 1 again: those that have the number of one before are others.
func TestMovedGroupCountsAnew(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.policy = access.Policy{Mode: access.Pairing, Groups: map[int64]access.Group{-5: {}}}
	run(t, h, s.URL())
	small, large := faketelegram.Group(-5, "Old"), faketelegram.Supergroup(-1005, "New")
	want := []string{"before 0", "before 1", "before 2", "after 0", "after 1", "after 2"}
	for _, text := range want[:3] {
		s.Say("", small, ann, text)
	}
	h.waitFor(t, 3)
	s.Migrate("", small.ID, large)
	for _, text := range want[3:] {
		s.Say("", large, ann, text)
	}
	s.Edit("", large.ID, 2, "after 0, edited") // number 2 of the old group is "before 1"
	got := h.waitFor(t, 7)
	confirmed(t, s)
	if texts := h.texts("main.telegram.bot.-5"); !slices.Equal(texts[:6], want) {
		t.Errorf("%q", texts)
	}
	if first := thread.MessageID("main.telegram.bot.-5", got[3].Key); got[6].Edits != first {
		t.Errorf("the edit is of %s, want %s", got[6].Edits, first)
	}
}
