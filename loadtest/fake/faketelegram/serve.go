package faketelegram

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// refusal is an answer that is not ok.
type refusal struct {
	code       int
	text       string
	retryAfter int   // seconds
	migrateTo  int64 // chat id
}

func (r *refusal) Error() string { return r.text }

func refuse(code int, text string) error { return &refusal{code: code, text: text} }

func bad(text string) error { return refuse(http.StatusBadRequest, "Bad Request: "+text) }

func tooMany(seconds int) error {
	return &refusal{
		code: http.StatusTooManyRequests, retryAfter: seconds,
		text: "Too Many Requests: retry after " + strconv.Itoa(seconds),
	}
}

// errGone says that the caller hung up.
var errGone = errors.New("gone")

// described is a result with a description beside it.
type described struct {
	result any // json.RawMessage, once it is performed
	text   string
}

// query is one call of a method.
type query struct {
	ctx  context.Context //nolint:containedctx // lives as long as the request
	bot  *bot
	name string
	args map[string]string // as Telegram reads them: what is not a string is its JSON
	size int               // of the body
}

// response is what is sent for a call.
type response struct {
	status     int
	body       []byte
	kind       string // content type; default JSON
	retryAfter int
	gone       bool // nothing is sent: the connection is closed
	text       string
}

// serve answers the paths of the API. Telegram takes any HTTP method.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"); ok {
		s.download(w, r, rest)
		return
	}
	rest, isBot := strings.CutPrefix(r.URL.Path, "/bot")
	token, name, ok := strings.Cut(rest, "/")
	if !isBot || !ok {
		write(w, answer(nil, refuse(http.StatusNotFound, "Not Found")))
		return
	}
	s.mu.Lock()
	b := s.bots[token]
	revoked := b != nil && b.revoked
	s.mu.Unlock()
	if b == nil || revoked {
		text := "Unauthorized"
		if !strings.Contains(token, ":") {
			text = "Unauthorized: invalid token specified"
		}
		s.o.Log("%s: %s", name, text)
		s.record(Call{At: s.o.Now(), Method: name, Status: http.StatusUnauthorized, Description: text})
		write(w, answer(nil, refuse(http.StatusUnauthorized, text)))
		return
	}
	q := &query{ctx: r.Context(), bot: b, name: name}
	var err error
	q.args, q.size, err = readArgs(w, r)
	call := Call{At: s.o.Now(), Bot: b.Username, Method: name, Params: q.args, Chat: q.int("chat_id")}
	var res response
	if err != nil {
		res = answer(nil, err)
	} else {
		res = s.answered(q)
	}
	call.Status, call.Description, call.Took = res.status, res.text, s.o.Now().Sub(call.At)
	if res.gone {
		call.Status = 0
	}
	s.o.Log("%s in %d: %d %s", name, call.Chat, call.Status, res.text)
	s.record(call)
	write(w, res)
}

// answered performs a call, unless a fault says otherwise.
func (s *Server) answered(q *query) response {
	f := s.fault(q)
	if f == nil {
		return answer(s.perform(q))
	}
	if !s.pause(q.ctx, f.Delay) {
		return response{gone: true}
	}
	if f.slowOnly() {
		return answer(s.perform(q))
	}
	if f.After {
		if _, err := s.perform(q); errors.Is(err, errGone) {
			return response{gone: true}
		}
	}
	return f.response()
}

// perform does what the method says, whatever its caller will see of it.
func (s *Server) perform(q *query) (any, error) {
	name := strings.ToLower(q.name)
	if name == "getupdates" { // it waits, and takes the lock itself
		return s.getUpdates(q)
	}
	m := methods[name]
	if m == nil {
		return nil, refuse(http.StatusNotFound, "Not Found: method not found")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed()
	v, err := m(s, q)
	if err != nil {
		if r, ok := errors.AsType[*refusal](err); ok && r.code != http.StatusTooManyRequests {
			s.count.refused[r.text]++
		}
		return nil, err
	}
	if d, ok := v.(described); ok {
		return described{encode(d.result), d.text}, nil
	}
	return encode(v), nil // within the lock, as it may point to a message
}

var methods = map[string]func(*Server, *query) (any, error){
	"getme":                  (*Server).getMe,
	"setwebhook":             (*Server).setWebhook,
	"deletewebhook":          (*Server).deleteWebhook,
	"getwebhookinfo":         (*Server).getWebhookInfo,
	"sendmessage":            (*Server).sendMessage,
	"sendmessagedraft":       (*Server).sendMessageDraft,
	"sendchataction":         (*Server).sendChatAction,
	"editmessagetext":        (*Server).editMessageText,
	"editmessagereplymarkup": (*Server).editMessageReplyMarkup,
	"deletemessage":          (*Server).deleteMessage,
	"answercallbackquery":    (*Server).answerCallbackQuery,
	"setmessagereaction":     (*Server).setMessageReaction,
	"getfile":                (*Server).getFile,
	"setmycommands":          (*Server).setMyCommands,
	"getmycommands":          (*Server).getMyCommands,
	"deletemycommands":       (*Server).deleteMyCommands,
	"getchat":                (*Server).getChat,
	"getchatmember":          (*Server).getChatMember,
}

// answer is Telegram's envelope.
func answer(result any, err error) response {
	if errors.Is(err, errGone) {
		return response{gone: true}
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		type parameters struct {
			RetryAfter int   `json:"retry_after,omitempty"`
			MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
		}
		body := struct {
			OK          bool        `json:"ok"`
			Code        int         `json:"error_code"`
			Description string      `json:"description"`
			Parameters  *parameters `json:"parameters,omitempty"`
		}{Code: r.code, Description: r.text}
		if p := (parameters{r.retryAfter, r.migrateTo}); p != (parameters{}) {
			body.Parameters = &p
		}
		return response{status: r.code, body: encode(body), retryAfter: r.retryAfter, text: r.text}
	}
	text := ""
	if d, ok := result.(described); ok {
		result, text = d.result, `,"description":`+string(encode(d.text))
	}
	raw, _ := result.(json.RawMessage) // it may be no JSON at all: see Inject
	return response{status: http.StatusOK, body: slices.Concat([]byte(`{"ok":true,"result":`), raw, []byte(text+"}"))}
}

func write(w http.ResponseWriter, r response) {
	if r.gone {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	w.Header().Set("Content-Type", orElse(r.kind, "application/json"))
	w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.retryAfter))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}
