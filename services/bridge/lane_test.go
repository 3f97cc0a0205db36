package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/session"
)

// callIn is a call in an MCP session by an id.
func callIn(t *testing.T, id string) *mcp.CallToolRequest {
	t.Helper()
	s, err := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableServerTransport{SessionID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &mcp.CallToolRequest{Session: s, Params: &mcp.CallToolParamsRaw{Name: "x"}}
}

func agentOf(t *testing.T, name string) *client {
	t.Helper()
	return newClient(newBridge(t, func(c *Config) { c.Agent = name }))
}

// TestLanes: calls of one session run one after the other, in the order in which they came; those of another one beside them.
func TestLanes(t *testing.T) {
	one, other := callIn(t, "ONE"), callIn(t, "")
	c := agentOf(t, "claude")
	synctest.Test(t, func(t *testing.T) {
		id, leave, err := c.enter(t.Context(), one)
		if err != nil || id != session.ID("claude.mcp.default."+c.began+"-ONE") {
			t.Fatalf("%s, %v", id, err)
		}
		var order []int
		entered := make(chan func())
		for i := range 5 {
			go func() {
				again, leave, err := c.enter(t.Context(), one)
				if err != nil || again != id {
					t.Errorf("%s, %v", again, err)
				}
				order = append(order, i)
				entered <- leave
			}()
			synctest.Wait() // it stands behind those before it
		}
		beside, leaveOther, err := c.enter(t.Context(), other)
		if err != nil || beside != session.ID("claude.mcp.default."+c.began) {
			t.Errorf("%s, %v", beside, err)
		}
		if len(c.lanes) != 2 || c.lanes[c.began+"-ONE"].users != 6 {
			t.Errorf("lanes: %+v", c.lanes)
		}
		leaveOther()
		for n := range 5 {
			synctest.Wait()
			if len(order) != n {
				t.Fatalf("it was not waited for: %v", order)
			}
			leave()
			leave = <-entered
			if order[n] != n {
				t.Fatalf("order: %v", order)
			}
		}
		leave()
		if len(c.lanes) != 0 {
			t.Errorf("lanes that nobody uses: %+v", c.lanes)
		}
	})
}

// TestLaneIsLeft: who does not wait any longer does not hold up those behind it.
func TestLaneIsLeft(t *testing.T) {
	one := callIn(t, "ONE")
	c := agentOf(t, "claude")
	gone := errors.New("withdrawn")
	synctest.Test(t, func(t *testing.T) {
		_, leave, err := c.enter(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		left, behind := make(chan error), make(chan func())
		go func() {
			_, _, err := c.enter(ctx, one)
			left <- err
		}()
		synctest.Wait()
		go func() {
			_, leave, err := c.enter(t.Context(), one)
			if err != nil {
				t.Error(err)
			}
			behind <- leave
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-left; !errors.Is(err, gone) {
			t.Error(err)
		}
		leave()
		(<-behind)()
		if len(c.lanes) != 0 {
			t.Errorf("lanes that nobody uses: %+v", c.lanes)
		}
	})
}

func TestNamesOfSessions(t *testing.T) {
	long := callIn(t, strings.Repeat("x", 300))
	id, leave, err := agentOf(t, "claude").enter(t.Context(), long)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	for user, want := range map[string]string{"one/5a1d": "-one", "o:n e/5a1d": "-o-n-e"} { // of the tokens, where there are no sessions
		r := callIn(t, "")
		r.Extra = &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}}
		c := agentOf(t, "claude")
		got, leave, err := c.enter(t.Context(), r)
		if err != nil || got.Peer() != c.began+want {
			t.Fatalf("%s, %v", got, err)
		}
		leave()
	}
	if _, err := session.Parse(string(id)); err != nil {
		t.Errorf("%s: %v", id, err)
	}
	if _, _, err := agentOf(t, strings.Repeat("x", session.MaxToken+1)).enter(t.Context(), long); err == nil {
		t.Error("an agent without a session")
	}
	if a, b := agentOf(t, "claude"), agentOf(t, "claude"); a.began == b.began {
		t.Errorf("two runs go by one name: %s", a.began)
	}
}
