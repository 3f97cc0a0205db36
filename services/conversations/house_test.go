package conversations

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const patience = 30 * time.Second

// house is a bus with somebody who appends everything, and somebody who asks.
type house struct {
	t    testing.TB
	bus  *bustest.Server
	all  *bus.Conn
	cli  *bus.Conn
	path string
	last map[session.ID]uint64
	n    int
	news bool // since it was waited for that the index has all of them
}

func specs() []bus.Spec {
	all := bus.Spec{Name: "all"}
	for _, typ := range registry.All() {
		kind := envelope.KindOf(typ.Name)
		if _, ok := typ.Zero.(envelope.Suffixed); ok {
			kind += ".*"
		}
		all.Appends = append(all.Appends, kind)
	}
	cli := bus.Spec{Name: "cli"}
	for _, verb := range Spec().Serves {
		cli.Asks = append(cli.Asks, name+"."+verb)
	}
	return []bus.Spec{Spec(), all, cli}
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, bus: bustest.New(t, specs()...), path: filepath.Join(t.TempDir(), "index", "conversations.sqlite"), last: map[session.ID]uint64{}}
	h.all, h.cli = h.bus.Connect(t, "all"), h.bus.Connect(t, "cli")
	return h
}

// run starts a service and returns its end.
func (h *house) run() (end func()) {
	h.t.Helper()
	conn := h.bus.Connect(h.t, name)
	s, err := New(Config{Conn: conn, Path: h.path, Log: slog.New(slog.NewTextHandler(h.t.Output(), nil))})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	wait, stop := context.WithTimeout(h.t.Context(), patience)
	defer stop()
	if err := s.Ready(wait); err != nil {
		h.t.Fatal(err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("run: %v", err)
		}
		closing, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := conn.Close(closing); err != nil {
			h.t.Errorf("close: %v", err)
		}
	}
	h.t.Cleanup(end)
	return end
}

// append stores an event behind what its session has.
func (h *house) append(s session.ID, b envelope.Body) envelope.Event {
	h.t.Helper()
	h.n++
	ev := envelope.Event{ID: fmt.Sprintf("e%d", h.n), Session: s, Prev: h.last[s], Time: time.Now().UTC(), Body: b}
	cursor, err := h.all.Journal().Append(h.t.Context(), ev)
	if err != nil {
		h.t.Fatal(err)
	}
	h.last[s], ev.Cursor, h.news = cursor, cursor, true
	return ev
}

// turn is a message, its answer, and the delivery of it.
func (h *house) turn(s session.ID, text, answer string) (message, end envelope.Event) {
	h.t.Helper()
	message = h.append(s, messagev1.Received{From: messagev1.Sender{ID: "telegram:1", Name: "Anna"}, Text: text})
	turn := message.ID + "/t"
	h.append(s, turnv1.Started{Claim: turnv1.Claim{Turn: turn, Round: 1, Attempt: 1, Worker: "w", Messages: []string{message.ID}}})
	end = h.append(s, turnv1.Completed{
		Outcome: turnv1.Outcome{Turn: turn, Round: 1, Attempt: 1, Model: "local/m", Usage: turnv1.Usage{Input: 10, Output: 5}},
		Answers: []string{message.ID}, Text: answer,
	})
	h.append(s, deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: end.ID, Attempt: 1}})
	return message, end
}

// ask asks when the index has caught up, as slow as the machine may be.
func ask[Res any](h *house, verb string, req any) Res {
	h.t.Helper()
	if h.news && verb != statusVerb && verb != reindexVerb {
		h.whole()
	}
	res, err := tryAsk[Res](h, verb, req)
	if err != nil {
		h.t.Fatalf("%s %+v: %v", verb, req, err)
	}
	return res
}

func tryAsk[Res any](h *house, verb string, req any) (Res, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	return bus.Ask[Res](ctx, h.cli, name, verb, req)
}

// whole asks for the status until the index has caught up.
func (h *house) whole() Status {
	h.t.Helper()
	until := time.Now().Add(patience)
	for {
		st := ask[Status](h, statusVerb, StatusRequest{})
		if st.Behind.Events == 0 && !st.Rebuilding {
			h.news = false
			return st
		}
		if time.Now().After(until) {
			h.t.Fatalf("it does not catch up: %+v", st)
		}
	}
}

func id(t testing.TB, channel, peer string) session.ID {
	t.Helper()
	s, err := session.New("main", channel, "bot", peer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
