package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/registry"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// addOptions are the flags of `mcp add`.
type addOptions struct {
	mcpFlags
	command, cwd, url  string
	args, env, headers []string
	transport          choice
	disabled, noProbe  bool
}

func (s *shell) mcpAdd() *cobra.Command {
	var o addOptions
	c := &cobra.Command{
		Use:   "add NAME [flags] [-- COMMAND [ARG…]]",
		Short: "Add an MCP server, after a probe",
		Long: `Adds a server that does not exist yet. It is a program that jetclaw starts (after --, or with --command and --arg), or one at a
URL. It is connected to first, and nothing is saved when that fails, unless --no-probe, --disabled or --auth oauth is given.

Write secrets as references: env:NAME is an environment variable of jetclaw, file:PATH a file; within a longer value ${NAME} is the
variable.

On a NATS cluster whoever has the key of the user admin runs "jetclaw topology apply" afterwards, with this configuration: each
server has a consumer of its own there, and its calls wait until that is made.`,
		Example: `  jetclaw mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/docs
  jetclaw mcp add memory --command npx --arg -y --arg @modelcontextprotocol/server-memory --approval auto
  jetclaw mcp add tracker --env TRACKER_TOKEN=env:TRACKER_TOKEN --scope session -- uvx tracker-mcp
  jetclaw mcp add docs --url https://mcp.example.com/mcp --auth oauth --oauth-scope docs.read --include 'search,read_*'
  jetclaw mcp add wiki --url https://wiki.example.com/mcp --header 'Authorization=Bearer ${WIKI_TOKEN}'`,
		Args: addArguments,
	}
	c.RunE = s.mcpRun(nil, func(ctx context.Context, args []string) error {
		d, err := o.definition(c, args[1:])
		if err != nil {
			return err
		}
		return s.addServer(ctx, args[0], d, o.noProbe)
	})
	f := c.Flags()
	o.transport = choice{allowed: []string{definition.StreamableHTTP, definition.SSE}}
	f.StringVar(&o.command, "command", "", "the `program` to start")
	f.StringArrayVar(&o.args, "arg", nil, "an `argument` of it; can be given several times")
	f.StringArrayVar(&o.env, "env", nil, "`KEY=VALUE` for its environment; can be given several times")
	f.StringVar(&o.cwd, "cwd", "", "its working `folder`")
	f.StringVar(&o.url, "url", "", "the `URL` of an HTTP server")
	f.Var(&o.transport, "transport", "how to talk to an HTTP server")
	f.StringArrayVar(&o.headers, "header", nil, "`KEY=VALUE`, sent with each request; can be given several times")
	f.BoolVar(&o.disabled, "disabled", false, "save it disabled")
	f.BoolVar(&o.noProbe, "no-probe", false, "save it without connecting first")
	o.register(c)
	noCompletion(c, "arg", "env", "url", "header")
	complete(c, "transport", o.transport.allowed...)
	_ = c.MarkFlagDirname("cwd") // it fails for a flag that is not there
	return c
}

