package telegram_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram/format"
)

func TestAnswerIsMarkdown(t *testing.T) {
	w := start(t, plenty)
	r := w.send(t, answer(anna, "**Done:** see `x < y`."))
	m := w.Messages(annaChat)
	if len(m) != 1 || r != (channel.Receipt{ID: strconv.Itoa(m[0].ID)}) || m[0].Text != "Done: see x < y." || m[0].Thread != 0 {
		t.Fatalf("%+v, %+v", r, m)
	}
	want := []faketelegram.Entity{{Type: "bold", Length: 5}, {Type: "code", Offset: 10, Length: 5}}
	if !slices.Equal(m[0].Entities, want) || m[0].Markup != nil || !strings.Contains(m[0].Preview, "true") {
		t.Errorf("%+v", m[0])
	}
}

// TestOthersAreShownToTheLetter: a question must not look otherwise than what will run.
func TestOthersAreShownToTheLetter(t *testing.T) {
	w := start(t, plenty)
	const text = "Run `rm **/*.go` [here](https://example.com) <b>now</b>?"
	for _, kind := range []string{"notice.posted", "turn.failed", "approval.requested", "session.reset"} {
		w.send(t, channel.Item{Session: anna, Kind: kind, Text: text})
	}
	for _, m := range w.Messages(annaChat) {
		if m.Text != text || slices.ContainsFunc(m.Entities, func(e faketelegram.Entity) bool { return e.Type != "url" }) {
			t.Errorf("%+v", m)
		}
	}
}

func TestTopics(t *testing.T) {
	w := start(t, plenty)
	w.send(t, answer(topic, "in the topic"))
	w.send(t, answer(general, "in general"))
	for i, want := range []int{42, 0} {
		if m := w.Messages(forumChat)[i]; m.Thread != want {
			t.Errorf("%+v", m)
		}
	}
	w.CloseTopic(forumChat, 42)
	if e := w.fails(t, answer(topic, "x"), channel.Permanent); !strings.Contains(e.Reason, "topic is gone") {
		t.Error(e.Reason)
	}
	if n := len(w.Messages(forumChat)); n != 2 {
		t.Errorf("%d messages: what belongs in a topic is elsewhere", n)
	}
}

// TestLongAnswer: 9,000 characters are three messages, in order and complete.
func TestLongAnswer(t *testing.T) {
	w := start(t, plenty)
	text := strings.Repeat("0123456 ", 9000/8)
	i := answer(anna, text)
	for ; i.Part < 3; i.Part++ {
		if r := w.send(t, i); r.More != (i.Part < 2) || r.ID == "" {
			t.Fatalf("part %d: %+v", i.Part, r)
		}
	}
	got := w.texts(annaChat)
	if len(got) != 3 || strings.TrimSpace(text) != strings.Join(got, " ") {
		t.Errorf("%d messages", len(got))
	}
	if r := w.send(t, i); r != (channel.Receipt{}) || len(w.texts(annaChat)) != 3 {
		t.Errorf("a part beyond the last: %+v", r)
	}
}

