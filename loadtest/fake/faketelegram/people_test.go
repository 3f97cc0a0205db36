package faketelegram_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

func TestChatsInTrouble(t *testing.T) {
	s := unlimited(t)
	s.AddChat("", group)
	super := faketelegram.Supergroup(-1002, "Super")
	s.AddChat("", super)
	id := send(t, s, 11, "before").id(t)
	for _, c := range []struct {
		chat    int64
		trouble faketelegram.Trouble
		code    int
		text    string
		reads   bool
	}{
		{11, faketelegram.NotFound, 400, "Bad Request: chat not found", false},
		{11, faketelegram.Blocked, 403, "Forbidden: bot was blocked by the user", true},
		{11, faketelegram.Deactivated, 403, "Forbidden: user is deactivated", true},
		{-500, faketelegram.Kicked, 403, "Forbidden: bot was kicked from the group chat", false},
		{-1002, faketelegram.Kicked, 403, "Forbidden: bot was kicked from the supergroup chat", false},
		{-1002, faketelegram.NoRights, 400, "Bad Request: not enough rights to send text messages to the chat", true},
	} {
		s.Refuse(c.chat, c.trouble)
		wants(t, "send", send(t, s, c.chat, "x"), c.code, c.text)
		wants(t, "action", call(t.Context(), t, s, "sendChatAction", p{"chat_id": c.chat, "action": "typing"}), c.code, c.text)
		if c.chat == 11 {
			wants(t, "edit", call(t.Context(), t, s, "editMessageText", p{"chat_id": 11, "message_id": id, "text": "y"}), c.code, c.text)
		}
		if r := call(t.Context(), t, s, "getChat", p{"chat_id": c.chat}); r.OK != c.reads {
			t.Errorf("getChat of %d: %+v", c.chat, r)
		}
		s.Refuse(c.chat, faketelegram.NoTrouble)
		if r := send(t, s, c.chat, "x"); !r.OK {
			t.Errorf("after trouble %d: %+v", c.trouble, r)
		}
	}
	s.Refuse(11, faketelegram.Blocked)
	s.Say("", dm, ann, "hello again")
	if r := send(t, s, 11, "x"); !r.OK {
		t.Errorf("who writes does not block: %+v", r)
	}
}

func TestMigration(t *testing.T) {
	s := unlimited(t)
	super := faketelegram.Supergroup(-1002, "Super")
	s.Say("", group, ann, "small")
	s.Migrate("", group.ID, super)
	got := poll(t, s, nil)
	if len(got) != 3 || got[1].Message.MigrateTo != -1002 || got[1].Message.Chat.ID != -500 ||
		got[2].Message.MigrateFrom != -500 || got[2].Message.Chat.ID != -1002 {
		t.Errorf("updates %+v", got)
	}
	r := send(t, s, -500, "x")
	wants(t, "old", r, 400, "Bad Request: group chat was upgraded to a supergroup chat")
	if r.Parameters.MigrateTo != -1002 {
		t.Errorf("parameters %+v", r.Parameters)
	}
	if r := send(t, s, -1002, "x"); !r.OK {
		t.Errorf("new: %+v", r)
	}
}

func TestChatAndMembers(t *testing.T) {
	s := unlimited(t)
	s.Say("", group, ann, "hi")
	s.SetMember(-500, bob, "kicked")
	s.Say("", dm, faketelegram.User{ID: 13}, "in another chat")
	var c faketelegram.Chat
	call(t.Context(), t, s, "getChat", p{"chat_id": -500}).decode(t, &c)
	if c != group {
		t.Errorf("chat %+v", c)
	}
	for _, m := range []struct {
		user int64
		want string
	}{{11, "member"}, {12, "kicked"}, {13, "left"}, {123456789, "member"}, {99, "Bad Request: user not found"}, {0, "Bad Request: invalid user_id specified"}} {
		var is struct {
			User   faketelegram.User
			Status string
		}
		r := call(t.Context(), t, s, "getChatMember", p{"chat_id": -500, "user_id": m.user})
		if !r.OK {
			is.Status = r.Description
		} else if r.decode(t, &is); is.User.ID != m.user {
			t.Errorf("member %+v", is)
		}
		if is.Status != m.want {
			t.Errorf("%d is %q, want %q", m.user, is.Status, m.want)
		}
	}
}

