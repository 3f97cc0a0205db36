package intake

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

func TestNewNeedsItsCollaborators(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no connection")
	}
	srv := newBus(t)
	if _, err := New(Config{Conn: srv.Connect(t, "intake")}); err == nil {
		t.Error("no logger")
	}
}

func TestEndpoints(t *testing.T) {
	srv := newBus(t)
	s := startWith(t, srv, func(c *Config) { c.HTTP = nil }, func(*Service) {})
	if s.Addr() != "" {
		t.Errorf("it listens on %s", s.Addr())
	}
	cli := srv.Connect(t, "cli")
	ctx := within(t, 10*time.Second)
	r, err := bus.Ask[Receipt](ctx, cli, "intake", "submit", Request{Session: "main.terminal.local.default", Text: "hello", Key: "k"})
	if err != nil || r.Status != wire.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := bus.Ask[Receipt](ctx, cli, "intake", "submit", Request{Session: "main.terminal.local.default", Text: "hello", Key: "k"}); err != nil || again != r {
		t.Errorf("again: %+v, %v", again, err)
	}
	rep, err := bus.Ask[Reply](ctx, cli, "intake", "reply", ReplyRequest{Session: string(r.Session), MessageID: r.MessageID, WaitMS: 10})
	if err != nil || rep.Status != wire.Pending {
		t.Errorf("%+v, %v", rep, err)
	}
	short := within(t, 600*time.Millisecond)
	rep, err = bus.Ask[Reply](short, cli, "intake", "reply", ReplyRequest{Session: string(r.Session), MessageID: r.MessageID, WaitMS: 60_000})
	if err != nil || rep.Status != wire.Pending {
		t.Errorf("an impatient asker: %+v, %v", rep, err)
	}
	if stop, err := bus.Ask[Receipt](ctx, cli, "intake", "control", Request{Session: string(r.Session), Verb: messagev1.Stop}); err != nil || stop.Cursor <= r.Cursor {
		t.Errorf("%+v, %v", stop, err)
	}
	for _, tc := range []struct {
		verb string
		req  any
		want fault.Kind
	}{
		{"submit", Request{Session: "default", Text: "x"}, fault.Invalid},
		{"submit", Request{Session: "main.terminal.local.x", Text: "x", From: messagev1.Sender{ID: "telegram:1"}}, fault.Denied},
		{"submit", Request{Session: "main.house.intake.access", Text: "let me in"}, fault.Denied},
		{"submit", Request{Session: "main.terminal.local.x", Text: " "}, fault.Invalid},
		{"submit", Request{Session: "main.terminal.local.x", Text: Text(strings.Repeat("x", 128<<10+1))}, fault.TooLarge},
		{"submit", map[string]any{"session": "main.terminal.local.x", "txt": "x"}, fault.Invalid},
		{"control", Request{Session: "main.terminal.local.default"}, fault.Invalid},
		{"control", Request{Session: "main.terminal.local.never", Verb: messagev1.Stop}, fault.NotFound},
		{"reply", ReplyRequest{Session: "main.terminal.local.default", MessageID: "m"}, fault.NotFound},
		{"reply", ReplyRequest{Session: "main.terminal.local.default"}, fault.Invalid},
		{"reply", ReplyRequest{Session: "x", MessageID: "m"}, fault.Invalid},
	} {
		if _, err := bus.Ask[map[string]any](ctx, cli, "intake", tc.verb, tc.req); fault.KindOf(err) != tc.want {
			t.Errorf("%s %.100v: %v, want %s", tc.verb, tc.req, err, tc.want)
		}
	}
}

func TestTakenPort(t *testing.T) {
	srv := newBus(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := DefaultHTTPConfig()
	h.Listen, h.Tokens = l.Addr().String(), map[string]string{"app": appToken}
	h.Holder = func(addr string) string { return "process 4711 (squatter) at " + addr }
	s, err := New(Config{Conn: srv.Connect(t, "intake"), HTTP: &h, Log: srv.Admin().Log()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(within(t, 10*time.Second))
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "4711 (squatter) at "+h.Listen) {
		t.Errorf("%v", err)
	}
	if s.Ready(t.Context()) == nil {
		t.Error("ready after it ended")
	}
}

func TestDrain(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	var wg sync.WaitGroup
	wg.Go(func() {
		if r := s.reply(m.MessageID, "60s"); r.Status != "pending" {
			t.Errorf("a waiter got %+v", r)
		}
	})
	s.awaitWaiters(topic{appSession, eventID(t, m.MessageID)}, 1)
	begun := time.Now()
	if err := s.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if d := time.Since(begun); d > drainLimit/2 {
		t.Errorf("stopped after %s", d)
	}
	wg.Wait()
	if _, err := net.DialTimeout("tcp", s.Addr(), time.Second); err == nil {
		t.Error("it still listens")
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready after it ended")
	}
}

func TestStartStopStress(t *testing.T) {
	srv := newBus(t)
	for i := range 10 {
		s := start(t, srv)
		var wg sync.WaitGroup
		for j := range 4 {
			wg.Go(func() {
				_, err := s.Submit(t.Context(), Request{
					Session: fmt.Sprint("main.http.app.s", j), From: messagev1.Sender{ID: "http:app"}, Text: "hello", Key: fmt.Sprint(i),
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := s.stop(); err != nil {
			t.Error(errors.Join(errors.New("stop"), err))
		}
		wg.Wait()
	}
}
