package botapi_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

// TestCalls compares what each method sends, to the letter.
func TestCalls(t *testing.T) {
	rec := &recorder{results: map[string]string{
		"sendMessage": `{"message_id":42,"date":1,"chat":{"id":7,"type":"private"}}`,
		"getMe":       `{"id":123456789,"is_bot":true,"first_name":"B","username":"b_bot"}`,
		"getFile":     `{"file_id":"F","file_unique_id":"U","file_size":12,"file_path":"photos/file_1.jpg"}`,
		"getUpdates":  `[]`,
		"getWebhookInfo": `{"url":"https://h.example/tg","pending_update_count":3,"max_connections":40,"allowed_updates":["message"],
			"last_error_date":1700000000,"last_error_message":"Wrong response\nfrom the webhook ` + token + `"}`,
	}}
	srv := httptest.NewServer(rec)
	defer srv.Close()
	c := client(t, srv.URL+"/prefix/")
	ctx := t.Context()
	const kinds = `["message","edited_message","callback_query","message_reaction","my_chat_member"]`
	for name, tc := range map[string]struct {
		do           func() (any, error)
		want         any
		path, params string
	}{
		"getMe": {
			func() (any, error) { return c.GetMe(ctx) },
			botapi.User{ID: 123456789, IsBot: true, FirstName: "B", Username: "b_bot"},
			"getMe", ``,
		},
		"getUpdates": {
			func() (any, error) { return c.GetUpdates(ctx, 17, 50, 25*time.Second) },
			[]botapi.RawUpdate{},
			"getUpdates", `{"offset":17,"limit":50,"timeout":25,"allowed_updates":` + kinds + `}`,
		},
		"getUpdates, beyond all bounds": {
			func() (any, error) { return c.GetUpdates(ctx, 0, 1000, time.Hour) },
			[]botapi.RawUpdate{},
			"getUpdates", `{"offset":0,"limit":100,"timeout":50,"allowed_updates":` + kinds + `}`,
		},
		"getUpdates, below all bounds": {
			func() (any, error) { return c.GetUpdates(ctx, 0, 0, -time.Second) },
			[]botapi.RawUpdate{},
			"getUpdates", `{"offset":0,"limit":1,"timeout":0,"allowed_updates":` + kinds + `}`,
		},
		"deleteWebhook": {func() (any, error) { return nil, c.DeleteWebhook(ctx) }, nil, "deleteWebhook", ``},
		"setWebhook": {
			func() (any, error) { return nil, c.SetWebhook(ctx, "https://h.example/tg?x=1", "s3cret_-", 0) },
			nil, "setWebhook", `{"url":"https://h.example/tg?x=1","secret_token":"s3cret_-","max_connections":1,"allowed_updates":` + kinds + `}`,
		},
		"getWebhookInfo": {
			func() (any, error) { return c.GetWebhookInfo(ctx) },
			botapi.WebhookInfo{
				URL: "https://h.example/tg", Pending: 3, MaxConnections: 40, AllowedUpdates: []string{"message"},
				LastError: "Wrong response from the webhook [secret removed]", LastErrorAt: time.Unix(1700000000, 0).UTC(),
			},
			"getWebhookInfo", ``,
		},
		"getFile": {
			func() (any, error) { return c.GetFile(ctx, "F") },
			botapi.File{Path: "photos/file_1.jpg", Size: 12},
			"getFile", `{"file_id":"F"}`,
		},
		"answerCallback": {
			func() (any, error) { return nil, c.AnswerCallback(ctx, "99", "done", true) },
			nil, "answerCallbackQuery", `{"callback_query_id":"99","text":"done","show_alert":true,"cache_time":0}`,
		},
		"answerCallback, silent": {
			func() (any, error) { return nil, c.AnswerCallback(ctx, "99", "", false) },
			nil, "answerCallbackQuery", `{"callback_query_id":"99","cache_time":0}`,
		},
		"setCommands": {
			func() (any, error) {
				return nil, c.SetCommands(ctx, []botapi.Command{{Name: "new", Description: "start again"}})
			},
			nil, "setMyCommands", `{"commands":[{"command":"new","description":"start again"}]}`,
		},
		"setCommands, none": {func() (any, error) { return nil, c.SetCommands(ctx, nil) }, nil, "setMyCommands", `{"commands":[]}`},
		"sendMessage": {
			func() (any, error) { return c.SendMessage(ctx, botapi.Send{Chat: 7, Text: "a < b & \u2028"}) },
			int64(42), "sendMessage", `{"chat_id":7,"text":"a < b & \u2028","link_preview_options":{"is_disabled":true}}`,
		},
		"sendMessage, all": {
			func() (any, error) {
				return c.SendMessage(ctx, botapi.Send{
					Chat: -1001234567890, Thread: 5, Text: "hi", Reply: 41, Silent: true,
					Entities: []botapi.Entity{{Type: "pre", Offset: 0, Length: 2, Language: "go"}, {Type: "text_link", Offset: 1, Length: 1, URL: "https://x.example"}},
					Buttons:  [][]botapi.Button{{{Text: "Allow", Data: "a:1"}, {Text: "Deny", Data: "d:1"}}},
				})
			},
			int64(42), "sendMessage", `{"chat_id":-1001234567890,"message_thread_id":5,"text":"hi","link_preview_options":{"is_disabled":true},
				"disable_notification":true,"reply_parameters":{"message_id":41,"allow_sending_without_reply":true},
				"entities":[{"type":"pre","offset":0,"length":2,"language":"go"},{"type":"text_link","offset":1,"length":1,"url":"https://x.example"}],
				"reply_markup":{"inline_keyboard":[[{"text":"Allow","callback_data":"a:1"},{"text":"Deny","callback_data":"d:1"}]]}}`,
		},
		"editMessageText": {
			func() (any, error) {
				return nil, c.EditMessageText(ctx, botapi.Edit{Chat: 7, Message: 42, Text: "new", Entities: []botapi.Entity{{Type: "bold", Length: 3}}})
			},
			nil, "editMessageText", `{"chat_id":7,"message_id":42,"text":"new","entities":[{"type":"bold","offset":0,"length":3}],
				"link_preview_options":{"is_disabled":true}}`,
		},
		"editMessageText, buttons": {
			func() (any, error) {
				return nil, c.EditMessageText(ctx, botapi.Edit{Chat: 7, Message: 42, Text: "new", Buttons: [][]botapi.Button{{{Text: "x", Data: "y"}}}})
			},
			nil, "editMessageText", `{"chat_id":7,"message_id":42,"text":"new","link_preview_options":{"is_disabled":true},
				"reply_markup":{"inline_keyboard":[[{"text":"x","callback_data":"y"}]]}}`,
		},
		"editButtons": {
			func() (any, error) {
				return nil, c.EditButtons(ctx, 7, 42, [][]botapi.Button{{{Text: "x", Data: "y"}}})
			},
			nil, "editMessageReplyMarkup", `{"chat_id":7,"message_id":42,"reply_markup":{"inline_keyboard":[[{"text":"x","callback_data":"y"}]]}}`,
		},
		"editButtons, none": {
			func() (any, error) { return nil, c.EditButtons(ctx, 7, 42, nil) },
			nil, "editMessageReplyMarkup", `{"chat_id":7,"message_id":42}`,
		},
		"react": {
			func() (any, error) { return nil, c.React(ctx, 7, 42, "👍") },
			nil, "setMessageReaction", `{"chat_id":7,"message_id":42,"reaction":[{"type":"emoji","emoji":"👍"}]}`,
		},
		"chatAction": {
			func() (any, error) { return nil, c.ChatAction(ctx, -100, 5, "typing") },
			nil, "sendChatAction", `{"chat_id":-100,"message_thread_id":5,"action":"typing"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.do()
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("%+v, %v; want %+v", got, err, tc.want)
			}
			asked := rec.last(t)
			if asked.Verb != "POST" || asked.Path != "/prefix/botTOKEN/"+tc.path {
				t.Errorf("%s %s", asked.Verb, asked.Path)
			}
			var params map[string]any
			if tc.params != "" {
				if err := json.Unmarshal([]byte(tc.params), &params); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(asked.Params, params) {
				t.Errorf("sent %v\nwant %v", asked.Params, params)
			}
		})
	}
}

// TestRefusedHere: what must not be asked is not asked.
func TestRefusedHere(t *testing.T) {
	c := client(t, "http://127.0.0.1:1")
	ctx := t.Context()
	const secret = "webhook-s3cret"
	for name, err := range map[string]error{
		"a negative offset":     func() error { _, err := c.GetUpdates(ctx, -1, 1, 0); return err }(),
		"a webhook, http":       c.SetWebhook(ctx, "http://h.example/", secret, 1),
		"a webhook, no host":    c.SetWebhook(ctx, "https:///"+secret, secret, 1),
		"a webhook, no secret":  c.SetWebhook(ctx, "https://h.example/", "", 1),
		"a webhook, bad secret": c.SetWebhook(ctx, "https://h.example/", secret+"!", 1),
		"a webhook, not a URL":  c.SetWebhook(ctx, "https://[::"+secret, secret, 1),
	} {
		if e := failure(t, err); e.Class != botapi.Refused || e.Code != 0 || strings.Contains(e.Error(), secret) {
			t.Errorf("%s: %s %s", name, e.Class, e)
		}
	}
}

// TestWebhookSecret: the server's words tell it no more than the token.
func TestWebhookSecret(t *testing.T) {
	c := serve(t, 400, no(400, "Bad Request: cannot set webhook-s3cret of "+token))
	e := failure(t, c.SetWebhook(t.Context(), "https://h.example/", "webhook-s3cret", 1))
	if strings.Contains(e.Error(), "s3cret") {
		t.Error(e)
	}
}

func TestNotModifiedIsSuccess(t *testing.T) {
	c := serve(t, 400, no(400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"))
	if err := c.EditMessageText(t.Context(), botapi.Edit{Chat: 7, Message: 42, Text: "x"}); err != nil {
		t.Error(err)
	}
	if err := c.EditButtons(t.Context(), 7, 42, nil); err != nil {
		t.Error(err)
	}
	if e := failure(t, send(t.Context(), c)); e.Class != botapi.Refused {
		t.Errorf("a message that was not sent: %s", e.Class)
	}
}

func TestResultsThatSayNothing(t *testing.T) {
	for _, result := range []string{`null`, `true`, `{}`, `[]`, `"x"`, `{"id":"7"}`} {
		c := serve(t, 200, `{"ok":true,"result":`+result+`}`)
		ctx := t.Context()
		for name, call := range map[string]func(context.Context) error{
			"getMe":       func(ctx context.Context) error { _, err := c.GetMe(ctx); return err },
			"getFile":     func(ctx context.Context) error { _, err := c.GetFile(ctx, "F"); return err },
			"sendMessage": func(ctx context.Context) error { return send(ctx, c) },
		} {
			if e := failure(t, call(ctx)); e.Class != botapi.Unknown || e.Method != name {
				t.Errorf("%s, %s: %s %s", name, result, e.Class, e.Method)
			}
		}
	}
	for _, result := range []string{`null`, `true`, `{}`, `"x"`, `[1,`} {
		if _, err := serve(t, 200, `{"ok":true,"result":`+result+`}`).GetUpdates(t.Context(), 1, 1, 0); failure(t, err).Class != botapi.Unknown {
			t.Errorf("getUpdates, %s: %v", result, err)
		}
	}
}

// TestCallbackText: the server takes 200 code units, and half a character is none.
func TestCallbackText(t *testing.T) {
	rec := &recorder{}
	srv := httptest.NewServer(rec)
	defer srv.Close()
	c := client(t, srv.URL)
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aé€👍\U000E0041")), 0, 300, -1).Draw(rt, "text")
		if err := c.AnswerCallback(ctx, "1", text, false); err != nil {
			rt.Fatal(err)
		}
		got, _ := rec.last(t).Params["text"].(string)
		units := len(utf16.Encode([]rune(text)))
		switch n := len(utf16.Encode([]rune(got))); {
		case units <= 200 && got != text:
			rt.Fatalf("%q became %q", text, got)
		case units > 200 && (n > 200 || n < 199 || !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) || strings.Contains(got, "\uFFFD")):
			rt.Fatalf("%d units became %d: %q", units, n, got)
		}
	})
}
