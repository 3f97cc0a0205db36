package cli

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// chatHouse is a home whose agent has a Telegram bot, with people who write to it.
type chatHouse struct {
	*user
	model    *echoing
	telegram *faketelegram.Server
}

// The people. Ada owns the house.
var (
	ada   = faketelegram.User{ID: 12345, FirstName: "Ada"}
	eve   = faketelegram.User{ID: 666, FirstName: "Eve"}
	group = faketelegram.Chat{ID: -100777, Type: "supergroup", Title: "Engines"}
)

func private(u faketelegram.User) faketelegram.Chat {
	return faketelegram.Chat{ID: u.ID, Type: "private", FirstName: u.FirstName}
}

// newChatHouse has more in its configuration; bot is what stands in the section of the bot beside its token and server.
func newChatHouse(t *testing.T, bot, more string) *chatHouse {
	t.Helper()
	tg, err := faketelegram.Start(faketelegram.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	h := &chatHouse{model: newEchoing(t), telegram: tg}
	h.user = newUser(t, h.config(bot)+more, "MODEL_KEY="+modelKey, "TELEGRAM_BOT_TOKEN="+faketelegram.DefaultToken)
	return h
}

func (h *chatHouse) config(bot string) string {
	return fmt.Sprintf(`
models: {default: one/scripted, providers: {one: {api: openai, base_url: "%s/v1", api_key: "env:MODEL_KEY", vision: on}}}
channels: {http: {listen: off}, telegram: {mybot: {token: "env:TELEGRAM_BOT_TOKEN", api_root: %q%s}}}
tools: {exec: {enabled: true, sandbox: none}}
`, h.model.URL, h.telegram.URL(), bot)
}

// until waits for Telegram to be as ok wants it.
func (h *chatHouse) until(what string, ok func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if err := h.telegram.Wait(ctx, func(*faketelegram.Server) bool { return ok() }); err != nil {
		h.t.Fatalf("%s: %v\n%s", what, err, h.transcript())
	}
}

// transcript is what the bots said, and what they were refused.
func (h *chatHouse) transcript() string {
	var b strings.Builder
	for _, c := range h.telegram.Calls() {
		if c.Method != "getUpdates" || c.Status != 200 {
			fmt.Fprintf(&b, "%s %d %q %s %d\n", c.Method, c.Chat, c.Params["text"], c.Description, c.Status)
		}
	}
	return b.String()
}

// said are the texts of a chat.
func (h *chatHouse) said(chat int64) (all []string) {
	for _, m := range h.telegram.Messages(chat) {
		all = append(all, m.Text)
	}
	return all
}

// answered waits until a chat has a message with all of some words, and returns it.
func (h *chatHouse) answered(chat int64, words ...string) (found faketelegram.Message) {
	h.t.Helper()
	h.until(fmt.Sprintf("%d is told %q", chat, words), func() bool {
		for _, m := range h.telegram.Messages(chat) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Text, w) }) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// button is what a button of a message sends.
func (h *chatHouse) button(m faketelegram.Message, text string) string {
	h.t.Helper()
	for _, row := range m.Markup {
		for _, b := range row {
			if b.Text == text {
				return b.CallbackData
			}
		}
	}
	h.t.Fatalf("no button %q: %+v", text, m.Markup)
	return ""
}

// TestTelegramPairing: a stranger is told a code, is let in, and is answered from then on; nothing of before reaches the model.
func TestTelegramPairing(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, "", "")
	d := h.start()
	h.telegram.Say("", private(ada), ada, "the unread one")
	m := h.answered(ada.ID, "jetclaw pairing approve ")
	_, rest, _ := strings.Cut(m.Text, "pairing approve ")
	code := rest[:8]
	h.telegram.Say("", private(ada), ada, "hello?") // asked once an hour
	r := h.run("pairing", "approve", strings.ToLower(code), "--owner")
	r.want(t, 0)
	h.answered(ada.ID, "You are let in")
	d.kill()
	d = h.start()
	h.telegram.Say("", private(ada), ada, "good morning")
	h.answered(ada.ID, "you said: good morning")
	// One that was on its way at the kill may be shown again, marked.
	got := slices.DeleteFunc(h.said(ada.ID), func(s string) bool { return strings.HasPrefix(s, "↻") })
	if len(got) != 3 {
		t.Errorf("%q", got)
	}
	for _, request := range h.model.requests() {
		if strings.Contains(request, "the unread one") {
			t.Errorf("the model has read it: %s", request)
		}
	}
	h.run("pairing", "approve", "WRONGONE").want(t, 1, "WRONGONE")
	h.run("pairing", "revoke", "12345").want(t, 0)
	h.telegram.Say("", private(ada), ada, "and now?")
	h.answered(ada.ID, "pairing approve")
	d.stop()
	h.tokenless(d)
}

// wantEvents counts events of a session.
func (h *chatHouse) wantEvents(session string, want map[string]int) {
	h.t.Helper()
	r := h.run("events", "--json", "--session", session)
	r.want(h.t, 0)
	for name, n := range want {
		if got := strings.Count(r.stdout, `"type":"`+name+`"`); got != n {
			h.t.Errorf("%d of %s, want %d:\n%s", got, name, n, r.stdout)
		}
	}
}

