package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram"
)

const (
	anna    = session.ID("main.telegram.mybot.12345")
	group   = session.ID("main.telegram.mybot.-555")
	general = session.ID("main.telegram.mybot.-100777_t1")
	topic   = session.ID("main.telegram.mybot.-100777_t42")

	annaChat  = 12345
	groupChat = -555
	forumChat = -100777
)

var person = faketelegram.User{ID: annaChat, FirstName: "Anna"}

// plenty are limits that no test meets by chance.
var plenty = telegram.Limits{
	Chat: telegram.Limit{N: 1000, Per: time.Second}, Group: telegram.Limit{N: 1000, Per: time.Second},
	Overall: telegram.Limit{N: 1000, Per: time.Second}, Edit: telegram.Limit{N: 1000, Per: time.Second},
	GroupEdit: telegram.Limit{N: 1000, Per: time.Second},
}

// world is a sender before a Bot API server with a private chat, a group and a forum.
type world struct {
	*faketelegram.Server
	*telegram.Sender
	log *bytes.Buffer
}

func start(t *testing.T, limits telegram.Limits) *world {
	t.Helper()
	srv, err := faketelegram.Start(faketelegram.Options{Limits: faketelegram.Limits{Off: limits == plenty}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.AddChat("", faketelegram.Private(person))
	srv.AddChat("", faketelegram.Group(groupChat, "friends"))
	srv.Say("", faketelegram.Forum(forumChat, "forum"), person, "hello", faketelegram.InTopic(42))
	w := &world{Server: srv, log: &bytes.Buffer{}}
	w.Sender = sender(t, w.log, telegram.Config{
		Limits: limits,
		Bots:   []telegram.Bot{{Account: "mybot", Token: faketelegram.DefaultToken, APIRoot: srv.URL(), Streaming: true}},
	})
	return w
}

func sender(t *testing.T, log io.Writer, c telegram.Config) *telegram.Sender {
	t.Helper()
	c.Log = newLog(log)
	s, err := telegram.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// send expects success.
func (w *world) send(t *testing.T, i channel.Item) channel.Receipt {
	t.Helper()
	r, err := w.Send(t.Context(), i)
	if err != nil {
		t.Fatalf("%s to %s: %v", i.Kind, i.Session, err)
	}
	return r
}

// whole sends all parts of an item, and gives the last receipt.
func (w *world) whole(t *testing.T, i channel.Item) channel.Receipt {
	t.Helper()
	for ; ; i.Part++ {
		if r := w.send(t, i); !r.More {
			return r
		}
	}
}

// fails expects an error of a class, without the token or what is secret.
func (w *world) fails(t *testing.T, i channel.Item, class channel.Class) channel.Error {
	t.Helper()
	return failure(t, w.Sender, i, class)
}

func failure(t *testing.T, s *telegram.Sender, i channel.Item, class channel.Class) channel.Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := s.Send(ctx, i)
	e, ok := errors.AsType[*channel.Error](err)
	if !ok || e.Class != class || r != (channel.Receipt{}) {
		t.Fatalf("receipt %+v, error %#v; want %s", r, err, class)
	}
	if _, secret, _ := strings.Cut(faketelegram.DefaultToken, ":"); strings.Contains(e.Reason, secret) {
		t.Errorf("the error tells the token: %s", e.Reason)
	}
	t.Log(e.Class, e.After, e.Untried, e.Reason)
	return *e
}

// texts are what stands in a chat.
func (w *world) texts(chat int64) (all []string) {
	for _, m := range w.Messages(chat) {
		all = append(all, m.Text)
	}
	return all
}

// count is how often a method was called.
func (w *world) count(method string) (n int) {
	for _, c := range w.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

func answer(id session.ID, text string) channel.Item {
	return channel.Item{Session: id, Delivery: "d1", Attempt: 1, Kind: "turn.completed", Text: text}
}

func notice(id session.ID, text string) channel.Item {
	return channel.Item{Session: id, Delivery: "d2", Attempt: 1, Kind: "notice.posted", Text: text}
}