// addArguments takes a name, and after -- a command.
func addArguments(c *cobra.Command, args []string) error {
	dash := c.ArgsLenAtDash()
	switch {
	case dash == 1 && len(args) == 1:
		return usagef("no command stands after --\nSee %q.", c.CommandPath()+" --help")
	case len(args) == 0 || dash == 0 || dash < 0 && len(args) > 1 || dash > 1:
		return usagef("%q takes the name of one MCP server, and a command after --\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	if err := definition.ValidName(args[0]); err != nil {
		return usagef("the name %q: %s", args[0], err)
	}
	return nil
}

// definition is the server that the flags describe.
func (o *addOptions) definition(c *cobra.Command, command []string) (d definition.Definition, err error) {
	f := c.Flags()
	given := func(name string) bool { return f.Changed(name) }
	switch {
	case len(command) > 0 && (given("command") || given("arg")):
		return d, usagef("give the command after --, or with --command and --arg, not both")
	case len(command) > 0:
		d.Command, d.Args = command[0], command[1:]
	default:
		d.Command, d.Args = o.command, o.args
	}
	d.URL, d.Transport, d.Cwd = o.url, o.transport.word, fromHere(o.cwd)
	switch {
	case d.Command == "" && d.URL == "":
		return d, usagef("give a command after -- (or --command) for a program, or --url for an HTTP server")
	case d.Command != "" && d.URL != "":
		return d, usagef("give either a command or --url, not both")
	case d.URL != "" && (given("arg") || given("env") || given("cwd")):
		return d, usagef("--arg, --env and --cwd are for a program, not for --url")
	}
	if d.Cwd == "" && strings.ContainsRune(d.Command, filepath.Separator) {
		d.Command = fromHere(d.Command)
	}
	if d.Env, err = pairs("env", o.env, "=", "KEY=VALUE"); err != nil {
		return d, err
	}
	if d.Headers, err = pairs("header", o.headers, "=:", "KEY=VALUE"); err != nil {
		return d, err
	}
	if len(d.Env) == 0 {
		d.Env = nil
	}
	if len(d.Headers) == 0 {
		d.Headers = nil
	}
	if len(d.Args) == 0 {
		d.Args = nil
	}
	if o.disabled {
		no := false
		d.Enabled = &no
	}
	if err := o.apply(f, &d); err != nil {
		return d, err
	}
	return d, validated(d)
}

// validated says what is wrong with a server, as an error of whoever described it.
func validated(d definition.Definition) error {
	var texts []string
	for _, i := range d.Validate() {
		texts = append(texts, i.Message)
	}
	if len(texts) > 0 {
		return usagef("%s", strings.Join(texts, "; "))
	}
	return nil
}

func (s *shell) addServer(ctx context.Context, name string, d definition.Definition, noProbe bool) error {
	f, err := s.mcpOpen("add")
	if err != nil {
		return err
	}
	exists := &mcpRefusal{fmt.Sprintf("MCP server %q already exists. Change it with jetclaw mcp configure or jetclaw mcp set.", name)}
	if _, ok := f.servers[name]; ok {
		return exists
	}
	var found *mcp.ServerProbe
	if !noProbe && d.Auth != "oauth" && d.IsEnabled() {
		if found, err = f.tryOut(ctx, name, d); err != nil {
			return err
		}
	}
	err = registry.Edit(ctx, f.path, func(all map[string]definition.Definition) error {
		if _, ok := all[name]; ok { // added meanwhile
			return exists
		}
		all[name] = d
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "Saved MCP server %q to %s.\n", name, f.path); err != nil {
		return err
	}
	f.introduce(ctx, name, d, found)
	return nil
}

// introduce tells what is to be known of a server that is new.
func (f *mcpFile) introduce(ctx context.Context, name string, d definition.Definition, found *mcp.ServerProbe) {
	if d.Auth == "oauth" {
		fmt.Fprintf(f.s.out, "Run jetclaw mcp login %s to authorize this MCP server.\n", name)
	}
	f.s.warn(d.Advice())
	if found == nil && d.TransportName() == definition.Stdio {
		if err := app.LookCommand(f.e, d); err != nil {
			fmt.Fprintf(f.s.err, "warning: %s\n", flat(err.Error()))
		}
	}
	if found != nil {
		f.s.warn(found.Issues)
		fmt.Fprintf(f.s.err, "note: %s\n", offerOf(name, d, *found))
	}
	f.takenUp(ctx)
}

// offerOf says what a server offers, which calls ask a person, and how to choose that.
func offerOf(name string, d definition.Definition, p mcp.ServerProbe) string {
	text := plural(offered(p), "tool", "tools")
	if p.Filtered > 0 {
		text += fmt.Sprintf(" (and %d hidden by the filter)", p.Filtered)
	}
	if n := min(p.ReadOnly, offered(p)); n == 1 {
		text += ", 1 of them says that it only reads"
	} else {
		text += fmt.Sprintf(", %d of them say that they only read", n)
	}
	switch d.ApprovalMode() {
	case definition.Auto:
		return text + "; those run without asking a person, and the others ask (approval auto)"
	case definition.Approve:
		return text + "; none of them asks a person (approval approve)"
	case definition.Prompt:
	}
	return text + fmt.Sprintf("; each call asks a person (approval prompt). With jetclaw mcp configure %[1]s --approval auto those that say "+
		"that they only read run without asking, with --approval approve all", name)
}

// tryOut connects to one server that is about to be saved. What it has said when that fails is told.
func (f *mcpFile) tryOut(ctx context.Context, name string, d definition.Definition) (*mcp.ServerProbe, error) {
	got, err := f.probe(ctx, map[string]definition.Definition{name: d})
	if err != nil {
		return nil, err
	}
	if len(got.Diagnostics) > 0 {
		x := got.Diagnostics[0]
		for _, line := range stderrTail(x.Stderr) {
			fmt.Fprintln(f.s.err, line)
		}
		text := fmt.Sprintf("MCP probe failed for %q; nothing was saved: %s", name, flat(x.Message))
		if x.Login && d.Auth == "" {
			text += "\nif it has OAuth, add it with --auth oauth"
		}
		return nil, &mcpRefusal{text}
	}
	p, ok := got.Servers[name]
	if !ok {
		return nil, &mcpRefusal{fmt.Sprintf("MCP probe of %q has no result; nothing was saved", name)}
	}
	return &p, nil
}

func (s *shell) mcpUnset() *cobra.Command {
	c := &cobra.Command{
		Use:     "unset NAME",
		Short:   "Remove an MCP server",
		Long:    "Removes a server from jetclaw.yaml. Stored OAuth credentials stay: jetclaw mcp logout, before, removes them.",
		Example: "  jetclaw mcp unset files",
		Args:    oneServer,
		RunE: s.mcpRun(nil, func(ctx context.Context, args []string) error {
			f, err := s.mcpOpen("unset")
			if err != nil {
				return err
			}
			if _, err := f.get(args[0]); err != nil {
				return err
			}
			err = registry.Edit(ctx, f.path, func(all map[string]definition.Definition) error {
				if _, ok := all[args[0]]; !ok { // removed meanwhile
					return noServer(args[0], f.path, slices.Sorted(maps.Keys(all)))
				}
				delete(all, args[0])
				return nil
			})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(s.out, "Removed MCP server %q from %s.\n", args[0], f.path); err != nil {
				return err
			}
			f.takenUp(ctx)
			return nil
		}),
	}
	c.ValidArgsFunction = s.completeServer
	return c
}
