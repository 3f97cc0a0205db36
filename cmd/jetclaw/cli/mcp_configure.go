package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/registry"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// configureOptions are the flags of `mcp configure`.
type configureOptions struct {
	mcpFlags
	enable, disable, noParallel                  bool
	clearAuth, clearTimeouts, clearTLS, clearAll bool
	probe                                        bool
}

func (s *shell) mcpConfigure() *cobra.Command {
	var o configureOptions
	c := &cobra.Command{
		Use:   "configure NAME",
		Short: "Change how an MCP server is used",
		Long: `Changes what is given as flags and leaves the rest of the server as it is. With --probe the changed server is connected to first,
and nothing is saved when that fails.`,
		Example: `  jetclaw mcp configure files --approval approve
  jetclaw mcp configure docs --timeout 20 --connect-timeout 5 --include 'search,read_*'
  jetclaw mcp configure docs --auth oauth --oauth-scope docs.read
  jetclaw mcp configure files --disable`,
		Args: oneServer,
	}
	c.RunE = s.mcpRun(nil, func(ctx context.Context, args []string) error {
		if err := o.check(c); err != nil {
			return err
		}
		return s.configureServer(ctx, c, args[0], &o)
	})
	f := c.Flags()
	o.register(c)
	f.BoolVar(&o.enable, "enable", false, "use the server")
	f.BoolVar(&o.disable, "disable", false, "keep the server, but do not use it")
	f.BoolVar(&o.noParallel, "no-parallel", false, "the server gets one call at a time")
	f.BoolVar(&o.clearAuth, "clear-auth", false, "remove auth and what is configured of OAuth")
	f.BoolVar(&o.clearTimeouts, "clear-timeouts", false, "remove all timeouts: the defaults hold")
	f.BoolVar(&o.clearTLS, "clear-tls", false, "remove what is configured of TLS")
	f.BoolVar(&o.clearAll, "clear-tools", false, "remove the filter of tools")
	f.BoolVar(&o.probe, "probe", false, "connect to the changed server before it is saved")
	c.ValidArgsFunction = s.completeServer
	return c
}

// check refuses flags that say nothing or contradict each other.
func (o *configureOptions) check(c *cobra.Command) error {
	f := c.Flags()
	if f.NFlag() == 0 || f.NFlag() == 1 && f.Changed("probe") {
		return usagef("say what to change\nSee %q.", c.CommandPath()+" --help")
	}
	for _, pair := range [][2]string{{"enable", "disable"}, {"parallel", "no-parallel"}, {"probe", "disable"}} {
		if f.Changed(pair[0]) && f.Changed(pair[1]) {
			return usagef("--%s and --%s contradict each other", pair[0], pair[1])
		}
	}
	return nil
}

// change makes the changes to a server.
func (o *configureOptions) change(c *cobra.Command, d *definition.Definition) error {
	if o.clearAuth {
		d.Auth, d.OAuth = "", nil
	}
	if o.clearTimeouts {
		d.RequestTimeoutMs, d.ConnectionTimeoutMs, d.IdleTimeoutMs = 0, 0, 0
	}
	if o.clearTLS {
		d.SSLVerify, d.CACert, d.ClientCert, d.ClientKey = nil, "", "", ""
	}
	if o.clearAll {
		d.ToolFilter = nil
	}
	if o.enable {
		d.Enabled = nil
	}
	if o.disable {
		no := false
		d.Enabled = &no
	}
	if o.noParallel {
		d.SupportsParallelToolCalls = false
	}
	if err := o.apply(c.Flags(), d); err != nil {
		return err
	}
	return validated(*d)
}

func (s *shell) configureServer(ctx context.Context, c *cobra.Command, name string, o *configureOptions) error {
	f, err := s.mcpOpen("configure")
	if err != nil {
		return err
	}
	d, err := f.get(name)
	if err != nil {
		return err
	}
	before := d
	if err := o.change(c, &d); err != nil {
		return err
	}
	if o.probe {
		if _, err := f.tryOut(ctx, name, d); err != nil {
			return err
		}
	}
	err = f.edit(ctx, name, func(d *definition.Definition) error { return o.change(c, d) })
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "Updated MCP server %q in %s.\n", name, f.path); err != nil {
		return err
	}
	if d.Auth == "oauth" && before.Auth != "oauth" {
		fmt.Fprintf(s.out, "Run jetclaw mcp login %s to authorize this MCP server.\n", name)
	}
	f.takenUp(ctx)
	return nil
}

