package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/services/bridge"
	"github.com/jetclaw/jetclaw/services/mcp"
)

// serveFlags are those of `mcp serve`.
type serveFlags struct {
	url, token, tokenFile string
	http, httpTokens      string
	hosts                 []string
	claude                string
	tools                 bool
	agent                 string
	print                 string
	verbose               bool
}

func (s *shell) mcpServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve jetclaw's conversations, events and approvals to MCP clients",
		Long: `An MCP server for Claude Code, Codex, Cursor and other clients: they list and read conversations, wait for what happens, send messages
to people along the way by which those have written, and answer approvals. By default it speaks over stdin and stdout, and a client
starts it by itself; --print-config says how to make it do so. It needs a jetclaw that runs (jetclaw run) and waits for one.

A cursor is a place in jetclaw's journal: a client goes on from any it was given, whatever was restarted meanwhile.

  --http ADDR           serve over HTTP (Streamable HTTP, path /mcp) instead. ADDR without a host is this machine's own loopback. Each
                        request needs a bearer token of keys/mcp.token in the home, which is made when it is missing: one token a
                        line, alone or as "NAME TOKEN"; a change counts at once
  --claude-channel-mode auto pushes what people write to Claude Code; on does so to any client; off to none. Stdio only
  --tools               serve the tools of an agent instead of conversations, through its gate and approvals. The agent stands for the
                        client and has to be configured for that: agents: {NAME: {client: true, tools: {allow: [...]}}}

Exit code 0: the client has closed its end; 1: the transport has failed; 10 and 11: the configuration or a key cannot be used.`,
		Example: `  jetclaw mcp serve --print-config claude
  claude mcp add jetclaw -- jetclaw mcp serve
  codex mcp add jetclaw -- jetclaw mcp serve
  jetclaw mcp serve --http 7460
  jetclaw mcp serve --url nats://10.0.0.5:4222 --token-file /etc/jetclaw/keys/bridge.nk
  jetclaw mcp serve --tools --agent claude`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			if f.print != "" {
				return s.printConfig(f)
			}
			return s.serveMCP(c.Context(), f)
		},
	}
	c.Flags().StringVar(&f.http, "http", "", "serve over HTTP at this address: HOST:PORT, or PORT on loopback")
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "further name in the URLs of HTTP clients, for a proxy in front; repeatable")
	c.Flags().StringVar(&f.httpTokens, "http-token-file", "", "file with the bearer tokens of HTTP clients (default keys/mcp.token)")
	c.Flags().StringVar(&f.url, "url", "", "NATS URL of the jetclaw to serve (default remote.url, else the daemon of this home)")
	c.Flags().StringVar(&f.token, "token", "", "key of the bus user bridge for --url; others on this machine can see it: prefer --token-file")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "file with that key, or a folder that has bridge.nk or bridge.creds")
	c.Flags().StringVar(&f.claude, "claude-channel-mode", string(bridge.Auto), "auto, on or off")
	c.Flags().BoolVar(&f.tools, "tools", false, "serve the tools of an agent")
	c.Flags().StringVar(&f.agent, "agent", "", "the agent that stands for the client, for --tools (default: the only one that is configured)")
	c.Flags().StringVar(&f.print, "print-config", "", "print what to put into the configuration of a client: "+strings.Join(printable, ", "))
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log to stderr what happens")
	fixed := func(name string, values ...string) {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("claude-channel-mode", modes...)
	fixed("print-config", printable...)
	noCompletion(c)
	return c
}

var modes = []string{string(bridge.Auto), string(bridge.On), string(bridge.Off)} //nolint:gochecknoglobals // a constant

func (f *serveFlags) validate() error {
	switch {
	case !slices.Contains(modes, f.claude):
		return usagef("--claude-channel-mode %q: %s", f.claude, suggest.Hint(f.claude, modes))
	case f.print != "" && !slices.Contains(printable, f.print):
		return usagef("--print-config %q: %s", f.print, suggest.Hint(f.print, printable))
	case f.token != "" && f.tokenFile != "":
		return usagef("--token and --token-file exclude each other")
	case f.agent != "" && !f.tools:
		return usagef("--agent goes with --tools")
	case f.http != "" && f.claude == string(bridge.On):
		return usagef("--claude-channel-mode on goes with stdio, not with --http")
	case f.http == "" && (len(f.hosts) > 0 || f.httpTokens != ""):
		return usagef("--host and --http-token-file go with --http")
	}
	if f.http != "" {
		at, err := listenAddress(f.http)
		if err != nil {
			return err
		}
		f.http = at
	}
	return nil
}

