package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

func TestConnectModern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(&mcp.ServerOptions{Instructions: "use it well"})
		tool(server, "echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(string(r.Params.Arguments)), nil
		})
		s := connect(t, options(behind(server)))
		want := client.Info{
			Name: "real", Version: "2", Protocol: "2026-07-28", Instructions: "use it well",
			Tools: true, ListChanged: client.ListChanged{Tools: true},
		}
		if s.Info() != want {
			t.Errorf("info %+v\nwant %+v", s.Info(), want)
		}
		r, err := s.Call(t.Context(), "echo", json.RawMessage(`{"a": 1}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ A int }
		if err := json.Unmarshal([]byte(textOf(t, r)), &got); err != nil || got.A != 1 {
			t.Errorf("echo: %v %v", got, err)
		}
		if _, err := s.Call(t.Context(), "echo", nil, nil); err != nil {
			t.Errorf("no arguments: %v", err)
		}
		select {
		case <-s.Done():
			t.Error("done")
		default:
		}
		closed(t, s)
		<-s.Done()
		if _, err := s.Call(t.Context(), "echo", nil, nil); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

// Each of them is greeted in the end.
func TestConnectLegacy(t *testing.T) {
	for name, tc := range map[string]struct {
		starts int32
		script func(n int, p *peer, m message)
	}{
		"refuses discover": {1, func(_ int, p *peer, m message) { p.greet(m) }},
		"ignores discover": {1, func(_ int, p *peer, m message) {
			if m.Method != "server/discover" {
				p.greet(m)
			}
		}},
		"ends at discover": {2, func(_ int, p *peer, m message) {
			if m.Method == "server/discover" {
				p.Writer.Close()
				return
			}
			p.greet(m)
		}},
		"hangs after discover": {2, func(_ int, p *peer, m message) {
			p.mu.Lock()
			first := p.log[0]
			p.mu.Unlock()
			if first != "server/discover" {
				p.greet(m)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				s := connect(t, options(scripted(&starts, tc.script)))
				i := s.Info()
				if !i.Legacy || i.Protocol != "2025-06-18" || i.Name != "old" || i.Instructions != "be\nkind" || !i.ListChanged.Tools || i.Prompts {
					t.Errorf("info %+v", i)
				}
				if starts.Load() != tc.starts {
					t.Errorf("%d processes, want %d", starts.Load(), tc.starts)
				}
			})
		})
	}
}

func TestConnectKnownLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		var mu sync.Mutex
		var first string
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			mu.Lock()
			if first == "" {
				first = m.Method
			}
			mu.Unlock()
			p.greet(m)
		}))
		o.Legacy = true
		connect(t, o)
		mu.Lock()
		defer mu.Unlock()
		if first != "initialize" {
			t.Errorf("it was first sent %q", first)
		}
	})
}

func TestConnectFails(t *testing.T) {
	never := func(*peer, message) {}
	for name, tc := range map[string]struct {
		script func(p *peer, m message)
		check  func(error) bool
	}{
		"never answers": {never, func(err error) bool {
			late, ok := errors.AsType[*client.TimeoutError](err)
			return ok && late.What == "connecting" && late.After == 30*time.Second
		}},
		"exits at once": {func(p *peer, _ message) { p.Writer.Close() }, func(err error) bool { return errors.Is(err, client.ErrClosed) }},
		"garbage":       {func(p *peer, _ message) { p.say(`{"jsonrpc":"1.0","hello":[]}`) }, func(err error) bool { return errors.Is(err, client.ErrClosed) }},
		"refuses": {func(p *peer, m message) {
			if len(m.ID) > 0 {
				p.refuse(m, -32603, "no\nlicence")
			}
		}, func(err error) bool {
			rpc, ok := errors.AsType[*client.RPCError](err)
			return ok && rpc.Message == "no licence"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				s, err := client.Connect(t.Context(), options(scripted(&starts, func(_ int, p *peer, m message) { tc.script(p, m) })))
				if err == nil {
					closed(t, s)
					t.Fatal("it is connected")
				}
				if !tc.check(err) || !client.Broken(err) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A server that does not even read blocks the SDK in its first write.
func TestConnectNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(func(context.Context) (client.Pipe, error) {
			ours, _ := pipes()
			return ours, nil
		})
		o.Definition.ConnectionTimeoutMs = 5000
		_, err := client.Connect(t.Context(), o)
		if late, ok := errors.AsType[*client.TimeoutError](err); !ok || late.After != 5*time.Second {
			t.Errorf("%v", err)
		}
	})
}

func TestConnectNotStarted(t *testing.T) {
	missing := errors.New("no such program")
	var starts int
	_, err := client.Connect(t.Context(), options(func(context.Context) (client.Pipe, error) {
		starts++
		return client.Pipe{}, missing
	}))
	if !errors.Is(err, missing) || starts != 1 {
		t.Errorf("%v after %d starts", err, starts)
	}
	if _, err := client.Connect(t.Context(), client.Options{}); err == nil {
		t.Error("neither command nor url")
	}
}

func TestConnectGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := client.Connect(ctx, options(scripted(&starts, func(int, *peer, message) {})))
		if !errors.Is(err, why) || client.Broken(err) {
			t.Errorf("%v", err)
		}
	})
}

// What is offered is what is configured.
func TestOffer(t *testing.T) {
	ask := func(context.Context, string, json.RawMessage) (string, json.RawMessage, error) { return "", nil, nil }
	for name, tc := range map[string]struct {
		change func(*client.Options)
		want   string
	}{
		"nothing":     {func(*client.Options) {}, `{}`},
		"elicitation": {func(o *client.Options) { o.Elicit = ask }, `{"elicitation":{"form":{}}}`},
		"roots":       {func(o *client.Options) { o.Definition.Roots = []string{"/a b/c"} }, `{"roots":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				got := make(chan string, 1)
				roots := make(chan string, 1)
				o := options(scripted(&starts, func(_ int, p *peer, m message) {
					if m.Method == "initialize" {
						var in struct{ Capabilities json.RawMessage }
						_ = json.Unmarshal(m.Params, &in)
						got <- string(in.Capabilities)
					}
					p.greet(m)
					if m.Method == "notifications/initialized" {
						p.say(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
					}
					if string(m.ID) == `"r"` {
						roots <- string(m.Result)
					}
				}))
				tc.change(&o)
				connect(t, o)
				if caps := <-got; caps != tc.want {
					t.Errorf("capabilities %s, want %s", caps, tc.want)
				}
				if list := <-roots; name == "roots" && list != `{"roots":[{"name":"c","uri":"file:///a%20b/c"}]}` {
					t.Errorf("roots %s", list)
				}
			})
		})
	}
}

// A program that neither reads nor ends does not hold up Close.
func TestCloseBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		hang := make(chan struct{})
		s := connect(t, options(scripted(&starts, func(_ int, p *peer, m message) {
			if !p.greet(m) {
				<-hang
			}
		})))
		defer close(hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 3 { // the second and third block in a write
			_, err := s.Call(ctx, "x", nil, nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		short, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Close(short); !errors.Is(err, context.Canceled) {
			t.Errorf("close: %v", err)
		}
		closed(t, s)
	})
}