func TestTaps(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := server(t, faketelegram.Options{Now: func() time.Time { return now }})
	s.AddChat("", dm)
	id := call(t.Context(), t, s, "sendMessage", p{
		"chat_id": 11, "text": "ok?", "reply_markup": p{"inline_keyboard": [][]p{{{"text": "Yes", "callback_data": "yes"}}}},
	}).id(t)
	answer := func(id, text string) result {
		return call(t.Context(), t, s, "answerCallbackQuery", p{"callback_query_id": id, "text": text, "show_alert": true})
	}
	const old = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	query := s.Tap(11, id, "yes", bob)
	got := poll(t, s, nil)
	if len(got) != 1 || got[0].Tap.ID != query || got[0].Tap.Data != "yes" || got[0].Tap.From != bob || got[0].Tap.Message.ID != id ||
		got[0].Tap.Message.Markup == nil {
		t.Fatalf("updates %+v", got)
	}
	if _, ok := s.Answer(query); ok {
		t.Error("answered already")
	}
	wants(t, "unknown", answer("1", "x"), 400, old)
	wants(t, "long", answer(query, strings.Repeat("ü", 201)), 400, "Bad Request: MESSAGE_TOO_LONG")
	if r := answer(query, strings.Repeat("ü", 200)); string(r.Result) != "true" {
		t.Errorf("%+v", r)
	}
	if a, ok := s.Answer(query); !ok || !a.Alert || len(a.Text) != 400 {
		t.Errorf("answer %+v", a)
	}
	wants(t, "twice", answer(query, "x"), 400, old)
	query = s.Tap(11, id, "yes", bob)
	now = now.Add(11 * time.Minute)
	wants(t, "old", answer(query, "x"), 400, old)
	s.Delete(11, id)
	s.Tap(11, id, "yes", ann)
	last := poll(t, s, p{"offset": -1})
	if m := last[0].Tap.Message; m.ID != id || m.Date != 0 || m.Text != "" || m.Chat.ID != 11 {
		t.Errorf("a tap on a deleted message: %+v", m)
	}
}

func TestCommands(t *testing.T) {
	s := unlimited(t)
	set := func(params p) result { return call(t.Context(), t, s, "setMyCommands", params) }
	list := []p{{"command": "start", "description": "Begin"}, {"command": "/stop", "description": "End"}}
	set(p{"commands": list})
	set(p{"commands": list[:1], "scope": p{"type": "chat", "chat_id": 11}, "language_code": "de"})
	if got := s.Commands(""); !reflect.DeepEqual(got, map[string]string{"start": "Begin", "stop": "End"}) {
		t.Errorf("commands %v", got)
	}
	get := func(params p) string { return string(call(t.Context(), t, s, "getMyCommands", params).Result) }
	if got := get(p{"scope": p{"type": "chat", "chat_id": 11}, "language_code": "de"}); got != `[{"command":"start","description":"Begin"}]` {
		t.Errorf("scoped: %s", got)
	}
	for _, c := range []struct{ params, want any }{
		{p{"commands": []p{{"command": "Start", "description": "x"}}}, "BOT_COMMAND_INVALID"},
		{p{"commands": []p{{"command": strings.Repeat("x", 33), "description": "x"}}}, "BOT_COMMAND_INVALID"},
		{p{"commands": []p{{"command": "x", "description": ""}}}, "BOT_COMMAND_DESCRIPTION_INVALID"},
		{p{"commands": []p{{"command": "x", "description": strings.Repeat("ü", 257)}}}, "BOT_COMMAND_DESCRIPTION_INVALID"},
		{p{"commands": "x"}, "can't parse commands JSON object"},
		{p{"commands": list, "scope": p{"type": "moon"}}, "can't parse BotCommandScope: Unsupported type specified"},
		{p{"commands": list, "scope": "x"}, "can't parse BotCommandScope JSON object"},
		{p{"commands": make([]p, 101)}, "BOT_COMMANDS_TOO_MUCH"},
	} {
		wants(t, "commands", set(c.params.(p)), 400, "Bad Request: "+c.want.(string))
	}
	call(t.Context(), t, s, "deleteMyCommands", p{"scope": p{"type": "default"}})
	if got := get(nil); got != "[]" {
		t.Errorf("deleted: %s", got)
	}
}

