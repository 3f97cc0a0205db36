package faketelegram_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

var (
	group = faketelegram.Group(-500, "Friends")
	forum = faketelegram.Forum(-1001, "Forum")
)

func TestSendMessage(t *testing.T) {
	s := unlimited(t)
	asked := s.Say("", dm, ann, "question")
	var m message
	call(t.Context(), t, s, "sendMessage", p{
		"chat_id": "11", "text": "  a bold answer \n", "entities": []p{{"type": "bold", "offset": 4, "length": 4}},
		"reply_parameters":     p{"message_id": asked},
		"link_preview_options": p{"is_disabled": true},
		"reply_markup":         p{"inline_keyboard": [][]p{{{"text": "Yes", "callback_data": "y"}, {"text": "See", "url": "https://x.org"}}}},
	}).decode(t, &m)
	if m.Text != "a bold answer" || len(m.Entities) != 1 || m.Entities[0].Offset != 2 || m.ReplyTo.ID != asked || m.From.ID != 123456789 ||
		m.Chat != dm || m.ID != asked+1 || m.Date == 0 || m.Markup.Inline[0][0].CallbackData != "y" {
		t.Errorf("message %+v", m)
	}
	got := s.Messages(11)
	if len(got) != 1 || got[0].Text != "a bold answer" || got[0].ReplyTo != asked || got[0].Preview != `{"is_disabled":true}` ||
		got[0].Bot != "test_bot" || len(got[0].Markup[0]) != 2 || len(got[0].History) != 1 || got[0].Chat != 11 {
		t.Errorf("messages %+v", got)
	}
	if got := poll(t, s, nil); len(got) != 1 {
		t.Errorf("a bot hears itself: %+v", got)
	}
}

