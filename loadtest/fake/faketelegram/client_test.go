package faketelegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann = faketelegram.User{ID: 11, FirstName: "Ann", Username: "ann_types"}
	bob = faketelegram.User{ID: 12, FirstName: "Bob"}
	dm  = faketelegram.Private(ann)
)

// p are the parameters of a call.
type p map[string]any

// result is an answer of the API.
type result struct {
	Status      int
	Gone        bool // the connection was closed
	OK          bool
	Result      json.RawMessage
	Code        int `json:"error_code"`
	Description string
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	}
	header http.Header
	body   string
}

func (r result) decode(t *testing.T, v any) {
	t.Helper()
	if !r.OK {
		t.Fatalf("not ok: %d %s", r.Code, r.Description)
	}
	if err := json.Unmarshal(r.Result, v); err != nil {
		t.Fatalf("%v in %s", err, r.Result)
	}
}

// id is the message_id of the result.
func (r result) id(t *testing.T) int {
	t.Helper()
	var m struct {
		ID int `json:"message_id"`
	}
	r.decode(t, &m)
	return m.ID
}

// server does not listen: its calls pass no network, so that it can live in a synctest bubble.
func server(t *testing.T, o faketelegram.Options) *faketelegram.Server {
	t.Helper()
	s := faketelegram.New(o)
	t.Cleanup(s.Close)
	return s
}

// unlimited has one chat already, and no limits.
func unlimited(t *testing.T) *faketelegram.Server {
	t.Helper()
	s := server(t, faketelegram.Options{Limits: faketelegram.Limits{Off: true}})
	s.AddChat("", dm)
	return s
}

func path(method string) string { return "/bot" + faketelegram.DefaultToken + "/" + method }

func call(ctx context.Context, t *testing.T, s *faketelegram.Server, method string, params p) result {
	t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		t.Error(err)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path(method), bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return direct(t, s, r)
}

// direct has the handler answer a request.
func direct(t *testing.T, s *faketelegram.Server, r *http.Request) (res result) {
	t.Helper()
	w := httptest.NewRecorder()
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			res = result{Gone: true}
		default:
			panic(v)
		}
	}()
	s.Handler().ServeHTTP(w, r)
	res.body = w.Body.String()
	_ = json.Unmarshal(w.Body.Bytes(), &res) // what is not JSON is looked at as text
	res.Status, res.header = w.Code, w.Header()
	return res
}

// update is what these tests look at.
type update struct {
	ID      int64 `json:"update_id"`
	Message *message
	Edited  *message `json:"edited_message"`
	Post    *message `json:"channel_post"`
	Tap     *struct {
		ID      string
		Data    string
		From    faketelegram.User
		Message message
	} `json:"callback_query"`
	Reaction *struct {
		ID  int                      `json:"message_id"`
		Old []struct{ Emoji string } `json:"old_reaction"`
		New []struct{ Emoji string } `json:"new_reaction"`
	} `json:"message_reaction"`
}

