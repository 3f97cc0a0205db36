package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// writes records each call of Write.
type writes struct {
	mu  sync.Mutex
	all []string // guarded by mu
	io.WriteCloser
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.all = append(w.all, string(p))
	w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

func TestNotifyInOrder(t *testing.T) {
	const n = 200
	var rec *writes
	r := start(t, func(_ *rig, o *stdio.Options) {
		rec = &writes{WriteCloser: o.Out.(io.WriteCloser)}
		o.Out = rec
	})
	r.initialize()
	var all sync.WaitGroup
	for who := range 3 {
		all.Go(func() {
			for i := range n {
				params := map[string]any{"who": who, "i": i, "text": "two\nlines <&>"}
				if err := r.transport.Notify(t.Context(), "notifications/claude/channel", params); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for i := range n {
			if _, err := io.WriteString(r.in, callOf(fmt.Sprint(i), "echo", "x")); err != nil {
				t.Error(err)
			}
		}
	})
	next, answers := [3]int{}, 0
	for range 4 * n {
		got := r.read()
		if got.Method == "" {
			answers++
			continue
		}
		var who, i int
		if _, err := fmt.Sscanf(string(got.Params), `{"i":%d,"text":"two\nlines \u003c\u0026\u003e","who":%d}`, &i, &who); err != nil ||
			got.Method != "notifications/claude/channel" || next[who] != i {
			t.Fatalf("%s %s, %v; want %v", got.Method, got.Params, err, next)
		}
		next[who]++
	}
	all.Wait()
	if answers != n {
		t.Errorf("%d answers", answers)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if len(rec.all) != 4*n+1 {
		t.Errorf("%d messages were %d writes", 4*n+1, len(rec.all))
	}
	for _, w := range rec.all {
		if strings.Count(w, "\n") != 1 || !strings.HasSuffix(w, "\n") {
			t.Fatalf("a write that is no line: %q", w)
		}
	}
}

func TestCustomNotificationsComeIn(t *testing.T) {
	type note struct{ method, params string }
	seen := make(chan note, 16)
	r := start(t, func(_ *rig, o *stdio.Options) {
		o.OnNotification = func(method string, params json.RawMessage) bool {
			seen <- note{method, string(params)}
			return strings.HasPrefix(method, "notifications/claude/") || strings.Contains(string(params), "take me")
		}
	})
	r.initialize()
	r.write(`{"jsonrpc":"2.0","method":"notifications/claude/channel/permission_request","params":{"request_id":"abcde"}}` + "\n")
	r.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n")
	r.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"take me","progress":1}}` + "\n")
	r.write(`{"jsonrpc":"2.0","method":"notifications/claude/bare"}` + "\n")
	r.ping("1")
	close(seen)
	want := []note{
		{"notifications/initialized", ""},
		{"notifications/claude/channel/permission_request", `{"request_id":"abcde"}`},
		{"notifications/progress", `{"progressToken":1,"progress":1}`},
		{"notifications/progress", `{"progressToken":"take me","progress":1}`},
		{"notifications/claude/bare", ""},
	}
	for got := range seen {
		if len(want) == 0 || got != want[0] {
			t.Fatalf("%+v, want %+v", got, want)
		}
		want = want[1:]
	}
	if len(want) > 0 || r.noted.Load() != 1 {
		t.Errorf("missing: %+v; the SDK has seen %d", want, r.noted.Load())
	}
}

func TestConnectOnce(t *testing.T) {
	if _, err := stdio.New(stdio.Options{}).Connect(t.Context()); err == nil {
		t.Error("connected to nothing")
	}
	tr := stdio.New(stdio.Options{In: strings.NewReader(""), Out: io.Discard})
	if err := tr.Notify(t.Context(), "notifications/x", nil); err == nil {
		t.Error("notified nobody")
	}
	c, err := tr.Connect(t.Context())
	if err != nil || c.SessionID() != "" {
		t.Fatal(c, err)
	}
	if _, err := tr.Connect(t.Context()); err == nil {
		t.Error("connected twice")
	}
	if err := tr.Notify(t.Context(), "notifications/x", func() {}); err == nil {
		t.Error("a func is no JSON")
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if err := tr.Notify(t.Context(), "notifications/x", nil); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Error(err)
	}
	if m, err := c.Read(t.Context()); err == nil {
		t.Errorf("%v after the end", m)
	}
}

func TestClientHangsUp(t *testing.T) {
	for name, last := range map[string]string{"between lines": "", "within a line": `{"jsonrpc":"2.0","id":7,"met`, "without a line end": "\r"} {
		r := start(t, nil)
		r.initialize()
		r.write(callOf("1", "hold", "") + last)
		go func() { _, _ = io.Copy(io.Discard, r.outPipe) }()
		r.hangUp()
		if err := r.session.Wait(); err != nil || r.transport.Err() != nil {
			t.Errorf("%s: %v, %v", name, err, r.transport.Err())
		}
	}
}

// TestClientDies: the last line is cut, and nobody is there to hear of it.
func TestClientDies(t *testing.T) {
	r := start(t, nil)
	r.initialize()
	r.write("garba")
	_ = r.outPipe.Close()
	r.hangUp()
	if err := r.session.Wait(); err != nil || r.transport.Err() != nil {
		t.Errorf("%v, %v", err, r.transport.Err())
	}
}

func TestLastLineWithoutAnEnd(t *testing.T) {
	seen := make(chan string, 1)
	tr := stdio.New(stdio.Options{
		In: strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/x"}`), Out: io.Discard,
		OnNotification: func(method string, _ json.RawMessage) bool { seen <- method; return true },
	})
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if m, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", m, err)
	}
	if got := <-seen; got != "notifications/x" {
		t.Error(got)
	}
}

func TestBrokenPipes(t *testing.T) {
	t.Run("out", func(t *testing.T) {
		in, client := io.Pipe()
		defer func() { _ = client.Close() }()
		gone, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		gone.Close()
		tr := stdio.New(stdio.Options{In: in, Out: out})
		session, err := (&rig{t: t}).server().Connect(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, initialize+"\n"); err != nil {
			t.Fatal(err)
		}
		if err := session.Wait(); !errors.Is(err, syscall.EPIPE) || !errors.Is(tr.Err(), syscall.EPIPE) {
			t.Errorf("%v, %v", err, tr.Err())
		}
		if err := tr.Notify(t.Context(), "notifications/x", nil); !errors.Is(err, syscall.EPIPE) || !errors.Is(err, mcp.ErrConnectionClosed) {
			t.Error(err)
		}
	})
	t.Run("in", func(t *testing.T) {
		broken := errors.New("input/output error")
		in, client := io.Pipe()
		tr := stdio.New(stdio.Options{In: in, Out: io.Discard})
		session, err := (&rig{t: t}).server().Connect(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = client.CloseWithError(broken)
		if err := session.Wait(); !errors.Is(err, broken) || !errors.Is(tr.Err(), broken) {
			t.Errorf("%v, %v", err, tr.Err())
		}
	})
}

// TestOwnerEnds: the end of the context ends a session that would wait for its client for ever.
func TestOwnerEnds(t *testing.T) {
	for name, lines := range map[string]string{
		"idle":                  "",
		"while calls run":       callOf("1", "hold", "") + callOf("2", "hold", ""),
		"while nobody reads":    callOf("1", "echo", "") + callOf("2", "echo", ""),
		"while nobody reads it": "garbage\ngarbage\n",
	} {
		t.Run(name, func(t *testing.T) {
			stop := errors.New("the daemon stops")
			ctx, cancel := context.WithCancelCause(t.Context())
			in, client := io.Pipe()
			nobody, out := io.Pipe()
			defer func() { _ = nobody.Close() }()
			tr := stdio.New(stdio.Options{In: in, Out: out})
			session, err := (&rig{t: t, release: make(chan struct{})}).server().Connect(ctx, tr, nil)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(client, initialize+"\n"+lines) }()
			line := make([]byte, 1<<16)
			if _, err := nobody.Read(line); err != nil { // the answer to initialize, and nothing more
				t.Fatal(err)
			}
			cancel(stop)
			if err := session.Wait(); !errors.Is(err, stop) || !errors.Is(tr.Err(), stop) {
				t.Errorf("%v, %v", err, tr.Err())
			}
		})
	}
}

// TestNotifyGivesUp: a client that does not read holds up nobody who has no time for it.
func TestNotifyGivesUp(t *testing.T) {
	in, client := io.Pipe()
	defer func() { _ = client.Close() }()
	nobody, out := io.Pipe()
	defer func() { _ = nobody.Close() }()
	tr := stdio.New(stdio.Options{In: in, Out: out})
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	for range 3 { // one in the writer, two before it
		go func() { failed <- tr.Notify(ctx, "notifications/x", nil) }()
	}
	cancel()
	for range 3 {
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	waiting := make(chan error)
	go func() { waiting <- tr.Notify(t.Context(), "notifications/x", nil) }()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, mcp.ErrConnectionClosed) && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if tr.Err() != nil {
		t.Error(tr.Err())
	}
}