// listenAddress puts loopback in place of a host that is not named.
func listenAddress(at string) (string, error) {
	if !strings.Contains(at, ":") {
		at = ":" + at
	}
	host, port, err := net.SplitHostPort(at)
	if _, nerr := strconv.ParseUint(port, 10, 16); err != nil || nerr != nil {
		return "", usagef("--http %q: want HOST:PORT, or PORT, a number", strings.TrimPrefix(at, ":"))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func (s *shell) serveMCP(ctx context.Context, f serveFlags) error {
	e, err := s.env("mcp serve", slog.LevelWarn)
	if err != nil {
		return err
	}
	e.Silent = true
	if f.verbose {
		e.Log = logs.New(os.Stderr, s.secrets, logs.Options{
			Level: slog.LevelDebug, Format: logs.Format(e.Config.Log.Format), Terminal: s.errTTY, Colour: s.colour(s.errTTY),
		})
	}
	if mcp.StartedBy(e.Home.Dir(), e.Environ()) {
		return errors.New("this was started as an MCP server of this very jetclaw: its agents could answer their own approvals by it; " +
			"remove it with `jetclaw mcp unset`")
	}
	if f.tools {
		if f.agent, err = clientAgent(e, f); err != nil {
			return err
		}
	}
	b, err := bridge.New(bridge.Config{Version: e.Version, Claude: bridge.Mode(f.claude), Agent: f.agent, Log: e.Log})
	if err != nil {
		return err
	}
	debug.SetGCPercent(leanGC)
	signal.Ignore(syscall.SIGPIPE) // a client that is gone is an error of the transport, not the death of the process
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, end := context.WithCancel(ctx)
	defer end()
	serve, err := s.transport(ctx, e, f, b)
	if err != nil {
		return err
	}
	// The connection outlives the clients: what they leave behind is still to be stopped by it.
	line, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var g errgroup.Group
	g.Go(func() error {
		defer end()
		return e.Bridge(line, app.Outside{URL: f.url, Creds: f.tokenFile, Seed: f.token, Away: b.Away}, b.Attach)
	})
	g.Go(func() error {
		defer cut()
		return serve(ctx)
	})
	return g.Wait()
}

// leanGC has the collector let the heap grow by half as much as usual: a client starts one of these for each of its windows, and they
// mostly wait.
const leanGC = 50

// transport is what serves clients: over stdio, or over HTTP.
func (s *shell) transport(ctx context.Context, e app.Env, f serveFlags, b *bridge.Bridge) (func(context.Context) error, error) {
	if f.http == "" {
		return func(ctx context.Context) error { return b.ServeStdio(ctx, s.in, s.out) }, nil
	}
	tokens := f.httpTokens
	if tokens == "" {
		tokens = e.Home.MCPTokens()
		if err := e.Home.MakeMCPTokens(); err != nil {
			return nil, &app.CredsError{Err: err}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.http)
	if err != nil {
		if who := natsembed.PortOwner(f.http); who != "" && errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("--http %s is taken by %s: stop it, or choose another address", f.http, who)
		}
		return nil, fmt.Errorf("--http: %w", err)
	}
	fmt.Fprintf(s.err, "MCP at http://%s%s  (bearer token in %s)\n", l.Addr(), bridge.Endpoint, tokens)
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		fmt.Fprintln(s.err, "warning: it can be reached from other machines, and what is said to it is not encrypted: put a proxy with TLS in front")
	}
	return func(ctx context.Context) error {
		return b.ServeHTTP(ctx, l, bridge.HTTPConfig{Listen: f.http, Hosts: f.hosts, Tokens: tokens})
	}, nil
}

// clientAgent is the agent that stands for the client.
func clientAgent(e app.Env, f serveFlags) (string, error) {
	if f.agent != "" {
		return f.agent, nil // whether it may, the daemon knows, whose configuration counts
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.Config.Agents)) {
		if e.Config.Agents[name].Client {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return "", errors.New("no agent stands for MCP clients: configure one, as in agents: {claude: {client: true, tools: {allow: [read_file]}}}")
	case 1:
		return names[0], nil
	}
	return "", usagef("several agents stand for MCP clients: name one with --agent: %s", strings.Join(names, ", "))
}
