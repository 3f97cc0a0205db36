package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
)

func TestCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		cancelled := make(chan string, 1)
		late := make(chan message, 1)
		var p1 *peer
		s := connect(t, options(scripted(&starts, func(_ int, p *peer, m message) {
			switch {
			case p.greet(m):
			case m.Method == "notifications/cancelled":
				cancelled <- string(m.Params)
			case string(m.Params) != "" && p1 == nil:
				p1 = p
				late <- m
			default:
				p.answer(m, `{"content":[{"type":"text","text":"second"}]}`)
			}
		})))
		_, err := s.Call(t.Context(), "slow", nil, nil)
		if e, ok := errors.AsType[*client.TimeoutError](err); !ok || e.After != time.Minute || e.What != "tools/call" || !client.Broken(err) {
			t.Errorf("%v", err)
		}
		<-cancelled
		first := <-late
		p1.answer(first, `{"content":[{"type":"text","text":"first"}]}`) // dropped
		if r, err := s.Call(t.Context(), "fast", nil, nil); err != nil || textOf(t, r) != "second" {
			t.Errorf("%v %v", r, err)
		}
	})
}

func TestCallCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(nil)
		began, seen := make(chan struct{}), make(chan error, 1)
		tool(server, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			<-ctx.Done()
			seen <- ctx.Err()
			return text("late"), nil
		})
		s := connect(t, options(behind(server)))
		why := errors.New("nobody waits any more")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-began
			cancel(why)
		}()
		_, err := s.Call(ctx, "wait", nil, nil)
		if !errors.Is(err, why) || client.Broken(err) {
			t.Errorf("%v", err)
		}
		if err := <-seen; err == nil {
			t.Error("the server was not told")
		}
	})
}

func TestCallProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		steps int // one every 50 s
		end   time.Duration
	}{"to its end": {4, 0}, "beyond all limits": {100, client.MaxCall}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(nil)
				tool(server, "work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					for i := range tc.steps {
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-time.After(50 * time.Second):
						}
						_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
							ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(tc.steps), Message: "a\nb",
						})
					}
					return text("done"), nil
				})
				s := connect(t, options(behind(server)))
				var told []client.Progress
				r, err := s.Call(t.Context(), "work", nil, func(p client.Progress) { told = append(told, p) })
				if tc.end > 0 {
					if late, ok := errors.AsType[*client.TimeoutError](err); !ok || late.After != tc.end {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil || textOf(t, r) != "done" {
					t.Fatal(err)
				}
				// The last notification and the answer are handled side by side.
				if len(told) < tc.steps-1 || told[0] != (client.Progress{Progress: 1, Total: 4, Message: "a b"}) {
					t.Errorf("progress %v", told)
				}
			})
		})
	}
}

func TestCallErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(nil)
		tool(server, "fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := text("bad luck")
			r.IsError = true
			return r, nil
		})
		tool(server, "breaks", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("oops")
		})
		s := connect(t, options(behind(server)))
		if r, err := s.Call(t.Context(), "fails", nil, nil); err != nil || !r.IsError {
			t.Errorf("a failure of the tool: %v %v", r, err)
		}
		for tool, code := range map[string]int64{"none": -32602, "breaks": 0} {
			_, err := s.Call(t.Context(), tool, nil, nil)
			if rpc, ok := errors.AsType[*client.RPCError](err); !ok || rpc.Code != code || client.Broken(err) {
				t.Errorf("%s: %v", tool, err)
			}
		}
		if _, err := s.Call(t.Context(), "fails", json.RawMessage(`{`), nil); err == nil || client.Broken(err) {
			t.Errorf("arguments that are no JSON: %v", err)
		}
	})
}

func TestBroken(t *testing.T) {
	for err, want := range map[error]bool{
		nil:                                     false,
		client.ErrClosed:                        true,
		&client.TimeoutError{}:                  true,
		&client.StatusError{Status: 500}:        true,
		&client.RefusedError{Status: 401}:       false,
		&client.RPCError{Code: -32603}:          true,
		&client.RPCError{Code: -32000}:          true,
		&client.RPCError{Code: -32601}:          false,
		&client.RPCError{Code: -32602}:          false,
		&client.RPCError{Code: -32002}:          false,
		&client.RPCError{Code: 7}:               false,
		fmt.Errorf("x: %w", client.ErrClosed):   true,
		errors.New("something that is unheard"): true,
	} {
		if client.Broken(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// The connection ends in the middle of a call, in various ways.
func TestCallConnectionEnds(t *testing.T) {
	for name, end := range map[string]func(p *peer){
		"closed":   func(p *peer) { p.Writer.Close() },
		"garbage":  func(p *peer) { p.say(`{"jsonrpc":"2.0","id":{}}`) },
		"not JSON": func(p *peer) { p.say(`Starting…`) },
		"too long": func(p *peer) { p.say(`{"a":"` + string(slices.Repeat([]byte("x"), 17<<20)) + `"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				s := connect(t, options(scripted(&starts, func(_ int, p *peer, m message) {
					if !p.greet(m) {
						end(p)
					}
				})))
				_, err := s.Call(t.Context(), "x", nil, nil)
				if !errors.Is(err, client.ErrClosed) || !client.Broken(err) {
					t.Errorf("%v", err)
				}
				<-s.Done()
				if !errors.Is(s.Err(), client.ErrClosed) {
					t.Errorf("err %v", s.Err())
				}
				if _, err := s.Tools(t.Context()); !errors.Is(err, client.ErrClosed) {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(nil)
		var reads atomic.Int32
		server.AddResource(&mcp.Resource{Name: "a", URI: "x:1"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Cacheable: mcp.Cacheable{TTLMs: 1 << 30},
				Contents:  []*mcp.ResourceContents{{URI: "x:1", Text: fmt.Sprint(reads.Add(1))}},
			}, nil
		})
		server.AddPrompt(&mcp.Prompt{Name: "p"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: r.Params.Arguments["k"]}, nil
		})
		s := connect(t, options(behind(server)))
		if i := s.Info(); !i.Resources || !i.Prompts {
			t.Errorf("%+v", i)
		}
		if r, err := s.ListResources(t.Context(), ""); err != nil || len(r.Resources) != 1 {
			t.Errorf("resources: %v %v", r, err)
		}
		for want := range 2 { // whatever it says about caching
			r, err := s.ReadResource(t.Context(), "x:1")
			if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != fmt.Sprint(want+1) {
				t.Errorf("read %d: %+v %v", want, r, err)
			}
		}
		if _, err := s.ReadResource(t.Context(), "x:2"); err == nil || client.Broken(err) {
			t.Errorf("no resource: %v", err)
		}
		if r, err := s.ListPrompts(t.Context(), ""); err != nil || len(r.Prompts) != 1 {
			t.Errorf("prompts: %v %v", r, err)
		}
		if r, err := s.GetPrompt(t.Context(), "p", map[string]string{"k": "v"}); err != nil || r.Description != "v" {
			t.Errorf("prompt: %v %v", r, err)
		}
	})
}