func TestSendMessageRefusals(t *testing.T) {
	s := unlimited(t)
	s.Say("", forum, ann, "in a topic", faketelegram.InTopic(40))
	s.Say("", faketelegram.Chat{ID: -1005, Type: "channel", Username: "news"}, faketelegram.User{}, "news")
	button := func(data string) p {
		return p{"inline_keyboard": [][]p{{{"text": "b", "callback_data": data}}}}
	}
	for _, c := range []struct {
		what   string
		params p // beside chat_id 11 and text "x"
		want   string
	}{
		{"fine", p{}, ""},
		{"4096 units", p{"text": strings.Repeat("😀", 2048)}, ""},
		{"4096 after trimming", p{"text": strings.Repeat(" ", 2000) + strings.Repeat("x", 4096) + strings.Repeat("\n", 2000)}, ""},
		{"too long by one", p{"text": strings.Repeat("😀", 2048) + "x"}, "message is too long"},
		{"no text", p{"text": ""}, "message text is empty"},
		{"spaces", p{"text": " \n\t "}, "text must be non-empty"},
		{"nothing to see", p{"text": "\u200b\u2060\ufeff"}, "text must be non-empty"},
		{"parse_mode", p{"parse_mode": "HTML"}, "strict: parse_mode is not for us; send entities"},
		{"no chat", p{"chat_id": nil}, "chat_id is empty"},
		{"unknown chat", p{"chat_id": 99}, "chat not found"},
		{"chat that is not a number", p{"chat_id": "ann"}, "chat not found"},
		{"chat by name", p{"chat_id": "@NEWS"}, ""},
		{"unknown name", p{"chat_id": "@olds"}, "chat not found"},
		{"reply to nothing", p{"reply_parameters": p{"message_id": 999}}, "message to be replied not found"},
		{"reply to nothing, older form", p{"reply_to_message_id": 999}, "message to be replied not found"},
		{"reply to nothing, allowed", p{"reply_parameters": p{"message_id": 999, "allow_sending_without_reply": true}}, ""},
		{"reply without id", p{"reply_parameters": p{"chat_id": 5}}, `can't find field "message_id"`},
		{"reply of another form", p{"reply_parameters": []int{1}}, "can't parse reply parameters JSON object"},
		{"reply null", p{"reply_parameters": "null"}, "object expected as reply parameters"},
		{"topic", p{"chat_id": -1001, "message_thread_id": 40}, ""},
		{"no such topic", p{"chat_id": -1001, "message_thread_id": 41}, "message thread not found"},
		{"general topic", p{"chat_id": -1001, "message_thread_id": 1}, "message thread not found"},
		{"topic where there are none", p{"message_thread_id": 41}, ""},
		{"64 bytes of data", p{"reply_markup": button(strings.Repeat("ü", 32))}, ""},
		{"65 bytes of data", p{"reply_markup": button(strings.Repeat("ü", 32) + "x")}, "BUTTON_DATA_INVALID"},
		{"no data", p{"reply_markup": button("")}, "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		{"no label", p{"reply_markup": p{"inline_keyboard": [][]p{{{"url": "https://x.org"}}}}}, `can't parse inline keyboard button: Can't find field "text"`},
		{"button of another form", p{"reply_markup": p{"inline_keyboard": [][]int{{1}}}}, "can't parse inline keyboard button: InlineKeyboardButton must be an Object"},
		{"one row", p{"reply_markup": p{"inline_keyboard": []p{{"text": "x"}}}}, `field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`},
		{"empty keyboard", p{"reply_markup": p{"inline_keyboard": [][]p{{}}}}, ""},
		{"empty markup", p{"reply_markup": p{}}, ""},
		{"other keyboard", p{"reply_markup": p{"force_reply": true}}, ""},
		{"markup that is a list", p{"reply_markup": []int{}}, "object expected as reply markup"},
		{"markup that is not JSON", p{"reply_markup": "{"}, "can't parse reply keyboard markup JSON object"},
		{"preview that is not JSON", p{"link_preview_options": "{"}, "can't parse link preview options JSON object"},
		{"preview null", p{"link_preview_options": "null"}, "object expected as link preview options"},
	} {
		params := p{"chat_id": 11, "text": "x"}
		maps.Copy(params, c.params)
		r := call(t.Context(), t, s, "sendMessage", params)
		if c.want == "" {
			if !r.OK {
				t.Errorf("%s: %s", c.what, r.Description)
			}
			continue
		}
		wants(t, c.what, r, 400, "Bad Request: "+c.want)
	}
	wants(t, "32 KiB", send(t, s, 11, strings.Repeat(" ", 33<<10)), 413, "Request Entity Too Large")
	if r := s.Report(); r.Refused["Bad Request: chat not found"] != 3 {
		t.Errorf("report %+v", r)
	}
}

func TestReplyToDeletedMessage(t *testing.T) {
	s := unlimited(t)
	id := s.Say("", dm, ann, "forget it")
	s.Delete(dm.ID, id)
	wants(t, "deleted", call(t.Context(), t, s, "sendMessage", p{"chat_id": 11, "text": "x", "reply_parameters": p{"message_id": id}}),
		400, "Bad Request: message to be replied not found")
}

func TestTopicsAndChannels(t *testing.T) {
	s := unlimited(t)
	s.Say("", forum, ann, "hello", faketelegram.InTopic(40))
	u := poll(t, s, nil)[0].Message
	if u.Thread != 40 || !u.IsTopic || !u.Chat.IsForum || u.ReplyTo == nil || u.ReplyTo.ID != 40 || u.ReplyTo.Created == nil {
		t.Errorf("a message of a topic answers the topic: %+v", u)
	}
	var m message
	call(t.Context(), t, s, "sendMessage", p{"chat_id": -1001, "text": "x", "message_thread_id": 40}).decode(t, &m)
	if m.Thread != 40 || !m.IsTopic || m.ReplyTo == nil || m.ReplyTo.ID != 40 {
		t.Errorf("answer %+v", m)
	}
	if got := s.Messages(-1001); got[0].Thread != 40 {
		t.Errorf("messages %+v", got)
	}
	s.CloseTopic(-1001, 40)
	wants(t, "closed", call(t.Context(), t, s, "sendMessage", p{"chat_id": -1001, "text": "x", "message_thread_id": 40}), 400,
		"Bad Request: message thread not found")

	channel := faketelegram.Channel(-1007, "News")
	id := s.Say("", channel, faketelegram.User{}, "post")
	s.Edit("", channel.ID, id, "edited post")
	got := poll(t, s, p{"offset": first + 1})
	if got[0].Post == nil || got[0].Post.SenderChat.ID != -1007 || got[0].Post.From.ID != 0 || len(got) != 2 {
		t.Errorf("post %+v", got)
	}
	var own struct {
		From   *faketelegram.User
		Sender *faketelegram.Chat `json:"sender_chat"`
	}
	send(t, s, -1007, "own").decode(t, &own)
	if own.From != nil || own.Sender.ID != -1007 {
		t.Errorf("own post %+v", own)
	}
}

func TestActionsAndDrafts(t *testing.T) {
	s := unlimited(t)
	s.AddChat("", group)
	for _, c := range []struct {
		method string
		params p
		want   string
	}{
		{"sendChatAction", p{"chat_id": 11, "action": "typing"}, ""},
		{"sendChatAction", p{"chat_id": 11, "action": "Upload_Photo"}, ""},
		{"sendChatAction", p{"chat_id": 11, "action": "dancing"}, "wrong parameter action in request"},
		{"sendChatAction", p{"chat_id": 11}, "wrong parameter action in request"},
		{"sendChatAction", p{"chat_id": 12, "action": "typing"}, "chat not found"},
		{"setMessageReaction", p{"chat_id": 11, "message_id": 1, "reaction": []p{{"type": "emoji", "emoji": "👍"}}}, ""},
		{"setMessageReaction", p{"chat_id": 11, "message_id": 1, "reaction": []p{{"type": "emoji", "emoji": "x"}}}, "REACTION_INVALID"},
		{"setMessageReaction", p{"chat_id": 11, "reaction": []p{{"type": "emoji", "emoji": "👍"}}}, "message to react not found"},
		{"sendMessageDraft", p{"chat_id": 11, "draft_id": 1, "text": "so f"}, ""},
		{"sendMessageDraft", p{"chat_id": 11, "text": "so f"}, "draft_id must be non-zero"},
		{"sendMessageDraft", p{"chat_id": -500, "draft_id": 1, "text": "so f"}, "message drafts can be sent only to private chats"},
		{"sendMessageDraft", p{"chat_id": 11, "draft_id": 1}, "message text is empty"},
		{"sendMessageDraft", p{"chat_id": 12, "draft_id": 1, "text": "so f"}, "chat not found"},
	} {
		r := call(t.Context(), t, s, c.method, c.params)
		if c.want == "" && string(r.Result) != "true" || c.want != "" && r.Description != "Bad Request: "+c.want {
			t.Errorf("%s %v: %+v", c.method, c.params, r)
		}
	}
	if len(s.Messages(11)) != 0 {
		t.Error("a draft is a message")
	}
}

func TestEdit(t *testing.T) {
	const unmodified = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same " +
		"as a current content and reply markup of the message"
	s := unlimited(t)
	theirs := s.Say("", dm, ann, "mine")
	keyboard := p{"inline_keyboard": [][]p{{{"text": "b", "callback_data": "d"}}}}
	id := call(t.Context(), t, s, "sendMessage", p{"chat_id": 11, "text": "one", "reply_markup": keyboard}).id(t)
	edit := func(params p) result {
		t.Helper()
		all := p{"chat_id": 11, "message_id": id}
		maps.Copy(all, params)
		method := "editMessageText"
		if all["text"] == nil {
			method = "editMessageReplyMarkup"
		}
		return call(t.Context(), t, s, method, all)
	}
	wants(t, "the same", edit(p{"text": " one ", "reply_markup": keyboard}), 400, unmodified)
	wants(t, "the same markup", edit(p{"reply_markup": keyboard}), 400, unmodified)
	wants(t, "no such message", edit(p{"text": "x", "message_id": 99}), 400, "Bad Request: message to edit not found")
	wants(t, "no message", call(t.Context(), t, s, "editMessageText", p{"text": "x"}), 400, "Bad Request: message identifier is not specified")
	wants(t, "a person's", edit(p{"text": "x", "message_id": theirs}), 400, "Bad Request: message can't be edited")
	wants(t, "no text", edit(p{"text": ""}), 400, "Bad Request: message text is empty")
	wants(t, "too long", edit(p{"text": strings.Repeat("x", 4097)}), 400, "Bad Request: message is too long")
	wants(t, "bad markup", edit(p{"reply_markup": "{"}), 400, "Bad Request: can't parse reply keyboard markup JSON object")
	wants(t, "another chat", edit(p{"text": "x", "chat_id": 12}), 400, "Bad Request: chat not found")
	var m message
	edit(p{"text": "one", "entities": []p{{"type": "bold", "offset": 0, "length": 3}}}).decode(t, &m)
	if m.Markup != nil || m.EditDate == 0 || len(m.Entities) != 1 {
		t.Errorf("a text without a keyboard takes it away: %+v", m)
	}
	edit(p{"reply_markup": keyboard}).decode(t, &m)
	if m.Text != "one" || m.Markup == nil {
		t.Errorf("the markup alone: %+v", m)
	}
	edit(p{"text": "two"})
	got := s.Messages(11)[0]
	var history []string
	for _, v := range got.History {
		history = append(history, fmt.Sprint(v.Method, " ", v.Text, " ", len(v.Entities), " ", len(v.Markup)))
	}
	want := "sendMessage one 0 1, editMessageText one 1 0, editMessageReplyMarkup one 1 1, editMessageText two 0 0"
	if got.Text != "two" || got.Markup != nil || strings.Join(history, ", ") != want {
		t.Errorf("message %+v, history %v", got, history)
	}
	if r := s.Report(); r.Edits != 3 || r.Unmodified != 2 || r.Messages != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestDelete(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := server(t, faketelegram.Options{Limits: faketelegram.Limits{Off: true}, Now: func() time.Time { return now }})
	s.AddChat("", dm)
	s.AddChat("", group)
	theirs, inGroup := s.Say("", dm, ann, "x"), s.Say("", group, ann, "x")
	old := send(t, s, 11, "old").id(t)
	now = now.Add(48*time.Hour + time.Second)
	id := send(t, s, 11, "new").id(t)
	del := func(params p) result { return call(t.Context(), t, s, "deleteMessage", params) }
	wants(t, "no chat", del(p{"message_id": id}), 400, "Bad Request: chat identifier is not specified")
	wants(t, "no id", del(p{"chat_id": 11}), 400, "Bad Request: message identifier is not specified")
	wants(t, "unknown chat", del(p{"chat_id": 12, "message_id": id}), 400, "Bad Request: chat not found")
	wants(t, "unknown", del(p{"chat_id": 11, "message_id": 99}), 400, "Bad Request: message to delete not found")
	wants(t, "old", del(p{"chat_id": 11, "message_id": old}), 400, "Bad Request: message can't be deleted for everyone")
	wants(t, "a person's in a group", del(p{"chat_id": -500, "message_id": inGroup}), 400, "Bad Request: message can't be deleted")
	if r := del(p{"chat_id": 11, "message_id": id}); string(r.Result) != "true" {
		t.Errorf("%+v", r)
	}
	wants(t, "twice", del(p{"chat_id": 11, "message_id": id}), 400, "Bad Request: message to delete not found")
	wants(t, "edit", call(t.Context(), t, s, "editMessageText", p{"chat_id": 11, "message_id": id, "text": "y"}), 400,
		"Bad Request: message to edit not found")
	wants(t, "old one of a person", del(p{"chat_id": 11, "message_id": theirs}), 400, "Bad Request: message can't be deleted for everyone")
	if got, gone := s.Messages(11), s.Deleted(11); len(got) != 1 || got[0].ID != old || len(gone) != 1 || gone[0].Text != "new" {
		t.Errorf("standing %+v, deleted %+v", got, gone)
	}
	s.SetMember(-500, faketelegram.User{ID: 123456789}, "administrator")
	now = now.Add(-time.Hour)
	if r := del(p{"chat_id": -500, "message_id": inGroup}); !r.OK {
		t.Errorf("an administrator: %+v", r)
	}
	if s.Messages(99) != nil {
		t.Error("messages of a chat that is not there")
	}
}

func TestLenient(t *testing.T) {
	s := server(t, faketelegram.Options{Lenient: true})
	s.AddChat("", dm)
	many, err := json.Marshal([]p{{"type": "pre", "offset": 0, "length": 5}, {"type": "bold", "offset": 1, "length": 0}})
	if err != nil {
		t.Fatal(err)
	}
	r := call(t.Context(), t, s, "sendMessage", p{"chat_id": 11, "text": "<b>x</b>", "parse_mode": "HTML", "entities": string(many)})
	if !r.OK {
		t.Errorf("%+v", r)
	}
}
