package botapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const page = "<!DOCTYPE html><html><body>{echo} is not here</body></html>"

func no(code int, description string) string {
	return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, description)
}

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		header  []string
		class   botapi.Class
		code    int
		after   time.Duration
		foreign bool
		says    string
	}{
		"400":                     {400, no(400, "Bad Request: chat not found"), nil, botapi.Refused, 400, 0, false, "sendMessage: Bad Request: chat not found"},
		"403":                     {403, no(403, "Forbidden: bot was blocked by the user"), nil, botapi.Refused, 403, 0, false, "blocked"},
		"404":                     {404, no(404, "Not Found"), nil, botapi.Refused, 404, 0, false, "Not Found (if every method says so, the token or api_root is wrong)"},
		"421":                     {421, no(421, "Misdirected Request: unallowed token specified"), nil, botapi.Refused, 421, 0, false, "Misdirected"},
		"401":                     {401, no(401, "Unauthorized"), nil, botapi.Unauthorized, 401, 0, false, "the token is wrong or was revoked"},
		"409":                     {409, no(409, "Conflict: terminated by other getUpdates request"), nil, botapi.Conflict, 409, 0, false, "terminated"},
		"429":                     {429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, nil, botapi.Limited, 429, 35 * time.Second, false, "retry after 35"},
		"429, header":             {429, no(429, "Too Many Requests"), []string{"Retry-After: 7"}, botapi.Limited, 429, 7 * time.Second, false, ""},
		"429, without a time":     {429, no(429, "Too Many Requests"), nil, botapi.Limited, 429, time.Second, false, ""},
		"429, for ever":           {429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":1e300}}`, nil, botapi.Limited, 429, 24 * time.Hour, false, ""},
		"429, below 0":            {429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":-5}}`, nil, botapi.Limited, 429, time.Second, false, ""},
		"429, no number":          {429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":"soon"}}`, nil, botapi.Limited, 429, time.Second, false, ""},
		"429 of a proxy":          {429, page, []string{"Retry-After: 3"}, botapi.Limited, 429, 3 * time.Second, true, "answers HTML"},
		"500":                     {500, no(500, "Internal Server Error: restart"), nil, botapi.Later, 500, 0, false, "restart"},
		"502 as JSON":             {502, no(502, "Bad Gateway"), nil, botapi.Later, 502, 0, false, "Bad Gateway"},
		"503 as JSON, header":     {503, no(503, "x"), []string{"Retry-After: 9"}, botapi.Later, 503, 9 * time.Second, false, ""},
		"502 as HTML":             {502, page, nil, botapi.Unknown, 502, 0, true, "answers HTML, not the Bot API: check api_root"},
		"503 empty":               {503, "", nil, botapi.Unknown, 503, 0, true, "check api_root"},
		"504 as other JSON":       {504, `{"message":"Endpoint request timed out"}`, nil, botapi.Unknown, 504, 0, true, "does not answer as the Bot API does"},
		"200 as HTML":             {200, page, nil, botapi.Unknown, 200, 0, true, "answers HTML, not the Bot API: check api_root"},
		"200, HTML by its header": {200, "hello", []string{"Content-Type: text/html; charset=utf-8"}, botapi.Unknown, 200, 0, true, "answers HTML"},
		"200, garbage":            {200, "\x00\x01\x02{]", nil, botapi.Unknown, 200, 0, true, "does not answer as the Bot API does"},
		"200, empty":              {200, "", nil, botapi.Unknown, 200, 0, true, ""},
		"200, other JSON":         {200, `{"hello":1}`, nil, botapi.Unknown, 200, 0, true, ""},
		"200, ok is null":         {200, `{"ok":null,"result":{"message_id":1}}`, nil, botapi.Unknown, 200, 0, true, ""},
		"200, ok is a string":     {200, `{"ok":"true","result":{"message_id":1}}`, nil, botapi.Unknown, 200, 0, true, ""},
		"200, half":               {200, `{"ok":true,"result":{"message_id":1}`, nil, botapi.Unknown, 200, 0, true, ""},
		"200, a list":             {200, `[{"ok":true}]`, nil, botapi.Unknown, 200, 0, true, ""},
		"200, result null":        {200, `{"ok":true,"result":null}`, nil, botapi.Unknown, 200, 0, false, "cannot be read"},
		"200, result missing":     {200, `{"ok":true}`, nil, botapi.Unknown, 200, 0, false, "cannot be read"},
		"200, result of a kind":   {200, `{"ok":true,"result":{"message_id":"{echo}"}}`, nil, botapi.Unknown, 200, 0, false, "cannot be read"},
		"200, result broken":      {200, `{"ok":true,"result":{"message_id":+}}`, nil, botapi.Unknown, 200, 0, false, "cannot be read"},
		"200, not ok":             {200, `{"ok":false}`, nil, botapi.Refused, 200, 0, false, "refused without a reason"},
		"200, not ok, code":       {200, no(429, "x"), nil, botapi.Limited, 429, time.Second, false, ""},
		"not ok, code of nothing": {400, no(99, "x"), nil, botapi.Refused, 400, 0, false, ""},
		"500 with ok":             {500, `{"ok":true,"result":{"message_id":1}}`, nil, botapi.Unknown, 500, 0, true, ""},
		"404 as HTML":             {404, page, nil, botapi.Refused, 404, 0, true, "answers HTML, not the Bot API: check api_root"},
		"403 as HTML":             {403, page, nil, botapi.Refused, 403, 0, true, "answers HTML"},
		"401 as HTML":             {401, page, nil, botapi.Unauthorized, 401, 0, true, "check api_root"},
		"408":                     {408, "", nil, botapi.Later, 408, 0, true, ""},
		"301":                     {301, "", []string{"Location: /elsewhere"}, botapi.Refused, 301, 0, true, "redirects are not followed"},
		"307":                     {307, page, []string{"Location: https://example.com/bot" + token}, botapi.Refused, 307, 0, true, "redirects are not followed"},
		"too large":               {200, `{"ok":true,"result":"` + strings.Repeat("x", 5<<20) + `"}`, nil, botapi.Unknown, 200, 0, false, "larger than"},
		"too large, and no":       {400, no(400, strings.Repeat("x", 5<<20)), nil, botapi.Refused, 400, 0, false, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			e := failure(t, send(t.Context(), serve(t, c.status, c.body, c.header...)))
			if e.Method != "sendMessage" || e.Class != c.class || e.Code != c.code || e.RetryAfter != c.after || e.Foreign() != c.foreign {
				t.Errorf("%s: %s %d after %s, foreign %t", e.Method, e.Class, e.Code, e.RetryAfter, e.Foreign())
			}
			if !strings.Contains(e.Error(), c.says) {
				t.Errorf("%q does not say %q", e, c.says)
			}
		})
	}
}

// TestRedirectIsNotFollowed: its target would get the token.
func TestRedirectIsNotFollowed(t *testing.T) {
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/bot"+token+"/getMe", http.StatusFound)
	}))
	defer srv.Close()
	_, err := client(t, srv.URL).GetMe(t.Context())
	if e := failure(t, err); e.Class != botapi.Refused || calls.Load() != 1 {
		t.Errorf("%s after %d calls", e.Class, calls.Load())
	}
}