func TestFiles(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := server(t, faketelegram.Options{Now: func() time.Time { return now }})
	file := func(a faketelegram.Attachment) string {
		s.Say("", dm, ann, "see", faketelegram.Document(a))
		u := poll(t, s, p{"offset": -1})[0]
		if u.Message.Caption != "see" || u.Message.Text != "" || u.Message.Document.Name != a.Name || u.Message.Document.Mime != a.Mime {
			t.Errorf("message %+v", u.Message)
		}
		return u.Message.Document.ID
	}
	get := func(id string) result { return call(t.Context(), t, s, "getFile", p{"file_id": id}) }
	load := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/file/bot"+path, nil))
		return w
	}
	id := file(faketelegram.Attachment{Name: "a.pdf", Mime: "application/pdf", Data: []byte("hello")})
	if w := load(faketelegram.DefaultToken + "/documents/file_1.pdf"); w.Code != 404 {
		t.Errorf("before getFile: %d", w.Code)
	}
	var f struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	get(id).decode(t, &f)
	if f.Path != "documents/file_1.pdf" || f.Size != 5 {
		t.Errorf("file %+v", f)
	}
	if w := load(faketelegram.DefaultToken + "/" + f.Path); w.Code != 200 || w.Body.String() != "hello" || w.Header().Get("Content-Length") != "5" {
		t.Errorf("download: %d %q", w.Code, w.Body)
	}
	if w := load("1:x/" + f.Path); w.Code != 401 {
		t.Errorf("another token: %d", w.Code)
	}
	s.Fail(faketelegram.Fault{Method: "file", HTML: true})
	if w := load(faketelegram.DefaultToken + "/" + f.Path); w.Code != 502 || !strings.Contains(w.Body.String(), "<html>") {
		t.Errorf("fault: %d %q", w.Code, w.Body)
	}
	now = now.Add(time.Hour + time.Second)
	if w := load(faketelegram.DefaultToken + "/" + f.Path); w.Code != 404 {
		t.Errorf("an hour later: %d", w.Code)
	}
	get(file(faketelegram.Attachment{Name: "b.bin", Data: []byte("xy"), Size: 20 << 20})).decode(t, &f)
	if n, err := io.Copy(io.Discard, load(faketelegram.DefaultToken+"/"+f.Path).Body); n != 20<<20 || err != nil {
		t.Errorf("20 MiB: %d, %v", n, err)
	}
	wants(t, "too big", get(file(faketelegram.Attachment{Name: "c.bin", Size: 20<<20 + 1})), 400, "Bad Request: file is too big")
	wants(t, "unknown", get("x"), 400, "Bad Request: invalid file_id")
	wants(t, "none", get(""), 400, "Bad Request: file_id not specified")
}

