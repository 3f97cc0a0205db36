package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Served is a running `jetclaw mcp serve`.
type Served struct {
	*Process

	// Over stdio: what the client says, and what it is told. Whoever reads nothing has the server wait for it.
	In  io.WriteCloser
	Out io.ReadCloser

	URL string // over HTTP
}

// ServeStdio serves the conversations of a home to one client, over pipes.
func ServeStdio(bin string, h Home, args ...string) (*Served, error) {
	in, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), toServer.Close())
	}
	s := &Served{In: toServer, Out: fromServer}
	cmd := h.serve(bin, args...)
	cmd.Stdin, cmd.Stdout = in, out
	_, err = s.start(cmd, h)
	_, _ = in.Close(), out.Close() // the server has its own
	if err != nil {
		_, _ = toServer.Close(), fromServer.Close()
		return nil, err
	}
	return s, nil
}

// ServeHTTP serves them over HTTP on a free port of loopback.
func ServeHTTP(ctx context.Context, bin string, h Home, args ...string) (*Served, error) {
	s := &Served{}
	said, err := s.start(h.serve(bin, append([]string{"--http", "127.0.0.1:0"}, args...)...), h)
	if err != nil {
		return nil, err
	}
	select {
	case s.URL = <-said.url:
		return s, nil
	case <-s.done:
		err = fmt.Errorf("it ended: %w", s.exit())
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.Kill()
	return nil, fmt.Errorf("jetclaw mcp serve: %w\n%s", err, Tail(h.ServeLog(), 2000))
}

func (h Home) serve(bin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), bin, append([]string{"mcp", "serve"}, args...)...) // ended as a daemon is
	cmd.Env = h.environ()
	return cmd
}

// ServeLog is where the messages of `jetclaw mcp serve` go.
func (h Home) ServeLog() string { return filepath.Clean(h.Dir) + ".mcp.log" }

// MCPToken reads the bearer token that the first server over HTTP has made.
func (h Home) MCPToken() (string, error) {
	b, err := os.ReadFile(filepath.Join(h.Dir, "keys", "mcp.token"))
	if err != nil {
		return "", fmt.Errorf("token of MCP clients: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

func (s *Served) start(cmd *exec.Cmd, h Home) (*announced, error) {
	log, err := os.OpenFile(h.ServeLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the MCP server: %w", err)
	}
	said := &announced{log: log, url: make(chan string, 1)}
	cmd.Stderr = said
	p, err := start(cmd)
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	p.log, s.Process = log, p
	return said, nil
}

// End lets go of the server over stdio, and waits until it has ended.
func (s *Served) End(patience time.Duration) error {
	_ = s.In.Close()
	t := time.NewTimer(patience)
	defer t.Stop()
	defer s.Kill() // of what has ended nothing is left
	defer func() { _ = s.Out.Close() }()
	select {
	case <-s.done:
		if s.err != nil {
			return fmt.Errorf("jetclaw mcp serve: %w", s.err)
		}
		return nil
	case <-t.C:
		return fmt.Errorf("jetclaw mcp serve did not end within %s of its stdin", patience)
	}
}

// announced copies what a server says to its log, and finds the URL in it.
type announced struct {
	log io.Writer
	url chan string // of one

	mu    sync.Mutex
	begun []byte // guarded by mu; what was said until the URL was found; nil from then on
	found bool   // guarded by mu
}

var announcement = regexp.MustCompile(`(?m)^MCP at (\S+)\s`)

func (a *announced) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.found {
		a.begun = append(a.begun, b...)
		if m := announcement.FindSubmatch(a.begun); m != nil {
			a.url <- string(bytes.Clone(m[1]))
			a.found, a.begun = true, nil
		}
	}
	return a.log.Write(b)
}
