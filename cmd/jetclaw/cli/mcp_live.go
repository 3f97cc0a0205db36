package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// mcpKnown is what is known of servers beside their configuration.
type mcpKnown struct {
	running bool                        // a jetclaw has answered
	live    map[string]mcp.ServerStatus // none unless running
	auth    map[string]*mcp.AuthStatus  // of those with OAuth
}

// liveTime is how long a running jetclaw may take to say how its servers are.
const liveTime = 3 * time.Second

// live asks the running jetclaw how servers are. Without one, and only when one of them has OAuth, what is stored of its
// credentials is read from the store. No server is connected to.
func (f *mcpFile) live(ctx context.Context, servers map[string]definition.Definition) mcpKnown {
	k := mcpKnown{live: map[string]mcp.ServerStatus{}, auth: map[string]*mcp.AuthStatus{}}
	asking, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	err := f.e.WithDaemon(asking, func(ctx context.Context, c app.Client) error {
		got, err := bus.Ask[mcp.Status](ctx, c.Conn, mcp.Name, mcp.StatusVerb, mcp.StatusRequest{})
		k.running = err == nil
		k.take(got, true)
		return err
	})
	switch {
	case k.running:
		f.reveal(servers)
	case !errors.Is(err, home.ErrNoEndpoint) && ctx.Err() == nil:
		fmt.Fprintf(f.s.err, "note: no jetclaw has said how the servers are now: %s\n", flat(err.Error()))
	}
	var asked []string
	for name, d := range servers {
		if d.Auth == "oauth" && k.auth[name] == nil {
			asked = append(asked, name)
		}
	}
	if k.running || len(asked) == 0 {
		return k
	}
	slices.Sort(asked)
	f.stored(ctx, asked, &k)
	return k
}

func (k *mcpKnown) take(got mcp.Status, live bool) {
	for _, st := range got.Servers {
		if live {
			k.live[st.Name] = st
		}
		if st.AuthStatus != nil {
			k.auth[st.Name] = st.AuthStatus
		}
	}
}

// stored reads from the store of this home what it holds of credentials.
func (f *mcpFile) stored(ctx context.Context, names []string, k *mcpKnown) {
	if !stores(f.e) {
		for _, name := range names {
			k.auth[name] = &mcp.AuthStatus{RequiresAuthorization: true, State: "authorization-required"}
		}
		return
	}
	err := f.e.WithMCP(ctx, func(ctx context.Context, c app.Client) error {
		got, err := bus.Ask[mcp.Status](ctx, c.Conn, mcp.Name, mcp.StatusVerb, mcp.StatusRequest{Servers: names})
		k.take(got, false)
		return err
	})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.s.err, "note: what is stored of OAuth credentials cannot be read now: %s\n", flat(err.Error()))
	}
}

// stores says whether anything is stored in this home. When nothing has ever run there, no home is made to look.
func stores(e app.Env) bool {
	_, err := os.Stat(e.Home.Data())
	return !errors.Is(err, os.ErrNotExist)
}