func TestWhatPeopleSend(t *testing.T) {
	s := unlimited(t)
	a := faketelegram.Attachment{Name: "x.jpg", Mime: "image/jpeg", Data: []byte("jpeg")}
	channel := faketelegram.Channel(-1007, "News")
	asked := s.Say("", group, ann, "q")
	for _, c := range []struct {
		what string
		in   faketelegram.Chat
		text string
		opt  faketelegram.Option
		ok   func(m message) bool
	}{
		{"photo", dm, "a cat", faketelegram.Photo(a), func(m message) bool {
			return len(m.Photo) == 2 && m.Photo[1].Size == 4 && m.Caption == "a cat" && m.Photo[1].Name == ""
		}},
		{"album", dm, "", faketelegram.Album("g1"), func(m message) bool { return m.MediaGroup == "g1" }},
		{"voice", dm, "", faketelegram.Voice(a), func(m message) bool { return m.Voice.Size == 4 }},
		{"audio", dm, "", faketelegram.Audio(a), func(m message) bool { return m.Audio.Name == "x.jpg" }},
		{"video", dm, "v", faketelegram.Video(a), func(m message) bool { return m.Video.Size == 4 && m.Caption == "v" }},
		{"sticker", dm, "", faketelegram.Sticker("😀"), func(m message) bool { return m.Sticker.Emoji == "😀" }},
		{"location", dm, "", faketelegram.Location(1.5, -2), func(m message) bool { return m.Location.Longitude == -2 }},
		{"reply", group, "a", faketelegram.ReplyTo(asked), func(m message) bool { return m.ReplyTo.ID == asked }},
		{"forward", dm, "f", faketelegram.ForwardedFrom(bob), func(m message) bool { return m.Forward.User == bob }},
		{"hidden forward", dm, "f", faketelegram.ForwardedFromHidden("Eve"), func(m message) bool { return m.Forward.Name == "Eve" }},
		{"channel forward", dm, "f", faketelegram.ForwardedFromChannel(channel, 4), func(m message) bool { return m.Forward.Chat.ID == -1007 }},
		{"anonymous admin", group, "x", faketelegram.AsChat(group), func(m message) bool {
			return m.From.Username == "GroupAnonymousBot" && m.SenderChat.ID == -500
		}},
		{"as a channel", group, "x", faketelegram.AsChat(channel), func(m message) bool {
			return m.From.Username == "Channel_Bot" && m.SenderChat.ID == -1007
		}},
		{"entities", dm, "😀 /stop@test_bot hey @test_bot, see https://x.org.", faketelegram.Entities(faketelegram.Entity{Type: "bold", Offset: 18, Length: 3}), func(m message) bool {
			return reflect.DeepEqual(m.Entities, []faketelegram.Entity{
				{Type: "bot_command", Offset: 3, Length: 14},
				{Type: "bold", Offset: 18, Length: 3},
				{Type: "mention", Offset: 22, Length: 9},
				{Type: "url", Offset: 37, Length: 13},
			})
		}},
	} {
		s.Say("", c.in, ann, c.text, c.opt)
		list := poll(t, s, p{"offset": -1})
		if m := list[0].Message; m == nil || !c.ok(*m) {
			raw, _ := json.Marshal(list[0])
			t.Errorf("%s: %s", c.what, raw)
		}
	}
	id := s.Say("", dm, ann, "x", faketelegram.Photo(a))
	s.Edit("", 11, id, "y")
	if m := poll(t, s, p{"offset": -1})[0].Edited; m.Caption != "y" || m.EditDate == 0 || len(m.Photo) != 2 {
		t.Errorf("edited caption %+v", m)
	}
	poll(t, s, p{"allowed_updates": []string{"message_reaction"}})
	s.React("", 11, id, ann, "👍")
	s.React("", 11, id, ann, "👎", "🔥")
	if r := poll(t, s, p{"offset": -1})[0].Reaction; r.ID != id || r.Old[0].Emoji != "👍" || len(r.New) != 2 {
		t.Errorf("reaction %+v", r)
	}
}

func TestTwoBots(t *testing.T) {
	s := server(t, faketelegram.Options{Tokens: map[string]faketelegram.Bot{"1:a": {Username: "one"}, faketelegram.DefaultToken: {Username: "two"}}})
	s.Say("one", dm, ann, "to one")
	if got := poll(t, s, nil); len(got) != 0 {
		t.Errorf("the other bot hears %+v", got)
	}
	wants(t, "a stranger", send(t, s, 11, "x"), 400, "Bad Request: chat not found")
	s.Say("two", dm, ann, "to two")
	if got := poll(t, s, nil); texts(got) != "to two" {
		t.Errorf("updates %+v", got)
	}
	if r := send(t, s, 11, "x"); !r.OK {
		t.Errorf("%+v", r)
	}
}