type message struct {
	ID         int  `json:"message_id"`
	Thread     int  `json:"message_thread_id"`
	IsTopic    bool `json:"is_topic_message"`
	Date       int64
	EditDate   int64 `json:"edit_date"`
	From       faketelegram.User
	SenderChat *faketelegram.Chat `json:"sender_chat"`
	Chat       faketelegram.Chat
	Text       string
	Entities   []faketelegram.Entity
	Caption    string
	MediaGroup string `json:"media_group_id"`
	ReplyTo    *struct {
		ID      int                    `json:"message_id"`
		Created *struct{ Name string } `json:"forum_topic_created"`
		ReplyTo any                    `json:"reply_to_message"`
	} `json:"reply_to_message"`
	Forward *struct {
		Type string
		User faketelegram.User `json:"sender_user"`
		Name string            `json:"sender_user_name"`
		Chat faketelegram.Chat
	} `json:"forward_origin"`
	Photo                                  []media
	Document, Voice, Audio, Video, Sticker *media
	Location                               *struct{ Latitude, Longitude float64 }
	MigrateTo                              int64 `json:"migrate_to_chat_id"`
	MigrateFrom                            int64 `json:"migrate_from_chat_id"`
	Markup                                 *struct {
		Inline [][]faketelegram.Button `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

type media struct {
	ID    string `json:"file_id"`
	Size  int64  `json:"file_size"`
	Name  string `json:"file_name"`
	Mime  string `json:"mime_type"`
	Emoji string
}

func poll(t *testing.T, s *faketelegram.Server, params p) []update {
	t.Helper()
	var list []update
	call(t.Context(), t, s, "getUpdates", params).decode(t, &list)
	return list
}

func texts(list []update) string {
	var out []string
	for _, u := range list {
		if u.Message != nil {
			out = append(out, u.Message.Text)
		}
	}
	return strings.Join(out, " ")
}

func send(t *testing.T, s *faketelegram.Server, chat int64, text string) result {
	t.Helper()
	return call(t.Context(), t, s, "sendMessage", p{"chat_id": chat, "text": text})
}

func wants(t *testing.T, what string, r result, code int, description string) {
	t.Helper()
	if r.Code != code || r.Status != code || r.Description != description || r.OK {
		t.Errorf("%s: %d %q, want %d %q", what, r.Code, r.Description, code, description)
	}
}

func TestPathsAndForms(t *testing.T) {
	s := unlimited(t)
	token := faketelegram.DefaultToken
	const form, js = "application/x-www-form-urlencoded", "application/json"
	multi := "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n11\r\n--B\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nhi" +
		"\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nbytes\r\n--B--\r\n"
	for _, c := range []struct {
		what, path, kind, body string
		code                   int
		description            string
	}{
		{"json", "/bot" + token + "/sendMessage", js, `{"chat_id":11,"text":"hi","reply_markup":null}`, 200, ""},
		{"form", "/bot" + token + "/sendMessage", form, "chat_id=11&text=hi", 200, ""},
		{"query", "/bot" + token + "/sendMessage?chat_id=11&text=hi", "", "", 200, ""},
		{"multipart", "/bot" + token + "/sendMessage", "multipart/form-data; boundary=B", multi, 200, ""},
		{"any case", "/bot" + token + "/SENDmessage", form, "chat_id=11&text=hi", 200, ""},
		{"unknown method", "/bot" + token + "/sendRocket", "", "", 404, "Not Found: method not found"},
		{"unknown token", "/bot99:other/getMe", "", "", 401, "Unauthorized"},
		{"no token at all", "/botnothing/getMe", "", "", 401, "Unauthorized: invalid token specified"},
		{"no method", "/bot" + token, "", "", 404, "Not Found"},
		{"another path", "/metrics", "", "", 404, "Not Found"},
		{"half an object", "/bot" + token + "/sendMessage", js, `{"chat_id":11,`, 400, "Bad Request: can't parse request JSON object"},
		{"not UTF-8", "/bot" + token + "/sendMessage", js, "{\"text\":\"\xff\"}", 400, "Bad Request: strings must be encoded in UTF-8"},
		{"too large", "/bot" + token + "/getMe", js, strings.Repeat(" ", 2<<20), 413, "Request Entity Too Large"},
		{"broken multipart", "/bot" + token + "/getMe", "multipart/form-data; boundary=B", "--B\r\nx", 400, "Bad Request: can't parse multipart form"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		res := direct(t, s, r)
		if res.Status != c.code || res.Description != c.description || res.OK != (c.code == 200) {
			t.Errorf("%s: %d %q, want %d %q", c.what, res.Status, res.Description, c.code, c.description)
		}
	}
	if got := s.Messages(11); len(got) != 5 || got[4].Text != "hi" {
		t.Errorf("messages %+v", got)
	}
}

func TestMeAndCalls(t *testing.T) {
	var lines []string
	s := server(t, faketelegram.Options{
		Tokens: map[string]faketelegram.Bot{"7:a": {Username: "one_bot", Name: "One"}, "8:b": {ID: 80, Username: "two_bot"}},
		Log:    func(f string, _ ...any) { lines = append(lines, f) },
	})
	var me struct {
		faketelegram.User
		Join bool `json:"can_join_groups"`
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bot7:a/getMe?chat_id=5", nil)
	direct(t, s, r).decode(t, &me)
	if want := (faketelegram.User{ID: 7, IsBot: true, FirstName: "One", Username: "one_bot"}); me.User != want || !me.Join {
		t.Errorf("me %+v", me)
	}
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bot8:b/getMe", nil)
	direct(t, s, r).decode(t, &me)
	if me.ID != 80 {
		t.Errorf("me %+v", me)
	}
	s.Revoke("one_bot")
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bot7:a/getMe", nil)
	wants(t, "revoked", direct(t, s, r), 401, "Unauthorized")
	calls := s.Calls()
	if len(calls) != 3 || calls[0].Bot != "one_bot" || calls[0].Method != "getMe" || calls[0].Status != 200 || calls[0].Chat != 5 ||
		calls[0].Params["chat_id"] != "5" || calls[2].Status != 401 {
		t.Errorf("calls %+v", calls)
	}
	if len(lines) != 3 {
		t.Errorf("log %q", lines)
	}
	defer func() {
		if recover() == nil {
			t.Error("nobody's name is taken for a bot")
		}
	}()
	s.Polling("three_bot")
}

func TestItListens(t *testing.T) {
	s, err := faketelegram.Start(faketelegram.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	res, err := http.Get(s.URL() + path("getMe"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !bytes.Contains(body, []byte(`"is_bot":true`)) {
		t.Errorf("%s, %v", body, err)
	}
	if _, err := faketelegram.Start(faketelegram.Options{Listen: strings.TrimPrefix(s.URL(), "http://")}); err == nil {
		t.Error("two servers at one address")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestWaitIsWokenByChanges(t *testing.T) {
	s := unlimited(t)
	done := make(chan error)
	go func() {
		done <- s.Wait(t.Context(), func(s *faketelegram.Server) bool { return len(s.Messages(11)) == 2 })
	}()
	send(t, s, 11, "one")
	send(t, s, 11, "two")
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx, func(*faketelegram.Server) bool { return false }); err == nil {
		t.Error("what never happens was waited for")
	}
}
