package fakemcp_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect is a client of a server in this process, over pipes.
func connect(t *testing.T, o fakemcp.Options, co *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- fakemcp.Serve(context.WithoutCancel(t.Context()), o, in, out) }()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, co).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

type args map[string]any

func TestEffectsAreInTheLedger(t *testing.T) {
	l := fakemcp.Ledger(filepath.Join(t.TempDir(), "ledger"))
	if got, err := l.Effects(fakemcp.Append); err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", got, err)
	}
	s := connect(t, fakemcp.Options{Ledger: l}, nil)
	for range 2 {
		if got, failed := call(t, s, fakemcp.Append, args{"marker": "mk a"}); got != "written: mk a" || failed {
			t.Error(got)
		}
	}
	call(t, s, fakemcp.Put, args{"marker": "b"})
	got, err := l.Effects(fakemcp.Append)
	if err != nil || len(got) != 1 || got["mk a"] != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTools(t *testing.T) {
	s := connect(t, fakemcp.Options{More: 2}, nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 17 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		if a := tool.Annotations; (tool.Name == fakemcp.Look) != (a != nil && a.ReadOnlyHint) {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	for tool, c := range map[string]struct {
		args args
		want string
		fail bool
	}{
		fakemcp.Echo: {args: args{"text": "hello"}, want: "hello"},
		"fail":       {want: "always fails", fail: true},
		"slow":       {args: args{"ms": 1}, want: "after 1 ms"},
		"big":        {args: args{"bytes": 70_000}, want: strings.Repeat("x", 70_000)},
	} {
		if got, failed := call(t, s, tool, c.args); !strings.Contains(got, c.want) || failed != c.fail {
			t.Errorf("%s: %.200q, %v", tool, got, failed)
		}
	}
	call(t, s, "keep", args{"text": "mine"})
	if got, _ := call(t, s, "keep", args{"text": "other"}); got != "before: mine" {
		t.Error(got)
	}
	if _, failed := call(t, s, fakemcp.Echo, args{"txet": "x"}); !failed {
		t.Error("wrong arguments are taken")
	}
}

func TestCallsThatWaitAreReleased(t *testing.T) {
	s := connect(t, fakemcp.Options{}, nil)
	if got, _ := call(t, s, fakemcp.Release, args{"bytes": 3}); got != "0" {
		t.Error(got)
	}
	for range 2 {
		told := make(chan string, 3)
		for range 3 {
			go func() {
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: fakemcp.Await})
				if err != nil {
					told <- err.Error()
					return
				}
				told <- r.Content[0].(*mcp.TextContent).Text
			}()
		}
		call(t, s, fakemcp.Awaited, args{"calls": 3})
		if got, _ := call(t, s, fakemcp.Release, args{"bytes": 3}); got != "3" {
			t.Error(got)
		}
		for range 3 {
			if got := <-told; got != "xxx" {
				t.Error(got)
			}
		}
	}
}

func TestListChangesAndProgressAreTold(t *testing.T) {
	changed, steps := make(chan struct{}, 8), make(chan float64, 8)
	s := connect(t, fakemcp.Options{Legacy: true}, &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
	})
	if v := s.InitializeResult().ProtocolVersion; v != "2025-11-25" {
		t.Error(v)
	}
	call(t, s, "flip", nil)
	<-changed
	if got, _ := call(t, s, "flipped", nil); got != "here" {
		t.Error(got)
	}
	call(t, s, "flip", nil)
	<-changed
	p := &mcp.CallToolParams{Name: "progress", Arguments: args{"steps": 2}}
	p.SetProgressToken("p")
	if _, err := s.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if a, b := <-steps, <-steps; a != 1 || b != 2 {
		t.Error(a, b)
	}
}

func TestACallThatHangsEndsWithItsServer(t *testing.T) {
	l := fakemcp.Ledger(filepath.Join(t.TempDir(), "ledger"))
	s := connect(t, fakemcp.Options{Ledger: l}, nil)
	for _, tool := range []string{"hang", "crash"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool})
			done <- err
		}()
		begun(t, l, tool)
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s has answered", tool)
		}
	}
}

// begun waits until a call is in the ledger.
func begun(t *testing.T, l fakemcp.Ledger, tool string) {
	t.Helper()
	for {
		got, err := l.Effects(tool)
		if err != nil {
			t.Fatal(err)
		}
		if got["begun"] > 0 {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the call has not begun")
		}
	}
}

func TestSlowHearsACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fakemcp.Ledger(filepath.Join(t.TempDir(), "ledger"))
		s := connect(t, fakemcp.Options{Ledger: l}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow", Arguments: args{"ms": 60_000}}); err == nil {
			t.Error("it has answered")
		}
		synctest.Wait()
		if got, err := l.Effects("slow"); err != nil || got["cancelled"] != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestBothErasAreServedOverHTTP(t *testing.T) {
	for _, c := range []struct {
		o    fakemcp.Options
		want string
	}{{fakemcp.Options{}, "2026-07-28"}, {fakemcp.Options{Legacy: true}, "2025-11-25"}} {
		srv, err := fakemcp.Start("127.0.0.1:0", c.o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
			Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: srv.URL()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := call(t, s, fakemcp.Echo, args{"text": "hello"}); got != "hello" || !srv.Spoken(c.want) {
			t.Errorf("%q, spoken: %v", got, srv.Spoken(c.want))
		}
		_ = s.Close()
		srv.Close()
	}
}

func TestTheCommandServesUntilItsInputEnds(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- fakemcp.Main(t.Context(), []string{"--http", "127.0.0.1:0"}, in, out, io.Discard)
	}()
	first := make([]byte, 100)
	n, err := fromServer.Read(first)
	if err != nil || !strings.HasPrefix(string(first[:n]), "http://127.0.0.1:") {
		t.Fatalf("%q, %v", first[:n], err)
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := fakemcp.Main(t.Context(), []string{"--nothing"}, in, out, io.Discard); err == nil {
		t.Error("unknown flags are taken")
	}
}