// edit changes one server as the file has it at that moment.
func (f *mcpFile) edit(ctx context.Context, name string, change func(*definition.Definition) error) error {
	return registry.Edit(ctx, f.path, func(all map[string]definition.Definition) error {
		d, ok := all[name]
		if !ok {
			return noServer(name, f.path, slices.Sorted(maps.Keys(all)))
		}
		if err := change(&d); err != nil {
			return err
		}
		all[name] = d
		return nil
	})
}

func (s *shell) mcpTools() *cobra.Command {
	var o mcpFlags
	var remove bool
	c := &cobra.Command{
		Use:   "tools NAME",
		Short: "Choose which tools of an MCP server agents are offered",
		Long: `Sets which tools of a server agents are offered. Names are those that the server lists, or those that agents see (server__tool); *
stands for any characters. The tools for its resources and prompts (resources_list, resources_read, prompts_list, prompts_get) are
filtered, too. A list that is not given stays as it is.`,
		Example: `  jetclaw mcp tools files --include 'read_*,list_directory'
  jetclaw mcp tools files --exclude write_file
  jetclaw mcp tools files --clear`,
		Args: oneServer,
	}
	c.RunE = s.mcpRun(nil, func(ctx context.Context, args []string) error {
		f := c.Flags()
		listed := f.Changed("include") || f.Changed("exclude")
		if !listed && !remove {
			return usagef("specify --include, --exclude, or --clear\nSee %q.", c.CommandPath()+" --help")
		}
		file, err := s.mcpOpen("tools")
		if err != nil {
			return err
		}
		if _, err := file.get(args[0]); err != nil {
			return err
		}
		err = file.edit(ctx, args[0], func(d *definition.Definition) error {
			if remove {
				d.ToolFilter = nil
			}
			if err := o.filter(f, d); err != nil {
				return err
			}
			return validated(*d)
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.out, "Updated MCP tool selection for %q in %s.\n", args[0], file.path); err != nil {
			return err
		}
		file.takenUp(ctx)
		return nil
	})
	c.Flags().StringArrayVar(&o.include, "include", nil, "comma-separated `names` of tools, or globs with *, to offer to agents")
	c.Flags().StringArrayVar(&o.exclude, "exclude", nil, "comma-separated `names` of tools, or globs with *, to hide")
	c.Flags().BoolVar(&remove, "clear", false, "remove the filter")
	noCompletion(c, "include", "exclude")
	c.ValidArgsFunction = s.completeServer
	return c
}

func (s *shell) mcpSet() *cobra.Command {
	c := &cobra.Command{
		Use:   "set NAME JSON",
		Short: "Set an MCP server from a JSON object",
		Long: `Saves a server as a JSON object describes it, in place of the one of that name if there is one. - reads the object from stdin.
Nothing is connected to; jetclaw mcp doctor NAME --probe does.

The keys are those of jetclaw mcp show: command, args, env, cwd, or url, transport (streamable-http or sse; or type as other clients
have it), headers, auth, oauth, sslVerify, caCert, clientCert, clientKey; requestTimeoutMs, connectionTimeoutMs, idleTimeoutMs,
toolFilter, supportsParallelToolCalls, approval, scope, elicitation, roots, enabled.`,
		Example: `  jetclaw mcp set context7 '{"command":"uvx","args":["context7-mcp"]}'
  jetclaw mcp set docs '{"type":"http","url":"https://mcp.example.com/mcp"}'
  jetclaw mcp set tracker - < tracker.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%q takes the name of one MCP server and a JSON object\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			if err := definition.ValidName(args[0]); err != nil {
				return usagef("the name %q: %s", args[0], err)
			}
			return nil
		},
		RunE: s.mcpRun(nil, func(ctx context.Context, args []string) error { return s.setServer(ctx, args[0], args[1]) }),
	}
	c.ValidArgsFunction = s.completeServer
	return c
}

func (s *shell) setServer(ctx context.Context, name, text string) error {
	f, err := s.mcpOpen("set")
	if err != nil {
		return err
	}
	data := []byte(text)
	if text == "-" {
		if data, err = bounded(ctx, "stdin", s.in); err != nil {
			return err
		}
	}
	d, issues, err := definition.Parse(data)
	if err != nil {
		return usagef("%s", err)
	}
	if err := validated(d); err != nil {
		return err
	}
	err = registry.Edit(ctx, f.path, func(all map[string]definition.Definition) error {
		all[name] = d
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "Saved MCP server %q to %s.\n", name, f.path); err != nil {
		return err
	}
	s.warn(issues)
	f.introduce(ctx, name, d, nil)
	return nil
}
