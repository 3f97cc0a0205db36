package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the configured MCP servers",
		Long: `Lists the servers under mcp.servers in jetclaw.yaml, by name. Nothing is started.

With --json it prints one object: by name what is configured of each server. Secrets are shown as ***, references to secrets
(env:NAME, file:PATH, ${NAME}) as they are.`,
		Example: "  jetclaw mcp list\n  jetclaw mcp list --json | jq keys",
		Args:    noArguments,
		RunE: s.mcpRun(&asJSON, func(context.Context, []string) error {
			f, err := s.mcpOpen("list")
			if err != nil {
				return err
			}
			if asJSON {
				return s.writeJSON(redactedAll(f.servers))
			}
			return f.list()
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

func (f *mcpFile) list() error {
	if len(f.servers) == 0 {
		_, err := fmt.Fprintf(f.s.out, "No MCP servers configured in %s. Add one with jetclaw mcp add <name> -- <command>.\n", f.path)
		return err
	}
	if _, err := fmt.Fprintf(f.s.out, "MCP servers (%s):\n", f.path); err != nil {
		return err
	}
	for _, name := range f.names() {
		if _, err := fmt.Fprintf(f.s.out, "- %s\n", flat(name)); err != nil {
			return err
		}
	}
	return nil
}

// redactedAll are servers without their secrets.
func redactedAll(servers map[string]definition.Definition) map[string]definition.Definition {
	all := make(map[string]definition.Definition, len(servers))
	for name, d := range servers {
		all[name] = d.Redacted()
	}
	return all
}

func (s *shell) mcpShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show what is configured of one MCP server, or of all",
		Long: `Shows a server as jetclaw.yaml has it, as JSON that jetclaw mcp set takes. Without a name it shows all servers.

Secrets are shown as ***, references to secrets (env:NAME, file:PATH, ${NAME}) as they are.`,
		Example: "  jetclaw mcp show files\n  jetclaw mcp show files --json | jq .args",
		Args:    maybeServer,
		RunE: s.mcpRun(&asJSON, func(_ context.Context, args []string) error {
			f, err := s.mcpOpen("show")
			if err != nil {
				return err
			}
			var what any = redactedAll(f.servers)
			title := "MCP servers"
			if len(args) > 0 {
				d, err := f.get(args[0])
				if err != nil {
					return err
				}
				what, title = d.Redacted(), fmt.Sprintf("MCP server %q", args[0])
			}
			if asJSON {
				return s.writeJSON(what)
			}
			text, err := indented(what)
			if err == nil {
				_, err = fmt.Fprintf(s.out, "%s (%s):\n%s\n", title, f.path, text)
			}
			return err
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeServer
	return c
}