// TestDescription: what a server says cannot break a log, or tell it the token.
func TestDescription(t *testing.T) {
	for _, said := range []string{
		"Bad Request: " + token,
		"Bad Request: {echo}",
		strings.Repeat("x", 280) + token,
		strings.Repeat("é", 1000),
		strings.Repeat("x", 298) + "é",
		"line\nbreak\x1b[31m\u202e\u0000 and \x7f",
		strings.Repeat(token, 3000),
		strings.Repeat("x", 64<<10-20) + token,
		half[:18] + "\u200b" + half[18:],
		percent(token),
	} {
		body, err := json.Marshal(map[string]any{"ok": false, "error_code": 400, "description": said})
		if err != nil {
			t.Fatal(err)
		}
		e := failure(t, send(t.Context(), serve(t, 400, string(body))))
		if !utf8.ValidString(e.Description) || strings.ContainsFunc(e.Description, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", e.Description)
		}
	}
}

func TestMigration(t *testing.T) {
	e := failure(t, send(t.Context(), serve(t, 400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat",
		"parameters":{"migrate_to_chat_id":-1001234567890}}`)))
	if e.Class != botapi.Refused || e.MigrateTo != -1001234567890 || e.ChatGone() {
		t.Errorf("%s, to %d, gone %t", e.Class, e.MigrateTo, e.ChatGone())
	}
}

// TestReasons uses the texts of tdlib/telegram-bot-api, and of TDLib and Telegram behind it.
func TestReasons(t *testing.T) {
	reasons := map[string]func(*botapi.Error) bool{
		"blocked": (*botapi.Error).Blocked, "gone": (*botapi.Error).ChatGone, "rights": (*botapi.Error).NoRights, "entities": (*botapi.Error).BadEntities,
		"message": (*botapi.Error).NotFoundMessage, "long": (*botapi.Error).TooLong, "thread": (*botapi.Error).ThreadGone,
	}
	for _, c := range []struct {
		code       int
		says, want string
	}{
		{403, "Forbidden: bot was blocked by the user", "blocked"},
		{403, "Forbidden: user is deactivated", "blocked"},
		{403, "Forbidden: bot was kicked from the supergroup chat", "blocked"},
		{403, "Forbidden: bot is not a member of the channel chat", "blocked"},
		{403, "Forbidden: bot can't initiate conversation with a user", "blocked"},
		{403, "Forbidden: bot can't send messages to bots", "blocked"},
		{403, "Forbidden: the group chat was deleted", "gone"},
		{400, "Bad Request: chat not found", "gone"},
		{400, "Bad Request: private chat not found", "gone"},
		{400, "Bad Request: PEER_ID_INVALID", "gone"},
		{400, "Bad Request: group chat was upgraded to a supergroup chat", "gone"},
		{400, "Bad Request: not enough rights to send text messages to the chat", "rights"},
		{400, "Bad Request: have no rights to send a message", "rights"},
		{400, "Bad Request: need administrator rights in the channel chat", "rights"},
		{400, "Bad Request: CHAT_WRITE_FORBIDDEN", "rights"},
		{400, "Bad Request: TOPIC_CLOSED", "rights"},
		{400, "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 3", "entities"},
		{400, "Bad Request: can't parse MessageEntity: Field \"offset\" must be of type Number", "entities"},
		{400, "Bad Request: entity beginning at UTF-16 offset 3 ends after the end of the text at UTF-16 offset 12", "entities"},
		{400, "Bad Request: ENTITY_BOUNDS_INVALID", "entities"},
		{400, "ENTITIES_TOO_LONG", "entities"},
		{400, "Bad Request: message to edit not found", "message"},
		{400, "Bad Request: message can't be edited", "message"},
		{400, "Bad Request: MESSAGE_ID_INVALID", "message"},
		{400, "Bad Request: message to be replied not found", "message"},
		{400, "Bad Request: message is too long", "long"},
		{400, "Bad Request: text is too long", "long"},
		{400, "Bad Request: MESSAGE_TOO_LONG", "long"},
		{413, "Request Entity Too Large", "long"},
		{400, "Bad Request: message thread not found", "thread"},
		{400, "Bad Request: TOPIC_DELETED", "thread"},
		{400, "Bad Request: TOPIC_ID_INVALID", "thread"},
		{400, "Bad Request: reply markup is too long", ""},
		{400, "Bad Request: message text is empty", ""},
		{400, "Bad Request: identity unknown", ""},
		{401, "Unauthorized: chat not found", ""},
		{500, "Internal Server Error: message is too long", ""},
	} {
		e := failure(t, send(t.Context(), serve(t, c.code, no(c.code, c.says))))
		for name, is := range reasons {
			if is(e) != (name == c.want) {
				t.Errorf("%q: %s is %t", c.says, name, is(e))
			}
		}
	}
	// The same words of a proxy mean something else.
	e := failure(t, send(t.Context(), serve(t, 403, "<html>bot was blocked by the user</html>")))
	if e.Blocked() {
		t.Error("a page of HTML says who is blocked")
	}
}
