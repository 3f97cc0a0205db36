package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve conversations to MCP clients, and manage MCP servers, whose tools agents can use",
		Long: `"jetclaw mcp serve" is an MCP server: Claude Code, Codex, Cursor and others reach jetclaw's conversations through it.

MCP servers give agents more tools. They stand under mcp.servers in jetclaw.yaml; these commands show and change that, and keep
its comments. A running jetclaw takes a change up by itself and connects anew only to the servers that have changed.

By default each call of a server's tool asks a person; --approval of add and configure says otherwise. A server is started when it
is needed first.`,
		Example: `  jetclaw mcp serve --print-config claude
  jetclaw mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/docs
  jetclaw mcp add docs --url https://mcp.example.com/mcp --auth oauth
  jetclaw mcp status --verbose
  jetclaw mcp doctor --probe
  jetclaw mcp configure files --approval auto
  jetclaw mcp import ~/.claude.json --dry-run`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.mcpServe(), s.mcpList(), s.mcpShow(), s.mcpStatus(), s.mcpDoctor(), s.mcpProbeCommand(), s.mcpAdd(), s.mcpSet(), s.mcpConfigure(),
		s.mcpTools(), s.mcpLogin(), s.mcpLogout(), s.mcpReload(), s.mcpUnset(), s.mcpImport(), s.mcpExport())
	noCompletion(c)
	return c
}

// exitInterrupted is the code of a command that a signal has ended before it was done.
const exitInterrupted = 130

// mcpRun is a command that a signal ends. With --json an error is one JSON object on stdout.
func (s *shell) mcpRun(asJSON *bool, fn func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := fn(ctx, args)
		var told *toldError
		switch {
		case err == nil || errors.As(err, &told):
			return err
		case ctx.Err() != nil:
			fmt.Fprintln(s.err, "jetclaw: interrupted")
			return &toldError{exitInterrupted}
		case asJSON == nil || !*asJSON:
			return err
		}
		if werr := s.writeJSON(mcpFailure{Error: mcpError{Type: "cli_error", Message: s.secrets.Text(err.Error())}}); werr != nil {
			return werr
		}
		return &toldError{exitCode(err)}
	}
}

// mcpFailure is what a command with --json prints that could not do what it was asked.
type mcpFailure struct {
	OK    bool     `json:"ok"`
	Error mcpError `json:"error"`
}

type mcpError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// mcpFile is jetclaw.yaml as far as it is about MCP servers.
type mcpFile struct {
	s       *shell
	e       app.Env
	path    string
	servers map[string]definition.Definition
}

// mcpOpen reads the configuration. The store is not opened and nothing is started.
func (s *shell) mcpOpen(command string) (*mcpFile, error) {
	e, err := s.env("mcp "+command, slog.LevelWarn)
	if err != nil {
		return nil, err
	}
	e.Silent = true
	return &mcpFile{s: s, e: e, path: e.Home.Config(), servers: e.Config.MCP.Servers}, nil
}

func (f *mcpFile) names() []string { return slices.Sorted(maps.Keys(f.servers)) }

// get is the server of a name.
func (f *mcpFile) get(name string) (definition.Definition, error) {
	d, ok := f.servers[name]
	if !ok {
		return d, noServer(name, f.path, f.names())
	}
	return d, nil
}

// noServer says that there is no server of a name, and which one was perhaps meant.
func noServer(name, path string, names []string) error {
	hint := ""
	if n := suggest.Nearest(name, names); n != "" {
		hint = fmt.Sprintf(" Did you mean %q?", n)
	}
	return &mcpRefusal{fmt.Sprintf("No MCP server named %q in %s.%s Run jetclaw mcp list to see configured servers.", name, path, hint)}
}

// mcpRefusal is an error in whole sentences, as scripts know it from other tools of this kind.
type mcpRefusal struct{ text string }

func (r *mcpRefusal) Error() string { return r.text }

// reveal makes the redactor know the secrets of servers, so that none of them is printed with what a server says.
func (f *mcpFile) reveal(all map[string]definition.Definition) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, secrets, err := all[name].Resolve(func(ref string) (string, error) {
			value, _, err := f.resolver().Value(ref)
			if err != nil {
				return "", nil //nolint:nilerr // what cannot be had cannot be printed either; doctor says that it is missing
			}
			return value, nil
		})
		if err == nil {
			f.e.Secrets.Add(secrets...)
		}
	}
}

func (f *mcpFile) resolver() config.Resolver {
	return config.Resolver{Home: f.e.Home.Dir(), Lookup: f.e.Lookup, Known: f.e.Secrets.Add}
}

// running says whether a daemon of this home has said where it is. It may have been killed since.
func (f *mcpFile) running() bool {
	_, err := f.e.Home.Endpoint()
	return err == nil
}

// takenTime is what the running jetclaw has to take a change up, and to ask a new server what it offers.
const takenTime = 15 * time.Second

// takenUp tells when a change counts. The running jetclaw is asked something that makes it read the file, so that what is
// done next finds the change; without an answer it looks at the file soon enough.
func (f *mcpFile) takenUp(ctx context.Context) {
	if f.e.Config.Remote.URL != "" {
		fmt.Fprintln(f.s.err, "note: the jetclaw at remote.url takes it up where its own jetclaw.yaml has it, too; a new server needs a consumer, "+
			"which `jetclaw topology apply` makes")
	}
	if !f.running() {
		return
	}
	fmt.Fprintln(f.s.err, "note: the running jetclaw takes this up by itself")
	asking, cancel := context.WithTimeout(ctx, takenTime)
	defer cancel()
	_ = f.e.WithDaemon(asking, func(ctx context.Context, c app.Client) error {
		_, err := bus.Ask[mcp.Status](ctx, c.Conn, mcp.Name, mcp.StatusVerb, mcp.StatusRequest{Settled: true})
		return err
	})
}

// warn tells what is allowed but has a consequence.
func (s *shell) warn(issues []definition.Issue) {
	for _, i := range issues {
		if i.Level == "info" {
			fmt.Fprintf(s.err, "note: %s\n", flat(i.Message))
		} else {
			fmt.Fprintf(s.err, "%s: %s\n", flat(i.Level), flat(i.Message))
		}
	}
}

// oneServer takes the name of one server.
func oneServer(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%q takes the name of one MCP server\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	return nil
}

// maybeServer takes the name of one server, or none.
func maybeServer(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%q takes the name of one MCP server at most\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	return nil
}

// completeServer offers the configured servers as the first argument.
func (s *shell) completeServer(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.serverNames(nil), cobra.ShellCompDirectiveNoFileComp
}

// serverNames are the configured servers but those of a list.
func (s *shell) serverNames(but []string) (names []string) {
	h, err := home.Find(s.lookup)
	if err != nil {
		return nil
	}
	c, _, err := config.Load(h.Config())
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		if !slices.Contains(but, name) {
			names = append(names, cobra.CompletionWithDesc(name, shortened(flat(c.MCP.Servers[name].Launch()), titleShown)))
		}
	}
	return names
}

// indented is a value as JSON for a person.
func indented(v any) (string, error) {
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", fmt.Errorf("show the servers as JSON: %w", err)
	}
	return string(jsonForTerminal(out)), nil
}
