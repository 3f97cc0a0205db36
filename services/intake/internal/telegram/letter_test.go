package telegram

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

var us = botapi.User{ID: 42, IsBot: true, FirstName: "Jet", Username: "Jet_Bot"}

const (
	fromAnn   = `"from":{"id":1001,"first_name":"Ann","last_name":"Bee"}`
	inAnn     = `"chat":{"id":1001,"type":"private"}`
	inGroup77 = `"chat":{"id":-77,"type":"supergroup","title":"The group"}`
)

// parse reads an update as it comes over the wire.
func parse(t *testing.T, raw string) letter {
	t.Helper()
	u, err := botapi.DecodeUpdate(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return read(u, us)
}

func msg(fields ...string) string {
	return `{"update_id":900,"message":{"message_id":17,"date":1,` + strings.Join(fields, ",") + `}}`
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		name      string
		fields    []string
		text      string
		addressed bool
	}{
		{"private", []string{fromAnn, inAnn, `"text":"hello"`}, "hello", true},
		{"group", []string{fromAnn, inGroup77, `"text":"hello"`}, "hello", false},
		{"caption", []string{fromAnn, inAnn, `"caption":"look","photo":[{"file_id":"a"}]`}, "look", true},
		{"mention at the begin", []string{fromAnn, inGroup77, `"text":"@jet_bot, hello"`, mark("mention", 0, 8)}, "hello", true},
		{"mention alone", []string{fromAnn, inGroup77, `"text":"@Jet_Bot"`, mark("mention", 0, 8)}, "@Jet_Bot", true},
		{"mention in private stays", []string{fromAnn, inAnn, `"text":"@Jet_Bot hi"`, mark("mention", 0, 8)}, "@Jet_Bot hi", true},
		{"mention behind emoji", []string{fromAnn, inGroup77, `"text":"😀😀 @Jet_Bot"`, mark("mention", 5, 8)}, "😀😀 @Jet_Bot", true},
		{"mention of another", []string{fromAnn, inGroup77, `"text":"@jet_bot2 hi"`, mark("mention", 0, 9)}, "@jet_bot2 hi", false},
		{"mention out of the text", []string{fromAnn, inGroup77, `"text":"hi"`, mark("mention", 1, 8)}, "hi", false},
		{"mention that cuts a character", []string{fromAnn, inGroup77, `"text":"😀@Jet_Bot"`, mark("mention", 1, 8)}, "😀@Jet_Bot", false},
		{"no mark, no mention", []string{fromAnn, inGroup77, `"text":"@Jet_Bot hi"`}, "@Jet_Bot hi", false},
		{"text mention", []string{fromAnn, inGroup77, `"text":"Jet hi","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":42}}]`}, "Jet hi", true},
		{"text mention of another", []string{fromAnn, inGroup77, `"text":"Jet hi","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":43}}]`}, "Jet hi", false},
		{"caption mention", []string{fromAnn, inGroup77, `"caption":"@Jet_Bot look","photo":[{"file_id":"a"}],"caption_entities":[{"type":"mention","offset":0,"length":8}]`}, "look", true},
		{"bare command", []string{fromAnn, inGroup77, `"text":"/status"`, mark("bot_command", 0, 7)}, "/status", true},
		{"our command", []string{fromAnn, inGroup77, `"text":"/model@JET_bot gpt"`, mark("bot_command", 0, 14)}, "/model gpt", true},
		{"another's command", []string{fromAnn, inGroup77, `"text":"/model@other gpt"`, mark("bot_command", 0, 12)}, "/model@other gpt", false},
		{"command in the middle", []string{fromAnn, inGroup77, `"text":"try /stop"`, mark("bot_command", 4, 5)}, "try /stop", false},
		{"mention, then command", []string{fromAnn, inGroup77, `"text":"@Jet_Bot /stop"`, mark("mention", 0, 8)}, "/stop", true},
		{"reply to us", []string{fromAnn, inGroup77, `"text":"yes","reply_to_message":{"message_id":5,"chat":{"id":-77},"from":{"id":42,"is_bot":true},"text":"Shall I?"}`}, "yes", true},
		{"reply to another", []string{fromAnn, inGroup77, `"text":"yes","reply_to_message":{"message_id":5,"chat":{"id":-77},"from":{"id":43},"text":"Shall I?"}`}, "yes", false},
		{"location", []string{fromAnn, inAnn, `"location":{"latitude":52.52,"longitude":13.4}`}, "[location 52.52, 13.40]", true},
		{"venue", []string{fromAnn, inAnn, `"location":{"latitude":1,"longitude":2},"venue":{"title":"Bar ]","address":"High\nSt","location":{"latitude":-1.123456789,"longitude":2}}`}, "[venue Bar ), High St: -1.123457, 2.00]", true},
		{"contact", []string{fromAnn, inAnn, `"contact":{"phone_number":"+49","first_name":"Cy"}`}, "[contact Cy, +49]", true},
		{"poll", []string{fromAnn, inAnn, `"poll":{"question":"Tea?","options":[{"text":"yes"},{"text":"no"}]}`}, "[poll Tea? — yes / no]", true},
		{"dice", []string{fromAnn, inAnn, `"dice":{"emoji":"🎲","value":4}`}, "[dice 🎲 4]", true},
		{"command in large letters", []string{fromAnn, inAnn, `"text":"/Help"`, mark("bot_command", 0, 5)}, "/help", true},
		{"our command in large letters", []string{fromAnn, inGroup77, `"text":"/MODEL@JET_bot GPT"`, mark("bot_command", 0, 14)}, "/model GPT", true},
		{"start in large letters", []string{fromAnn, inAnn, `"text":"/START now"`, mark("bot_command", 0, 6)}, "/start now", true},
		{"unknown command", []string{fromAnn, inAnn, `"text":"/Weather Rome"`, mark("bot_command", 0, 8)}, "/Weather Rome", true},
		{"another's command in private", []string{fromAnn, inAnn, `"text":"/Help@other_bot"`, mark("bot_command", 0, 15)}, "/Help@other_bot", true},
		{"mention, then command in large letters", []string{fromAnn, inGroup77, `"text":"@Jet_Bot /Stop"`, mark("mention", 0, 8)}, "/stop", true},
		{"forwarded command", []string{fromAnn, inAnn, `"text":"/Help"`, mark("bot_command", 0, 5), `"forward_origin":{"type":"hidden_user","sender_user_name":"Eve"}`}, "/Help", true},
		{"command below a picture", []string{fromAnn, inAnn, `"caption":"/Help","photo":[{"file_id":"a"}]`}, "/Help", true},
		{"still sticker", []string{fromAnn, inAnn, `"sticker":{"file_id":"s","emoji":"😀"}`}, "", true},
		{"sticker", []string{fromAnn, inAnn, `"sticker":{"file_id":"s","emoji":"😀","is_animated":true}`}, "[sticker 😀]", true},
		{"lone surrogate", []string{fromAnn, inAnn, `"text":"a\ud83d"`}, "a\uFFFD", true},
		{"zero width joiners", []string{fromAnn, inGroup77, `"text":"👨‍👩‍👧 @Jet_Bot"`, mark("mention", 9, 8)}, "👨‍👩‍👧 @Jet_Bot", true},
	} {
		l := parse(t, msg(tc.fields...))
		if l.what != message || string(l.request.Text) != tc.text || l.attempt.Addressed != tc.addressed {
			t.Errorf("%s: %v %q, addressed %v; want %q, %v", tc.name, l.what, l.request.Text, l.attempt.Addressed, tc.text, tc.addressed)
		}
	}
}

