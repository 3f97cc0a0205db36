package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/fault"
)

type question struct {
	Text string `json:"text"`
}

type reply struct {
	Text string `json:"text"`
}

var (
	server = bus.Spec{Name: "intake", Serves: []string{"submit", "slow"}}
	client = bus.Spec{Name: "cli", Asks: []string{"intake.submit", "intake.slow", "nobody.home"}}
)

func serve(ctx context.Context, t *testing.T, s *bustest.Server, verb string, h bus.Handler) *bus.Conn {
	t.Helper()
	c := s.Connect(t, "intake")
	if err := c.Serve(ctx, verb, h); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAsk(t *testing.T) {
	s := bustest.New(t, server, client)
	serve(t.Context(), t, s, "submit", func(_ context.Context, data []byte) (any, error) {
		switch text := string(data); {
		case strings.Contains(text, "denied"):
			return nil, fault.New(fault.Denied, "not you,\nfriend")
		case strings.Contains(text, "plain"):
			return nil, errors.New("plain error")
		case strings.Contains(text, "panic"):
			panic("at the disco")
		case strings.Contains(text, "large"):
			return reply{strings.Repeat("x", 2<<20)}, nil
		default:
			return reply{"you said " + text}, nil
		}
	})
	c := s.Connect(t, "cli")
	for _, tc := range []struct {
		service, text, want string
		kind                fault.Kind
	}{
		{"intake", "hello", `you said {"text":"hello"}`, ""},
		{"intake", "denied", "not you,\nfriend", fault.Denied},
		{"intake", "plain", "plain error", fault.Internal},
		{"intake", "panic", "a fault in the service", fault.Internal},
		{"intake", "large", "ask for less", fault.TooLarge},
		{"intake", strings.Repeat("x", bus.MaxRequest), "at most", fault.TooLarge},
	} {
		res, err := bus.Ask[reply](t.Context(), c, tc.service, "submit", question{tc.text})
		got := res.Text
		if err != nil {
			got = err.Error()
		}
		if fault.KindOf(err) != tc.kind || !strings.Contains(got, tc.want) {
			t.Errorf("%.20s: %q (%v), want %q (%v)", tc.text, got, fault.KindOf(err), tc.want, tc.kind)
		}
		var f *fault.Error
		if err != nil && !errors.As(err, &f) {
			t.Errorf("%.20s: %T is not a fault", tc.text, err)
		}
	}
	if _, err := bus.Ask[reply](t.Context(), c, "nobody", "home", question{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nobody home: %v", err)
	}
}

func TestAskTimeout(t *testing.T) {
	s := bustest.New(t, server, client)
	ended := make(chan error, 1)
	serve(t.Context(), t, s, "slow", func(ctx context.Context, _ []byte) (any, error) {
		<-ctx.Done() // the asker's patience ends it
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	c := s.Connect(t, "cli")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := bus.Ask[reply](ctx, c, "intake", "slow", question{}); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v, want a time-out", err)
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the handler ended with %v", err)
	}
}

func TestServeConcurrently(t *testing.T) {
	s := bustest.New(t, server, client)
	const n = 20
	var all sync.WaitGroup
	all.Add(n)
	serve(t.Context(), t, s, "submit", func(context.Context, []byte) (any, error) {
		all.Done()
		all.Wait() // returns only when all of them are at work
		return reply{"together"}, nil
	})
	c := s.Connect(t, "cli")
	var asked sync.WaitGroup
	for range n {
		asked.Go(func() {
			if _, err := bus.Ask[reply](t.Context(), c, "intake", "submit", question{}); err != nil {
				t.Error(err)
			}
		})
	}
	asked.Wait()
}

func TestServeEnds(t *testing.T) {
	s := bustest.New(t, server, client)
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	server := serve(ctx, t, s, "submit", func(ctx context.Context, _ []byte) (any, error) {
		close(started)
		<-ctx.Done()
		return reply{"finished"}, nil
	})
	c := s.Connect(t, "cli")
	got := make(chan reply, 1)
	go func() {
		res, err := bus.Ask[reply](t.Context(), c, "intake", "submit", question{})
		if err != nil {
			t.Error(err)
		}
		got <- res
	}()
	<-started
	cancel()
	if res := <-got; res.Text != "finished" {
		t.Errorf("a request at work got %q", res.Text)
	}
	if err := server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Ask[reply](t.Context(), c, "intake", "submit", question{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}

// Who asks chooses where the answer goes; it must not be able to make the answerer speak in the journal.
func TestServeAnswersInboxesOnly(t *testing.T) {
	s := bustest.New(t, server, client)
	asked := make(chan string, 2)
	serve(t.Context(), t, s, "submit", func(_ context.Context, data []byte) (any, error) {
		asked <- string(data)
		return reply{"ok"}, nil
	})
	c := s.Connect(t, "cli")
	forged := &nats.Msg{Subject: "svc.intake.submit", Reply: "ev.00.a.b.c.d.approval.decided", Data: []byte(`"forged"`)}
	if err := c.NATS().PublishMsg(forged); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Ask[reply](t.Context(), c, "intake", "submit", "honest"); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != `"honest"` {
		t.Errorf("the handler saw %s", got)
	}
	u, err := s.Admin().Journal().Usage(t.Context())
	if err != nil || u.Messages != 0 {
		t.Errorf("the journal holds %d messages (%v)", u.Messages, err)
	}
}

func TestAQuestionOfBeforeAnOutageIsNotAnsweredBehindIt(t *testing.T) {
	s := bustest.New(t, server, client)
	asked, release := make(chan struct{}), make(chan struct{})
	handled := make(chan struct{})
	srv := serve(t.Context(), t, s, "slow", func(context.Context, []byte) (any, error) {
		close(asked)
		<-release
		defer close(handled)
		return reply{"late"}, nil
	})
	c := s.Connect(t, "cli")
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := bus.Ask[reply](ctx, c, "intake", "slow", question{"?"})
		ended <- err
	}()
	<-asked
	s.Restart()
	waitFor(t, "the bus", func() bool { return srv.NATS().Stats().Reconnects > 0 && srv.NATS().IsConnected() })
	close(release)
	<-handled
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was answered")
	}
	if err := srv.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	// The end of the test looks at what the server has refused.
}
