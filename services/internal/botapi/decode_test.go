package botapi_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const (
	annaJSON  = `{"id":12345,"is_bot":false,"first_name":"Anna","last_name":"K","username":"anna","language_code":"de","is_premium":true}`
	privJSON  = `{"id":12345,"first_name":"Anna","last_name":"K","username":"anna","type":"private"}`
	forumJSON = `{"id":-1001234567890,"title":"House","is_forum":true,"type":"supergroup"}`
	headJSON  = `"message_id":10,"from":` + annaJSON + `,"chat":` + privJSON + `,"date":1764500000`
)

var (
	anna  = botapi.User{ID: 12345, FirstName: "Anna", LastName: "K", Username: "anna"}
	priv  = botapi.Chat{ID: 12345, Type: "private", Username: "anna"}
	forum = botapi.Chat{ID: -1001234567890, Type: "supergroup", Title: "House", IsForum: true}
)

// message is one of Anna's in private, with what change sets.
func message(change func(*botapi.Message)) *botapi.Message {
	m := &botapi.Message{ID: 10, From: &anna, Chat: priv, Date: 1764500000}
	change(m)
	return m
}

func TestDecodeUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want botapi.Update
	}{
		"text with entities": {
			`{"update_id":1,"message":{` + headJSON + `,"text":"/start \ud83d\ude00 hi","entities":[{"offset":0,"length":6,"type":"bot_command"},
				{"offset":10,"length":2,"type":"text_mention","user":` + annaJSON + `},{"offset":0,"length":1,"type":"pre","language":"go"},
				{"offset":0,"length":1,"type":"text_link","url":"https://x.example"},{"offset":1,"length":2,"type":"custom_emoji","custom_emoji_id":"5"}]}}`,
			botapi.Update{ID: 1, Message: message(func(m *botapi.Message) {
				m.Text = "/start 😀 hi"
				m.Entities = []botapi.Entity{
					{Type: "bot_command", Length: 6},
					{Type: "text_mention", Offset: 10, Length: 2, User: &anna},
					{Type: "pre", Length: 1, Language: "go"},
					{Type: "text_link", Length: 1, URL: "https://x.example"},
					{Type: "custom_emoji", Offset: 1, Length: 2},
				}
			})},
		},
		"edited": {
			`{"update_id":2,"edited_message":{` + headJSON + `,"edit_date":1764500060,"text":"better"}}`,
			botapi.Update{ID: 2, Edited: message(func(m *botapi.Message) { m.EditDate, m.Text = 1764500060, "better" })},
		},
		"photo of an album, with a caption": {
			`{"update_id":3,"message":{` + headJSON + `,"media_group_id":"13579","caption":"look","caption_entities":[{"offset":0,"length":4,"type":"bold"}],
				"show_caption_above_media":true,"photo":[{"file_id":"S","file_unique_id":"s","file_size":1000,"width":90,"height":60},
				{"file_id":"L","file_unique_id":"l","file_size":90000,"width":1280,"height":853}]}}`,
			botapi.Update{ID: 3, Message: message(func(m *botapi.Message) {
				m.MediaGroup, m.Caption = "13579", "look"
				m.CaptionEntities = []botapi.Entity{{Type: "bold", Length: 4}}
				m.Photo = []botapi.PhotoSize{
					{FileID: "S", FileUniqueID: "s", Width: 90, Height: 60, FileSize: 1000},
					{FileID: "L", FileUniqueID: "l", Width: 1280, Height: 853, FileSize: 90000},
				}
			})},
		},
		"voice": {
			`{"update_id":4,"message":{` + headJSON + `,"voice":{"duration":3,"mime_type":"audio/ogg","file_id":"V","file_unique_id":"v","file_size":12000}}}`,
			botapi.Update{ID: 4, Message: message(func(m *botapi.Message) {
				m.Voice = &botapi.Attachment{FileID: "V", FileUniqueID: "v", MimeType: "audio/ogg", FileSize: 12000, Duration: 3}
			})},
		},
		"document of 3 GB": {
			`{"update_id":5,"message":{` + headJSON + `,"document":{"file_name":"a b.pdf","mime_type":"application/pdf","thumbnail":{"file_id":"T","file_unique_id":"t","width":1,"height":1},
				"file_id":"D","file_unique_id":"d","file_size":3000000000}}}`,
			botapi.Update{ID: 5, Message: message(func(m *botapi.Message) {
				m.Document = &botapi.Attachment{FileID: "D", FileUniqueID: "d", FileName: "a b.pdf", MimeType: "application/pdf", FileSize: 3000000000}
			})},
		},
		"sticker": {
			`{"update_id":6,"message":{` + headJSON + `,"sticker":{"width":512,"height":512,"emoji":"👍","set_name":"hands","is_animated":true,"is_video":false,"type":"regular","file_id":"S","file_unique_id":"s","file_size":5}}}`,
			botapi.Update{ID: 6, Message: message(func(m *botapi.Message) {
				m.Sticker = &botapi.Sticker{FileID: "S", FileSize: 5, Width: 512, Height: 512, Emoji: "👍", SetName: "hands", IsAnimated: true}
			})},
		},
		"venue, contact, poll, dice": {
			`{"update_id":7,"message":{` + headJSON + `,"location":{"latitude":52.5,"longitude":13.4},"venue":{"location":{"latitude":52.5,"longitude":13.4},"title":"Bar","address":"1 St"},
				"contact":{"phone_number":"+49","first_name":"Bo"},"poll":{"id":"1","question":"?","options":[{"text":"a","voter_count":0},{"text":"b","voter_count":0}]},"dice":{"emoji":"🎲","value":6}}}`,
			botapi.Update{ID: 7, Message: message(func(m *botapi.Message) {
				at := botapi.Location{Latitude: 52.5, Longitude: 13.4}
				m.Location, m.Venue = &at, &botapi.Venue{Location: at, Title: "Bar", Address: "1 St"}
				m.Contact = &botapi.Contact{PhoneNumber: "+49", FirstName: "Bo"}
				m.Poll = &botapi.Poll{Question: "?", Options: []struct {
					Text string `json:"text"`
				}{{"a"}, {"b"}}}
				m.Dice = &botapi.Dice{Emoji: "🎲", Value: 6}
			})},
		},
		"topic, a reply with a quote": {
			`{"update_id":8,"message":{"message_id":11,"from":` + annaJSON + `,"chat":` + forumJSON + `,"date":1,"message_thread_id":5,"is_topic_message":true,"text":"yes",
				"reply_to_message":{"message_id":9,"from":{"id":123456789,"is_bot":true,"first_name":"B","username":"b_bot"},"chat":` + forumJSON + `,"date":1,"text":"really?"},
				"quote":{"text":"really","position":0,"is_manual":true}}}`,
			botapi.Update{ID: 8, Message: &botapi.Message{
				ID: 11, From: &anna, Chat: forum, Date: 1, Thread: 5, IsTopic: true, Text: "yes", Quote: &botapi.TextQuote{Text: "really"},
				ReplyTo: &botapi.Message{ID: 9, From: &botapi.User{ID: 123456789, IsBot: true, FirstName: "B", Username: "b_bot"}, Chat: forum, Date: 1, Text: "really?"},
			}},
		},
		"an anonymous administrator": {
			`{"update_id":9,"message":{"message_id":12,"from":{"id":1087968824,"is_bot":true,"first_name":"Group","username":"GroupAnonymousBot"},"sender_chat":` + forumJSON + `,
				"author_signature":"boss","chat":` + forumJSON + `,"date":1,"text":"hi"}}`,
			botapi.Update{ID: 9, Message: &botapi.Message{
				ID: 12, From: &botapi.User{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}, SenderChat: &forum, Chat: forum, Date: 1, Text: "hi",
			}},
		},
		"a channel's post in its group": {
			`{"update_id":10,"message":{"message_id":13,"from":{"id":777000,"is_bot":false,"first_name":"Telegram"},"sender_chat":{"id":-1009,"title":"News","username":"news","type":"channel"},
				"chat":` + forumJSON + `,"date":1,"is_automatic_forward":true,"text":"news","forward_origin":{"type":"channel","chat":{"id":-1009,"title":"News","username":"news","type":"channel"},"message_id":4,"date":1}}}`,
			botapi.Update{ID: 10, Message: &botapi.Message{
				ID: 13, From: &botapi.User{ID: 777000, FirstName: "Telegram"}, SenderChat: &botapi.Chat{ID: -1009, Type: "channel", Title: "News", Username: "news"},
				Chat: forum, Date: 1, IsAutoForward: true, Text: "news",
				ForwardOrigin: &botapi.ForwardOrigin{Type: "channel", Chat: &botapi.Chat{ID: -1009, Type: "channel", Title: "News", Username: "news"}},
			}},
		},
		"forwarded from a person": {
			`{"update_id":11,"message":{` + headJSON + `,"text":"x","forward_origin":{"type":"user","sender_user":{"id":9,"is_bot":false,"first_name":"Bo"},"date":1}}}`,
			botapi.Update{ID: 11, Message: message(func(m *botapi.Message) {
				m.Text, m.ForwardOrigin = "x", &botapi.ForwardOrigin{Type: "user", SenderUser: &botapi.User{ID: 9, FirstName: "Bo"}}
			})},
		},
		"forwarded from somebody hidden": {
			`{"update_id":12,"message":{` + headJSON + `,"text":"x","forward_origin":{"type":"hidden_user","sender_user_name":"Bo","date":1}}}`,
			botapi.Update{ID: 12, Message: message(func(m *botapi.Message) {
				m.Text, m.ForwardOrigin = "x", &botapi.ForwardOrigin{Type: "hidden_user", SenderName: "Bo"}
			})},
		},
		"forwarded from a chat": {
			`{"update_id":13,"message":{` + headJSON + `,"text":"x","forward_origin":{"type":"chat","sender_chat":` + forumJSON + `,"date":1}}}`,
			botapi.Update{ID: 13, Message: message(func(m *botapi.Message) {
				m.Text, m.ForwardOrigin = "x", &botapi.ForwardOrigin{Type: "chat", SenderChat: &forum}
			})},
		},
		"reaction": {
			`{"update_id":14,"message_reaction":{"chat":` + forumJSON + `,"message_id":10,"date":1,"user":` + annaJSON + `,
				"old_reaction":[{"type":"emoji","emoji":"👍"}],"new_reaction":[{"type":"custom_emoji","custom_emoji_id":"77"},{"type":"paid"}]}}`,
			botapi.Update{ID: 14, Reaction: &botapi.MessageReaction{
				Chat: forum, MessageID: 10, User: &anna, Old: []botapi.Reaction{{Type: "emoji", Emoji: "👍"}},
				New: []botapi.Reaction{{Type: "custom_emoji", Custom: "77"}, {Type: "paid"}},
			}},
		},
		"reaction of somebody anonymous": {
			`{"update_id":15,"message_reaction":{"chat":` + forumJSON + `,"message_id":10,"date":1,"actor_chat":` + forumJSON + `,"old_reaction":[],"new_reaction":[]}}`,
			botapi.Update{ID: 15, Reaction: &botapi.MessageReaction{Chat: forum, MessageID: 10, ActorChat: &forum, Old: []botapi.Reaction{}, New: []botapi.Reaction{}}},
		},
		"tap": {
			`{"update_id":16,"callback_query":{"id":"4382bfdwdsb323b2d9","from":` + annaJSON + `,"message":{` + headJSON + `,"text":"ok?","reply_markup":{"inline_keyboard":[[{"text":"Allow","callback_data":"a:1"}]]}},
				"chat_instance":"-36","data":"a:1"}}`,
			botapi.Update{ID: 16, Callback: &botapi.CallbackQuery{
				ID: "4382bfdwdsb323b2d9", From: anna, Data: "a:1", Message: message(func(m *botapi.Message) { m.Text = "ok?" }),
			}},
		},
		"tap on a message that is too old": {
			`{"update_id":17,"callback_query":{"id":"1","from":` + annaJSON + `,"message":{"chat":` + privJSON + `,"message_id":3,"date":0},"chat_instance":"-36","data":"a:1"}}`,
			botapi.Update{ID: 17, Callback: &botapi.CallbackQuery{ID: "1", From: anna, Data: "a:1", Message: &botapi.Message{ID: 3, Chat: priv}}},
		},
		"group becomes a supergroup": {
			`{"update_id":18,"message":{"message_id":20,"from":` + annaJSON + `,"chat":{"id":-500,"title":"House","type":"group","all_members_are_administrators":true},"date":1,"migrate_to_chat_id":-1001234567890}}`,
			botapi.Update{ID: 18, Message: &botapi.Message{ID: 20, From: &anna, Chat: botapi.Chat{ID: -500, Type: "group", Title: "House"}, Date: 1, MigrateTo: -1001234567890}},
		},
		"supergroup was a group": {
			`{"update_id":19,"message":{"message_id":1,"from":` + annaJSON + `,"chat":` + forumJSON + `,"date":1,"migrate_from_chat_id":-500}}`,
			botapi.Update{ID: 19, Message: &botapi.Message{ID: 1, From: &anna, Chat: forum, Date: 1, MigrateFrom: -500}},
		},
		"the bot was blocked": {
			`{"update_id":20,"my_chat_member":{"chat":` + privJSON + `,"from":` + annaJSON + `,"date":1,"old_chat_member":{"user":{"id":1,"is_bot":true,"first_name":"B"},"status":"member"},
				"new_chat_member":{"user":{"id":1,"is_bot":true,"first_name":"B"},"status":"kicked","until_date":0}}}`,
			botapi.Update{ID: 20, Member: &botapi.MemberUpdate{Chat: priv, From: anna, New: botapi.Member{Status: "kicked"}}},
		},
		"a kind of tomorrow": {`{"update_id":21,"telepathy":{"thought":[1,{"x":null}]}}`, botapi.Update{ID: 21}},
		"fields of tomorrow, and null": {
			`{"update_id":22,"message":{` + headJSON + `,"text":"x","photo":null,"reply_to_message":null,"aura":{"colour":[{}]}}}`,
			botapi.Update{ID: 22, Message: message(func(m *botapi.Message) { m.Text = "x" })},
		},
		"halves of surrogate pairs": {
			`{"update_id":23,"message":{` + headJSON + `,"text":"a\ud83db\ude00c\ud83d"}}`,
			botapi.Update{ID: 23, Message: message(func(m *botapi.Message) { m.Text = "a\uFFFDb\uFFFDc\uFFFD" })},
		},
		"bytes that are not UTF-8": {
			`{"update_id":24,"message":{` + headJSON + ",\"text\":\"a\xffb\xe2\x82\"}}",
			botapi.Update{ID: 24, Message: message(func(m *botapi.Message) { m.Text = "a\uFFFDb\uFFFD\uFFFD" })},
		},
		"a caption of 100 kB": {
			`{"update_id":25,"message":{` + headJSON + `,"caption":"` + strings.Repeat("é", 50000) + `"}}`,
			botapi.Update{ID: 25, Message: message(func(m *botapi.Message) { m.Caption = strings.Repeat("é", 50000) })},
		},
		"no sender": {
			`{"update_id":26,"message":{"message_id":1,"chat":` + privJSON + `}}`,
			botapi.Update{ID: 26, Message: &botapi.Message{ID: 1, Chat: priv}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := botapi.DecodeUpdate(json.RawMessage(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				g, _ := json.Marshal(got)
				w, _ := json.Marshal(c.want)
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

// TestDecodeUpdateRefuses: the error says where and what, and nothing that somebody wrote.
func TestDecodeUpdateRefuses(t *testing.T) {
	const canary = "s3cret"
	for name, c := range map[string]struct {
		raw, says string
		id        int64
	}{
		"nothing":               {``, "not a JSON object", 0},
		"null":                  {`null`, "not a JSON object", 0},
		"a string":              {`"s3cret"`, "not a JSON object", 0},
		"a list":                {`[{"update_id":1}]`, "not a JSON object", 0},
		"half":                  {`{"update_id":1,"message":{"text":"s3cret`, "not JSON from byte", 0},
		"garbage":               {`{"update_id":1,"message":s3cret}`, "not JSON from byte 26 on", 0},
		"more behind it":        {`{"update_id":1} s3cret`, "not JSON from byte", 0},
		"no number":             {`{"message":{"message_id":1,"chat":{"id":1},"text":"s3cret"}}`, "has no update_id", 0},
		"text is a number":      {`{"update_id":7,"message":{` + headJSON + `,"text":4711}}`, "the update's message.text is a JSON number, and should be a string", 7},
		"text is an object":     {`{"update_id":7,"message":{` + headJSON + `,"text":{"s3cret":"s3cret"}}}`, "message.text is a JSON object", 7},
		"id is a string":        {`{"update_id":7,"message":{"message_id":"s3cret","chat":{"id":1}}}`, "message.message_id is a JSON string, and should be a whole number", 7},
		"id is a fraction":      {`{"update_id":7,"message":{"message_id":4711.5,"chat":{"id":1}}}`, "message.message_id is a JSON number, and should be a whole number", 7},
		"id fits nothing":       {`{"update_id":7,"message":{"message_id":1,"chat":{"id":47110000000000000000000}}}`, "message.chat.id is a JSON number", 7},
		"update_id is a string": {`{"update_id":"s3cret"}`, "update_id is a JSON string", 0},
		"message is a list":     {`{"update_id":7,"message":["s3cret"]}`, "message is a JSON array, and should be an object", 7},
		"entities is an object": {`{"update_id":7,"message":{` + headJSON + `,"entities":{"s3cret":1}}}`, "message.entities is a JSON object, and should be an array", 7},
		"an entity's offset":    {`{"update_id":7,"message":{` + headJSON + `,"entities":[{"offset":0},{"offset":"s3cret"}]}}`, "message.entities.offset is a JSON string", 7},
		"is_bot is a string":    {`{"update_id":7,"message":{"message_id":1,"chat":{"id":1},"from":{"id":1,"is_bot":"s3cret"}}}`, "message.from.is_bot is a JSON string, and should be a boolean", 7},
		"latitude is a string":  {`{"update_id":7,"message":{` + headJSON + `,"location":{"latitude":"s3cret"}}}`, "message.location.latitude is a JSON string, and should be a number", 7},
		"no chat":               {`{"update_id":7,"message":{"message_id":1,"text":"s3cret"}}`, "has no message.chat.id", 7},
		"no chat, edited":       {`{"update_id":7,"edited_message":{"message_id":1}}`, "has no edited_message.chat.id", 7},
		"no chat, reaction":     {`{"update_id":7,"message_reaction":{}}`, "has no message_reaction.chat.id", 7},
		"no chat, member":       {`{"update_id":7,"my_chat_member":{}}`, "has no my_chat_member.chat.id", 7},
		"no id, tap":            {`{"update_id":7,"callback_query":{"from":{"id":1}}}`, "has no callback_query.id", 7},
		"nobody taps":           {`{"update_id":7,"callback_query":{"id":"s3cret"}}`, "has no callback_query.from.id", 7},
		"too deep":              {`{"update_id":7,"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "nested more than 64 deep", 0},
		"much too deep":         {`{"update_id":7,"x":` + strings.Repeat(`{"message":`, 80000) + `1` + strings.Repeat("}", 80000) + `}`, "nested more than 64 deep", 0},
		"deep without an end":   {strings.Repeat(`{"reply_to_message":`, 1000), "nested more than 64 deep", 0},
		"too large":             {`{"update_id":7,"message":{` + headJSON + `,"text":"` + strings.Repeat("s3cret", 200000) + `"}}`, "bytes, and may have 1048576", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := botapi.DecodeUpdate(json.RawMessage(c.raw))
			if err == nil {
				t.Fatalf("taken: %+v", got)
			}
			if s := err.Error(); !strings.Contains(s, c.says) || strings.Contains(s, canary) || strings.Contains(s, "4711") || len(s) > 200 {
				t.Errorf("says %q, want %q", s, c.says)
			}
			if !reflect.DeepEqual(got, botapi.Update{ID: c.id}) {
				t.Errorf("gives %+v, want no more than number %d", got, c.id)
			}
		})
	}
}

func FuzzDecodeUpdate(f *testing.F) {
	for _, s := range []string{
		`{"update_id":1,"message":{` + headJSON + `,"text":"a\ud83d","entities":[{"type":"bold","offset":0,"length":1}]}}`,
		`{"update_id":2,"callback_query":{"id":"1","from":` + annaJSON + `,"data":"a:1"}}`,
		`{"update_id":3,"message":{"chat":{"id":1},"reply_to_message":{"reply_to_message":{}},"poll":{"options":[{"text":"x"}]}}}`,
		`{"update_id":4,"message_reaction":{"chat":{"id":1},"new_reaction":[{"type":"emoji"}]}}`,
		`{"update_id":"x","message":7}`, `{"UPDATE_ID":1,"update_id":2}`, `null`, `{`, "{\"update_id\":1,\"message\":{\"chat\":{\"id\":1},\"text\":\"\xff\"}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		u, err := botapi.DecodeUpdate(raw)
		if string(raw) != before {
			t.Fatal("the raw update was changed")
		}
		if err != nil {
			if !reflect.DeepEqual(u, botapi.Update{ID: u.ID}) {
				t.Fatalf("%v, and yet %+v", err, u)
			}
			if s := err.Error(); len(s) > 200 || !utf8.ValidString(s) {
				t.Fatalf("%q", s)
			}
			return
		}
		if u.ID <= 0 || !json.Valid(raw) {
			t.Fatalf("%q was taken", raw)
		}
		if m := u.Message; m != nil && (m.Chat.ID == 0 || !utf8.ValidString(m.Text) || !utf8.ValidString(m.Caption)) {
			t.Fatalf("%+v", m)
		}
	})
}