func TestOddTexts(t *testing.T) {
	w := start(t, plenty)
	for name, text := range map[string]string{
		"nothing": "", "spaces": " \n\t ", "invisible": "\u200b", "bad UTF-8": "a\xffb", "control": "\x00",
		"bidi": "\u202eabc\u202c", "zalgo": "Z" + strings.Repeat("\u0301", 300), "emoji": strings.Repeat("👩‍👩‍👧‍👦", 1000),
		"fences": strings.Repeat("```go\nx := 1\n```\n", 500), "long line": strings.Repeat("x", 20_000),
		"quotes": strings.Repeat("> **x** `y`\n", 2000),
	} {
		for _, i := range []channel.Item{answer(anna, text), notice(anna, text)} {
			w.whole(t, i)
			i.Repeat = true
			w.whole(t, i)
			if _, err := w.Draft(t.Context(), anna, "", text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if r := w.Report(); len(r.Refused) > 0 {
		t.Errorf("refused: %v", r.Refused)
	}
}

// TestRepeat: the mark is there, entities stay where they were, and a full part still fits.
func TestRepeat(t *testing.T) {
	w := start(t, plenty)
	i := answer(anna, strings.Repeat("**bold** "+strings.Repeat("word ", 30)+"\n\n", 60))
	i.Repeat = true
	w.whole(t, i)
	for _, m := range w.Messages(annaChat) {
		text, ok := strings.CutPrefix(m.Text, "↻ perhaps a repeat:\n")
		e := m.Entities[0]
		if !ok || e.Offset != format.Units(m.Text)-format.Units(text) || !strings.HasPrefix(text, "bold") {
			t.Errorf("%.40q, %+v", m.Text, e)
		}
	}
}

func TestReply(t *testing.T) {
	w := start(t, plenty)
	asked := w.Say("", faketelegram.Group(groupChat, "friends"), person, "a question")
	i := answer(group, strings.Repeat("word ", 1000))
	i.Reply = strconv.Itoa(asked)
	w.whole(t, i)
	if m := w.Messages(groupChat); len(m) != 2 || m[0].ReplyTo != asked || m[1].ReplyTo != 0 {
		t.Errorf("%d messages, the first replies to %d, want %d", len(m), m[0].ReplyTo, asked)
	}
	w.Delete(groupChat, asked)
	for _, reply := range []string{i.Reply, "nonsense", "0", "-4"} {
		i := answer(group, "late")
		i.Reply = reply
		w.send(t, i)
	}
	if n := len(w.Messages(groupChat)); n != 6 {
		t.Errorf("%d messages", n)
	}
}

// TestEntitiesRefused: the same part goes at once without them, and once.
func TestEntitiesRefused(t *testing.T) {
	w := start(t, plenty)
	refused := faketelegram.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: can't parse entities: Unsupported URL"}
	w.Fail(refused)
	w.send(t, answer(anna, "**bold**"))
	if m := w.Messages(annaChat); len(m) != 1 || m[0].Text != "bold" || len(m[0].Entities) != 0 {
		t.Fatalf("%+v", m)
	}
	refused.Times = 2
	w.Fail(refused)
	w.fails(t, answer(anna, "**bold**"), channel.Permanent)
	w.Fail(faketelegram.Fault{Method: "editMessageText", Status: 400, Description: "Bad Request: ENTITY_BOUNDS_INVALID: entity"})
	i := answer(anna, "*newer*")
	i.Draft = strconv.Itoa(w.Messages(annaChat)[0].ID)
	w.send(t, i)
	if m := w.Messages(annaChat); len(m) != 1 || m[0].Text != "newer" || len(m[0].Entities) != 0 {
		t.Errorf("%+v", m)
	}
}

// TestDraftBecomesTheAnswer: its first part; the others follow.
func TestDraftBecomesTheAnswer(t *testing.T) {
	w := start(t, plenty)
	receipt, err := w.Draft(t.Context(), anna, "", "word")
	if err != nil {
		t.Fatal(err)
	}
	i := answer(anna, strings.Repeat("word ", 1000))
	i.Draft = receipt
	if r := w.send(t, i); r != (channel.Receipt{ID: receipt, More: true}) {
		t.Fatalf("%+v", r)
	}
	i.Repeat = true // an edit is no repeat
	if r := w.send(t, i); r != (channel.Receipt{ID: receipt, More: true}) {
		t.Fatalf("again: %+v", r)
	}
	i.Part, i.Repeat = 1, false
	if r := w.send(t, i); r.More || r.ID == receipt {
		t.Fatalf("%+v", r)
	}
	if got := w.texts(annaChat); len(got) != 2 || strings.Join(got, " ")+" " != i.Text {
		t.Errorf("%d messages", len(got))
	}
}

// TestDraftIsGone: then the answer is a new message.
func TestDraftIsGone(t *testing.T) {
	w := start(t, plenty)
	receipt, err := w.Draft(t.Context(), anna, "", "word")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := strconv.Atoi(receipt)
	w.Delete(annaChat, id)
	for n, draft := range []string{receipt, "999", "nonsense"} {
		i := answer(anna, "the answer")
		i.Draft = draft
		if r := w.send(t, i); r.ID == receipt || len(w.Messages(annaChat)) != n+1 {
			t.Errorf("%s: %+v", draft, r)
		}
	}
	receipt, err = w.Draft(t.Context(), anna, receipt, "more")
	if channel.ErrorOf(err).Class != channel.Permanent || receipt != strconv.Itoa(id) {
		t.Errorf("an edit of what is gone: %q, %v", receipt, err)
	}
	if n := w.count("sendMessage"); n != 4 {
		t.Errorf("%d messages sent", n)
	}
}

// TestMigration: the group has got another number; what is sent goes there, and what was shown before is not touched.
func TestMigration(t *testing.T) {
	w := start(t, plenty)
	before := w.send(t, notice(group, "before"))
	w.Migrate("", groupChat, faketelegram.Supergroup(-100555, "friends"))
	first := w.send(t, answer(group, "**first**"))
	calls := w.count("sendMessage")
	if second := w.send(t, answer(group, "second")); !strings.HasPrefix(second.ID, "-100555/") || w.count("sendMessage") != calls+1 {
		t.Errorf("%+v: the number is not remembered", second)
	}
	if err := w.Typing(t.Context(), group); err != nil {
		t.Error(err)
	}
	edited := answer(group, "edited")
	edited.Draft = first.ID
	w.send(t, edited)
	again := sender(t, w.log, oneBot(w.URL())) // one that does not know of it yet
	if _, err := again.Draft(t.Context(), group, first.ID, "edited again"); err != nil {
		t.Error(err)
	}
	if got := w.texts(-100555); !slices.Equal(got, []string{"edited again", "second"}) {
		t.Errorf("%q", got)
	}
	w.Fail(faketelegram.Fault{Method: "editMessageText", Status: 400, MigrateTo: -100555, Description: "Bad Request: group chat was upgraded to a supergroup chat"})
	old := answer(group, "third")
	old.Draft = before.ID
	if r, err := again.Send(t.Context(), old); err != nil || !strings.HasPrefix(r.ID, "-100555/") {
		t.Errorf("%+v, %v", r, err)
	}
	if got := w.texts(groupChat); !slices.Equal(got, []string{"before"}) {
		t.Errorf("%q", got)
	}
}

// TestManyAtOnce: many sessions, a small group of limits, and the order in each chat.
func TestManyAtOnce(t *testing.T) {
	w := start(t, plenty)
	var wg sync.WaitGroup
	for n := range 40 {
		id := int64(20_000 + n)
		w.AddChat("", faketelegram.Private(faketelegram.User{ID: id}))
		wg.Go(func() {
			for k := range 5 {
				i := notice(session.ID(fmt.Sprint("main.telegram.mybot.", id)), fmt.Sprint("message ", k))
				if _, err := w.Send(t.Context(), i); err != nil {
					t.Error(err)
				}
				if err := w.Typing(t.Context(), i.Session); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range 40 {
		got := w.texts(int64(20_000 + n))
		if len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("%q", got)
		}
	}
}

// TestLogIsClean: neither contents nor the token.
func TestLogIsClean(t *testing.T) {
	w := start(t, plenty)
	w.Fail(faketelegram.Fault{Method: "sendMessage", Status: 429, RetryAfter: 1})
	_, _ = w.Send(t.Context(), answer(anna, "sesame")) // what it says does not matter
	w.send(t, answer(group, "sesame"))
	w.Revoke("")
	w.fails(t, answer(group, "sesame"), channel.Retry)
	w.fails(t, answer(group, "sesame"), channel.Retry)
	log := w.log.String()
	_, secret, _ := strings.Cut(faketelegram.DefaultToken, ":")
	if strings.Contains(log, "sesame") || strings.Contains(log, secret) {
		t.Error(log)
	}
	if strings.Count(log, "level=WARN") != 2 || strings.Count(log, "level=DEBUG") != 4 {
		t.Error(log)
	}
	if strings.ContainsFunc(log, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("%q", log)
	}
}

// TestManyParts: an answer of many parts is cut once, not again for each of them: with the square of them this would not come to an
// end within the time that a test has.
func TestManyParts(t *testing.T) {
	w := start(t, plenty)
	i := answer(anna, strings.Repeat("**a** *b* `c` [d](https://e.f)\n\n", 512<<10/32))
	for more := true; more; i.Part++ {
		more = w.send(t, i).More
	}
	if i.Part < 100 {
		t.Errorf("%d parts", i.Part)
	}
}
