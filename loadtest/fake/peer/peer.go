// Package peer is the fake MCP server of a run, as jetclaw's configuration has it, and as a bare client of the SDK finds it.
package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/figure/floor"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// Transports that are measured.
const (
	OverStdio = "stdio"
	OverHTTP  = "http"
)

// Peer is the fake MCP server of a measurement: over stdio whoever talks to it starts it, over HTTP it runs in a process of its own.
type Peer struct {
	Transport string
	argv      []string
	served    *floor.WebChild // over HTTP
}

// Name is the server's in the configuration; it begins the names of its tools.
const Name = "peer"

// Argv starts the fake server as this program.
func Argv(flags ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("fake MCP server: %w", err)
	}
	return append([]string{self, fakemcp.Command}, flags...), nil
}

// Start makes one ready; whoever does closes it.
func Start(ctx context.Context, transport string) (Peer, error) {
	p := Peer{Transport: transport}
	var err error
	if transport == OverHTTP {
		p.served, err = floor.StartChild(ctx, fakemcp.Command, "--http", "127.0.0.1:0")
	} else {
		p.argv, err = Argv()
	}
	return p, err
}

// Configured is the server as jetclaw.yaml has it.
func (p Peer) Configured() daemon.MCPServer {
	s := daemon.MCPServer{Name: Name, Argv: p.argv}
	if p.served != nil {
		s.URL = p.served.URL
	}
	return s
}

// Close ends the process, if it has one.
func (p Peer) Close() error {
	if p.served == nil {
		return nil
	}
	return p.served.Close()
}

// Bare calls the tool echo with the SDK alone, one call after the other: the floor. It says which version of the protocol is spoken.
func (p Peer) Bare(ctx context.Context, t bench.Timing) (took []time.Duration, version string, err error) {
	var wire mcp.Transport
	if p.served != nil {
		wire = &mcp.StreamableClientTransport{Endpoint: p.served.URL}
	} else {
		wire = &mcp.CommandTransport{Command: exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "floor", Version: "1"}, nil).Connect(ctx, wire, nil)
	if err != nil {
		return nil, "", fmt.Errorf("floor over %s: %w", p.Transport, err)
	}
	defer func() { _ = s.Close() }() // over stdio it says how the process ended
	if r := s.InitializeResult(); r != nil {
		version = r.ProtocolVersion
	}
	took, err = Timed(t, func() error {
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: fakemcp.Echo, Arguments: map[string]string{"text": Echoed}})
		if err != nil {
			return err
		}
		return isEcho(r)
	})
	if err != nil {
		return nil, version, fmt.Errorf("floor over %s: %w", p.Transport, err)
	}
	return took, version, nil
}

// Timed does something again and again, and has the times of those that began in the window: one at the least.
func Timed(t bench.Timing, do func() error) (took []time.Duration, err error) {
	open := time.Now().Add(t.Warmup)
	for shut := open.Add(t.Duration); ; {
		began := time.Now()
		if began.After(shut) && len(took) > 0 {
			return took, nil
		}
		if err := do(); err != nil {
			return nil, err
		}
		if began.After(open) {
			took = append(took, time.Since(began))
		}
	}
}

func isEcho(r *mcp.CallToolResult) error {
	if len(r.Content) == 1 {
		if c, ok := r.Content[0].(*mcp.TextContent); ok && c.Text == Echoed {
			return nil
		}
	}
	return fmt.Errorf("this is not what was said: %+v", r.Content)
}
