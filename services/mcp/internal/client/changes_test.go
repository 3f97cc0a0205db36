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

func TestChanged(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true},
			}})
			tool(server, "a", nil)
			told := make(chan client.Kind, 10)
			o := options(behind(server))
			o.Legacy = legacy
			o.Changed = func(k client.Kind) { told <- k }
			s := connect(t, o)
			if s.Info().Legacy != legacy {
				t.Fatalf("%+v", s.Info())
			}
			synctest.Wait() // the request for notifications has arrived
			tool(server, "b", nil)
			if k := <-told; k != client.KindTools {
				t.Errorf("%s", k)
			}
			server.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
			if k := <-told; k != client.KindPrompts {
				t.Errorf("%s", k)
			}
		})
	}
}

func TestChangedStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts, told atomic.Int32
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			p.greet(m)
			if m.Method == "notifications/initialized" {
				for range 100 { // ten seconds
					p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					time.Sleep(100 * time.Millisecond) // of the bubble's clock
				}
				p.Writer.Close()
			}
		}))
		o.Changed = func(client.Kind) { told.Add(1) }
		s := connect(t, o)
		<-s.Done()
		if n := told.Load(); n < 15 || n > 22 {
			t.Errorf("told %d times of 100 changes in 10 s", n)
		}
	})
}

const modernHello = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"resultType":"complete"}`

// A request for notifications that ends is made again, and what was missed counts as changed.
func TestListensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts, listens atomic.Int32
		told := make(chan client.Kind, 10)
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			switch m.Method {
			case "server/discover":
				p.answer(m, modernHello)
			case "subscriptions/listen":
				switch listens.Add(1) {
				case 1:
					p.answer(m, `{"resultType":"complete"}`)
				case 2:
					p.refuse(m, -32603, "not now")
				case 3:
					p.refuse(m, -32601, "never")
				}
			}
		}))
		o.Changed = func(k client.Kind) { told <- k }
		s := connect(t, o)
		if s.Info().Legacy || s.Info().Protocol != "2026-07-28" {
			t.Errorf("%+v", s.Info())
		}
		<-told
		<-told
		time.Sleep(time.Hour) // of the bubble's clock
		if n := listens.Load(); n != 3 || len(told) > 0 {
			t.Errorf("it listened %d times; %d more changes", n, len(told))
		}
	})
}

func TestElicit(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(nil)
			form := &mcp.ElicitParams{Mode: "form", Message: "your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}}}`)}
			server.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if got, ok := r.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
					n, _ := got.Content["n"].(string)
					return text(got.Action + " " + n), nil
				}
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form}}, nil
			})
			o := options(behind(server))
			o.Legacy = legacy
			var mu sync.Mutex
			var asked string
			o.Elicit = func(_ context.Context, message string, schema json.RawMessage) (string, json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = message + " " + string(schema)
				time.Sleep(5 * time.Minute) // of the bubble's clock: longer than a request may take
				return "accept", json.RawMessage(`{"n":"Ada"}`), nil
			}
			s := connect(t, o)
			r, err := s.Call(t.Context(), "ask", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(t, r); got != "accept Ada" {
				t.Errorf("%q", got)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := `your name? {"properties":{"n":{"type":"string"}},"type":"object"}`; asked != want {
				t.Errorf("asked %s", asked)
			}
		})
	}
}

func TestElicitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int32
		answers := make(chan message, 3)
		o := options(scripted(&starts, func(_ int, p *peer, m message) {
			p.greet(m)
			switch {
			case m.Method == "notifications/initialized":
				p.say(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"pin?","requestedSchema":{"type":"object","properties":{}}}}`)
			case string(m.ID) == `"q"`:
				answers <- m
			}
		}))
		o.Elicit = func(ctx context.Context, _ string, _ json.RawMessage) (string, json.RawMessage, error) {
			<-ctx.Done() // the session ends before the person has answered
			return "", nil, errors.New("a secret of ours")
		}
		s := connect(t, o)
		synctest.Wait()
		closed(t, s)
		if len(answers) > 0 {
			if m := <-answers; m.Result != nil {
				t.Errorf("%s", m.Result)
			}
		}
	})
}
