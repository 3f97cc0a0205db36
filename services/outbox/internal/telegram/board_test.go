package telegram_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
	"github.com/jetclaw/jetclaw/services/outbox/internal/telegram"
)

// several starts as many senders for one bot, each as in a process of its own.
func several(t *testing.T, n int) (*world, []*telegram.Sender, []*bus.Conn) {
	t.Helper()
	srv := bustest.New(t, bus.Spec{Name: "outbox", Values: true})
	w := start(t, telegram.Limits{})
	senders, conns := make([]*telegram.Sender, n), make([]*bus.Conn, n)
	for i := range n {
		conns[i] = srv.Connect(t, "outbox")
		senders[i] = sender(t, t.Output(), telegram.Config{
			Bots:  []telegram.Bot{{Account: "mybot", Token: faketelegram.DefaultToken, APIRoot: w.URL(), Streaming: true}},
			Store: conns[i],
		})
	}
	return w, senders, conns
}

// TestSeveral say something in the same chat at once, and show drafts.
func TestSeveral(t *testing.T) {
	w, senders, _ := several(t, 3)
	var work sync.WaitGroup
	for _, s := range senders {
		work.Go(func() {
			for range 2 {
				if _, err := s.Send(t.Context(), notice(anna, "hello")); err != nil {
					t.Error(err)
				}
				if _, err := s.Send(t.Context(), notice(topic, "hello")); err != nil {
					t.Error(err)
				}
				if _, err := s.Draft(t.Context(), anna, "", "draft"); err != nil && !channel.ErrorOf(err).Untried {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if r := w.Report(); r.Messages < 12 || r.TooMany != 0 || r.Violations.Sum() != 0 {
		t.Errorf("%+v", r)
	}
}

// TestHeldElsewhere: a 429 that one process gets is heeded by the others.
func TestHeldElsewhere(t *testing.T) {
	w, senders, _ := several(t, 2)
	w.Hold("", annaChat, 30*time.Second)
	if e := failure(t, senders[0], notice(anna, "hello"), channel.Retry); !e.Untried {
		t.Errorf("%+v", e)
	}
	senders[0].Close() // all is told
	if at := senders[1].Room(anna); time.Until(at) < 25*time.Second {
		t.Errorf("the other has room in %s", time.Until(at))
	}
	if e := failure(t, senders[1], notice(anna, "hello"), channel.Retry); !e.Untried || e.After < 25*time.Second {
		t.Errorf("%+v", e)
	}
	if n := w.count("sendMessage"); n != 1 {
		t.Errorf("%d calls", n)
	}
	if at := senders[1].Room(group); !at.IsZero() {
		t.Errorf("another chat has room in %s", time.Until(at))
	}
}

// TestStoreIsAway: what is to be said is said, by what the process knows itself.
func TestStoreIsAway(t *testing.T) {
	w, senders, conns := several(t, 1)
	if err := conns[0].Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := senders[0].Send(t.Context(), notice(anna, "hello")); err != nil {
			t.Fatal(err)
		}
	}
	if r := w.Report(); r.Messages != 3 || r.Violations.Sum() != 0 {
		t.Errorf("%+v", r)
	}
}