// tokenless looks for the token wherever it must not be.
func (h *chatHouse) tokenless(d *daemon) {
	h.t.Helper()
	secret := []byte(faketelegram.DefaultToken[strings.Index(faketelegram.DefaultToken, ":")+1:])
	if strings.Contains(d.stderr.String(), string(secret)) {
		h.t.Error("the token is in the log")
	}
	err := filepath.WalkDir(h.home, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, secret) {
			h.t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// TestTelegramApproval: a question has buttons; a stranger's tap, the right one, one after it and one after a restart each get
// the right answer, and the question says who decided.
func TestTelegramApproval(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, `, groups: {"-100777": {require_mention: false}}`, `owners: [local, "telegram:12345"]`+"\n")
	d := h.start()
	h.telegram.SetMember(group.ID, eve, "member")
	h.telegram.Say("", group, ada, "run "+work)
	prompt := h.answered(group.ID, "may exec run?", work)
	yes, no := h.button(prompt, "Allow once"), h.button(prompt, "Deny")
	answer := func(id string) string {
		h.t.Helper()
		var text string
		h.until("the tap is answered", func() bool {
			a, ok := h.telegram.Answer(id)
			text = a.Text
			return ok
		})
		return text
	}
	if text := answer(h.telegram.Tap(group.ID, prompt.ID, yes, eve)); !strings.Contains(text, "not yours") {
		t.Errorf("a stranger is told %q", text)
	}
	d.kill()
	d = h.start()
	if text := answer(h.telegram.Tap(group.ID, prompt.ID, yes, ada)); !strings.Contains(text, "allowed once by telegram:12345") {
		t.Errorf("who allows is told %q", text)
	}
	h.answered(group.ID, "exit code 0")
	h.answered(group.ID, "may exec run?", "allowed once by telegram:12345")
	if text := answer(h.telegram.Tap(group.ID, prompt.ID, no, ada)); !strings.Contains(text, "allowed once by telegram:12345") {
		t.Errorf("who is late is told %q", text)
	}
	for _, m := range h.telegram.Messages(group.ID) {
		if len(m.Markup) > 0 {
			t.Errorf("buttons are left: %+v", m)
		}
		if strings.Contains(m.Text, "not yours") {
			t.Error("the group is told of a stranger's tap")
		}
	}
	d.stop()
	h.wantEvents("main.telegram.mybot.-100777", map[string]int{"approval.decided.v1": 1, "call.started.v1": 1, "call.completed.v1": 1})
}

// TestTelegramPhoto: an album is one message, and the model is shown its pictures.
func TestTelegramPhoto(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open", "")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	d := h.start()
	file := faketelegram.Attachment{Name: "a.png", Data: picture.Bytes()}
	h.telegram.Say("", private(ada), ada, "what is this?", faketelegram.Photo(file), faketelegram.Album("g1"))
	h.telegram.Say("", private(ada), ada, "", faketelegram.Photo(file), faketelegram.Album("g1"))
	h.until("an answer", func() bool { return len(h.said(ada.ID)) > 0 })
	d.stop()
	h.wantEvents("main.telegram.mybot.12345", map[string]int{"message.received.v1": 1, "turn.completed.v1": 1})
	if all := h.model.requests(); len(all) != 1 || !strings.Contains(all[0], "data:image/png;base64,") {
		t.Errorf("%.2000s", all)
	}
}

// TestTelegramNothingIsLost: whatever is said while the daemon is killed and killed again is answered, in order.
func TestTelegramNothingIsLost(t *testing.T) {
	t.Parallel()
	h := newChatHouse(t, ", access: open, streaming: off", "")
	d := h.start()
	const rounds = 3
	for i := range rounds {
		h.telegram.Say("", private(ada), ada, fmt.Sprintf("number %da", i))
		h.telegram.Say("", private(eve), eve, fmt.Sprintf("number %da", i))
		d.kill()
		h.telegram.Say("", private(ada), ada, fmt.Sprintf("number %db", i))
		d = h.start()
	}
	last := time.Now()
	h.until("everything is answered", func() bool { return len(h.said(ada.ID)) >= 2*rounds && len(h.said(eve.ID)) >= rounds })
	t.Logf("after %s", time.Since(last))
	d.stop()
	h.tokenless(d)
	r := h.telegram.Report()
	if r.Pending != 0 || r.Violations != (faketelegram.Violations{}) {
		t.Errorf("%+v", r)
	}
}

// TestTelegramStreams: an answer is seen while the model speaks, in one message that becomes the whole of it: also when the daemon
// is killed in the middle.
func TestTelegramStreams(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"in one life": false, "killed in the middle": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newChatHouse(t, ", access: open", "")
			pace := make(chan struct{}, 1000)
			h.model.pace = pace
			words := func(n int) {
				for range n {
					pace <- struct{}{}
				}
			}
			d := h.start()
			h.telegram.Say("", private(ada), ada, strings.TrimSpace(strings.Repeat("word ", 40))+" end")
			words(8)
			h.until("a draft", func() bool { m := h.telegram.Messages(ada.ID); return len(m) == 1 && m[0].Text != "" })
			if text := h.said(ada.ID)[0]; strings.Contains(text, "end") || !strings.HasPrefix(text, "you said:") {
				t.Errorf("a draft says %q", text)
			}
			if kill {
				h.events("delivery.drafted.v1")
				d.kill()
				d = h.start()
			}
			words(200)
			want := "you said: " + strings.Repeat("word ", 40) + "end"
			h.until("the whole answer", func() bool { return slices.Contains(h.said(ada.ID), want) })
			d.stop()
			if got := h.said(ada.ID); len(got) != 1 {
				t.Errorf("%d messages: %q", len(got), got)
			}
			if r := h.telegram.Report(); r.Violations != (faketelegram.Violations{}) {
				t.Errorf("%+v", r.Violations)
			}
		})
	}
}