func mark(kind string, offset, length int) string {
	b, _ := json.Marshal([]botapi.Entity{{Type: kind, Offset: offset, Length: length}})
	return `"entities":` + string(b)
}

// A text with as many entities as an update has room for takes no longer than another.
func TestManyEntities(t *testing.T) {
	e := strings.TrimSuffix(strings.Repeat(`{"type":"mention","offset":59990,"length":9},`, 19_000), ",")
	raw := msg(fromAnn, inGroup77, `"text":"`+strings.Repeat("é", 60_000)+`"`, `"entities":[`+e+`]`)
	u, err := botapi.DecodeUpdate(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // each took seconds
		if l := read(u, us); l.what != message {
			t.Fatalf("%+v", l.what)
		}
	}
}

func TestNothing(t *testing.T) {
	for name, raw := range map[string]string{
		"join":              msg(fromAnn, inGroup77, `"new_chat_members":[{"id":5,"first_name":"x"}]`),
		"pin":               msg(fromAnn, inGroup77, `"pinned_message":{"message_id":3}`),
		"title":             msg(fromAnn, inGroup77, `"new_chat_title":"x"`),
		"automatic forward": msg(fromAnn, inGroup77, `"text":"post","is_automatic_forward":true`),
		"white space":       msg(fromAnn, inAnn, `"text":" \n "`),
		"unknown kind":      `{"update_id":900,"chat_boost":{}}`,
		"empty update":      `{"update_id":900}`,
		"a place moves on":  `{"update_id":900,"edited_message":{"message_id":17,` + fromAnn + `,` + inAnn + `,"location":{"latitude":1,"longitude":2}}}`,
	} {
		if l := parse(t, raw); l.what != nothing {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestWhoAndWhere(t *testing.T) {
	for _, tc := range []struct {
		name   string
		raw    string
		sender messagev1.Sender
		user   int64
		as     int64
		bot    bool
		peer   string
		key    string
		group  bool
		kind   access.Kind
	}{
		{"private", msg(fromAnn, inAnn, `"text":"x"`), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "1001", "17", false, access.Message},
		{"private topic", msg(fromAnn, inAnn, `"text":"x","is_topic_message":true,"message_thread_id":9`), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "1001", "17", false, access.Message},
		{"group", msg(fromAnn, inGroup77, `"text":"x"`), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "-77", "17", true, access.Message},
		{"topic", msg(fromAnn, inGroup77, `"text":"x","is_topic_message":true,"message_thread_id":9`), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "-77_t9", "17", true, access.Message},
		{"thread that is no topic", msg(fromAnn, inGroup77, `"text":"x","message_thread_id":9`), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "-77", "17", true, access.Message},
		{
			"anonymous admin", msg(`"from":{"id":1087968824,"is_bot":true,"first_name":"Group"}`, `"sender_chat":{"id":-77,"type":"supergroup","title":"The group"}`, inGroup77, `"text":"x"`),
			messagev1.Sender{ID: "telegram:-77", Name: "The group"},
			0, -77, false, "-77", "17", true, access.Message,
		},
		{
			"a chat with the number of a person", msg(fromAnn, `"sender_chat":{"id":1001,"title":"Ann"}`, inGroup77, `"text":"x"`),
			messagev1.Sender{ID: "telegram:-1001", Name: "Ann"},
			0, -1001, false, "-77", "17", true, access.Message,
		},
		{"bot", msg(`"from":{"id":7,"is_bot":true,"first_name":"B"}`, inGroup77, `"text":"x"`), messagev1.Sender{ID: "telegram:7", Name: "B"}, 7, 0, true, "-77", "17", true, access.Message},
		{"nobody", msg(inGroup77, `"text":"x"`), messagev1.Sender{ID: "telegram:0"}, 0, 0, false, "-77", "17", true, access.Message},
		{"command", msg(fromAnn, inAnn, `"text":"/stop"`, mark("bot_command", 0, 5)), messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "1001", "17", false, access.Command},
		{"no message id", `{"update_id":900,"message":{"message_id":0,` + fromAnn + `,` + inAnn + `,"text":"x"}}`, messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "1001", "u900", false, access.Message},
		{"edit", `{"update_id":900,"edited_message":{"message_id":17,` + fromAnn + `,` + inAnn + `,"text":"x"}}`, messagev1.Sender{ID: "telegram:1001", Name: "Ann Bee"}, 1001, 0, false, "1001", "e900", false, access.Edit},
		{"reaction", `{"update_id":900,"message_reaction":{"message_id":17,"user":{"id":1001,"first_name":"Ann"},"chat":{"id":-77,"type":"supergroup"}}}`, messagev1.Sender{ID: "telegram:1001", Name: "Ann"}, 1001, 0, false, "-77", "r900", true, access.Reaction},
		{"anonymous reaction", `{"update_id":900,"message_reaction":{"message_id":17,"actor_chat":{"id":-77,"title":"G"},"chat":{"id":-77,"type":"supergroup"}}}`, messagev1.Sender{ID: "telegram:-77", Name: "G"}, 0, -77, false, "-77", "r900", true, access.Reaction},
		{
			"tap", `{"update_id":900,"callback_query":{"id":"55","from":{"id":1001,"first_name":"Ann"},"data":"x","message":{"message_id":17,"is_topic_message":true,"message_thread_id":9,` + inGroup77 + `}}}`,
			messagev1.Sender{ID: "telegram:1001", Name: "Ann"},
			1001, 0, false, "-77_t9", "c55", true, access.Callback,
		},
	} {
		l := parse(t, tc.raw)
		a := l.attempt
		if l.request.From != tc.sender || a.User != tc.user || a.SenderChat != tc.as || a.Bot != tc.bot || l.key != tc.key || a.Kind != tc.kind {
			t.Errorf("%s: from %+v, attempt %+v, key %q", tc.name, l.request.From, a, l.key)
		}
		if got := peer(a.Chat, l.topic); got != tc.peer || l.request.Group != tc.group {
			t.Errorf("%s: peer %q, group %v", tc.name, got, l.request.Group)
		}
	}
}

func TestQuoteAndForward(t *testing.T) {
	reply := func(r string) string { return msg(fromAnn, inGroup77, `"text":"x"`, `"reply_to_message":`+r) }
	for _, tc := range []struct {
		name, raw string
		want      *messagev1.Quote
	}{
		{"of a person", reply(`{"message_id":5,"chat":{"id":-77},"from":{"id":1002,"first_name":"Bob"},"text":"said"}`), &messagev1.Quote{Native: "5", From: "Bob", Text: "said"}},
		{"of ours", reply(`{"message_id":5,"chat":{"id":-77},"from":{"id":42,"first_name":"Jet"},"text":"said"}`), &messagev1.Quote{Native: "5", From: "Jet", Own: true, Text: "said"}},
		{"of a chat that uses our number", reply(`{"message_id":5,"chat":{"id":-77},"from":{"id":42},"sender_chat":{"id":-5,"title":"C"},"text":"said"}`), &messagev1.Quote{Native: "5", From: "C", Text: "said"}},
		{"caption", reply(`{"message_id":5,"chat":{"id":-77},"caption":"seen"}`), &messagev1.Quote{Native: "5", Text: "seen"}},
		{"place", reply(`{"message_id":5,"chat":{"id":-77},"location":{"latitude":1,"longitude":2}}`), &messagev1.Quote{Native: "5", Text: "[location 1.00, 2.00]"}},
		{"a part", msg(fromAnn, inGroup77, `"text":"x","quote":{"text":"part"},"reply_to_message":{"message_id":5,"chat":{"id":-77},"text":"a part of it"}`), &messagev1.Quote{Native: "5", Text: "part"}},
		{"deleted", msg(fromAnn, inGroup77, `"text":"x"`), nil},
		{"deleted, with a trace", reply(`{"message_id":0,"chat":{"id":-77}}`), nil},
		{"the begin of the topic", msg(fromAnn, inGroup77, `"text":"x","is_topic_message":true,"message_thread_id":9,"reply_to_message":{"message_id":9,"chat":{"id":-77},"from":{"id":42},"forum_topic_created":{}}`), nil},
	} {
		l := parse(t, tc.raw)
		if !reflect.DeepEqual(l.request.Quote, tc.want) {
			t.Errorf("%s: %+v", tc.name, l.request.Quote)
		}
		if l.attempt.Addressed != (tc.want != nil && tc.want.Own) {
			t.Errorf("%s: addressed %v", tc.name, l.attempt.Addressed)
		}
	}
	for origin, want := range map[string]string{
		`{"type":"user","sender_user":{"id":5,"first_name":"Cy","last_name":"Dee"}}`: "Cy Dee",
		`{"type":"hidden_user","sender_user_name":"Eve"}`:                            "Eve",
		`{"type":"chat","sender_chat":{"id":-5,"title":"Team"}}`:                     "Team",
		`{"type":"channel","chat":{"id":-6,"title":"News"},"message_id":4}`:          "News",
		`{"type":"hidden_user"}`:                                      "somebody",
		`{"type":"new_kind"}`:                                         "somebody",
		`{"type":"hidden_user","sender_user_name":" \u0000\n"}`:       "somebody",
		`{"type":"user","sender_user":{"id":5,"first_name":"a\nb]"}}`: "a b)",
	} {
		if l := parse(t, msg(fromAnn, inAnn, `"text":"x"`, `"forward_origin":`+origin)); l.request.Forwarded != want {
			t.Errorf("%s: %q, want %q", origin, l.request.Forwarded, want)
		}
	}
}

// What an inline bot has written is not the word of who has picked it, nor is what an older server calls forwarded.
func TestWordsOfOthers(t *testing.T) {
	for fields, want := range map[string]string{
		`"via_bot":{"id":9,"is_bot":true,"first_name":"Gif","username":"gif"}`:                                        "the bot gif",
		`"via_bot":{"id":9,"is_bot":true}`:                                                                            "the bot of somebody",
		`"via_bot":{"id":9,"is_bot":true,"username":"gif"},"forward_origin":{"type":"hidden_user"}`:                   "somebody",
		`"forward_date":1,"forward_from":{"id":5,"first_name":"Cy"}`:                                                  "somebody",
		`"forward_date":1,"forward_sender_name":"Cy","forward_origin":{"type":"hidden_user","sender_user_name":"Cy"}`: "Cy",
	} {
		if l := parse(t, msg(fromAnn, inAnn, `"text":"/approve"`, fields)); l.request.Forwarded != want {
			t.Errorf("%s: %q, want %q", fields, l.request.Forwarded, want)
		}
	}
}

func TestReaction(t *testing.T) {
	l := parse(t, `{"update_id":900,"message_reaction":{"message_id":17,"user":{"id":1001},"chat":{"id":1001,"type":"private"},
		"old_reaction":[{"type":"emoji","emoji":"👍"},{"type":"emoji","emoji":"🔥"}],
		"new_reaction":[{"type":"emoji","emoji":"🔥"},{"type":"custom_emoji","custom_emoji_id":"5"},{"type":"paid"}]}}`)
	want := &messagev1.Reacted{Native: "17", Emoji: []string{"🔥", "5", "⭐"}, Removed: []string{"👍"}}
	if !reflect.DeepEqual(l.request.Reaction, want) || !l.attempt.Addressed {
		t.Errorf("%+v", l.request.Reaction)
	}
}

func TestMovement(t *testing.T) {
	out := parse(t, msg(`"chat":{"id":-5,"type":"group"}`, `"migrate_to_chat_id":-1005`))
	in := parse(t, msg(`"chat":{"id":-1005,"type":"supergroup"}`, `"migrate_from_chat_id":-5`))
	for _, l := range []letter{out, in} {
		if l.what != movement || l.from != -5 || l.to != -1005 {
			t.Errorf("%+v", l)
		}
	}
}

func TestASCII(t *testing.T) {
	if got := ascii("123456"); got != "123456" {
		t.Error(got)
	}
	seen := map[string]bool{}
	for _, id := range []string{"", "a b", "a\nb", "é", "ü", strings.Repeat("x", 500), strings.Repeat("x", 501)} {
		got := ascii(id)
		if len(got) > maxNative || strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r > '~' }) || seen[got] {
			t.Errorf("%q: %q", id, got)
		}
		seen[got] = true
	}
}

// Whatever an update holds: reading it ends, and neither a key nor a name gets out of its form.
func TestReadIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		m := &botapi.Message{
			ID: rapid.Int64Range(-2, 2).Draw(t, "id"), Text: text, Chat: botapi.Chat{ID: -77, Type: rapid.SampledFrom([]string{"group", "private", ""}).Draw(t, "type")},
			From: &botapi.User{ID: 7, FirstName: rapid.String().Draw(t, "name")}, MediaGroup: rapid.SampledFrom([]string{"", "g"}).Draw(t, "album"),
			Thread: 9, IsTopic: rapid.Bool().Draw(t, "topic"), Location: &botapi.Location{},
		}
		for range rapid.IntRange(0, 3).Draw(t, "marks") {
			m.Entities = append(m.Entities, botapi.Entity{
				Type:   rapid.SampledFrom([]string{"mention", "bot_command", "text_mention"}).Draw(t, "mark"),
				Offset: rapid.IntRange(-2, 20).Draw(t, "offset"), Length: rapid.IntRange(-2, 20).Draw(t, "length"),
			})
		}
		if rapid.Bool().Draw(t, "reply") {
			m.ReplyTo = &botapi.Message{ID: 9, Caption: text}
		}
		for _, u := range []botapi.Update{{ID: 5, Message: m}, {ID: 5, Edited: m}, {ID: 5, Callback: &botapi.CallbackQuery{ID: text, Message: m}}} {
			l := read(u, us)
			if strings.ContainsFunc(l.key, func(r rune) bool { return r <= ' ' || r > '~' }) || len(l.key) > 200 {
				t.Fatalf("key %q", l.key)
			}
		}
	})
}

// A part is what UTF-16 says it is.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b"), rapid.String().Draw(t, "c")
		got, ok := part(a+b+c, units(a), units(b))
		if b == "" {
			if ok {
				t.Fatal("an empty part")
			}
			return
		}
		if !ok || got != b {
			t.Fatalf("%q, %v, want %q", got, ok, b)
		}
	})
	for _, tc := range []struct{ offset, length int }{{1, 1}, {0, 1}, {0, 5}, {5, 1}, {-1, 2}, {0, -1}, {2, 0}} {
		if got, ok := part("😀a", tc.offset, tc.length); ok {
			t.Errorf("%v: %q", tc, got)
		}
	}
}

func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
