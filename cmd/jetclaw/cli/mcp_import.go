package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/registry"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// importOptions are the flags of `mcp import`.
type importOptions struct{ dryRun, force bool }

func (s *shell) mcpImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Take over the MCP servers of another client",
		Long: `Adds the servers of a JSON file of another client: {"mcpServers": …} of Claude, Cursor or Gemini, or {"servers": …} of VS Code; - is
stdin. Nothing is connected to. It is all or nothing: a server that cannot be used, or that exists already without --force, is told and
nothing is saved. A name that jetclaw does not take is changed, which is told, too.`,
		Example: "  jetclaw mcp import ~/.claude.json --dry-run\n  jetclaw mcp import .cursor/mcp.json --force\n  jetclaw mcp import - < servers.json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes one file\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: s.mcpRun(nil, func(ctx context.Context, args []string) error { return s.importServers(ctx, args[0], o) }),
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be saved")
	c.Flags().BoolVar(&o.force, "force", false, "replace servers of the same name")
	return c
}

// maxMCPInput bounds a description of servers, in bytes. Files of other clients hold more than that.
const maxMCPInput = 16 << 20

// bounded reads what is to be a description of servers. The reader is left behind when the person has enough of waiting.
func bounded(ctx context.Context, name string, in io.Reader) ([]byte, error) {
	var data []byte
	var err error
	read := make(chan struct{}) // closed once data and err are there
	go func() {
		defer close(read)
		data, err = io.ReadAll(io.LimitReader(in, maxMCPInput+1))
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxMCPInput {
		return nil, usagef("%s is larger than %d bytes", name, maxMCPInput)
	}
	return data, nil
}

func (s *shell) importServers(ctx context.Context, file string, o importOptions) error {
	f, err := s.mcpOpen("import")
	if err != nil {
		return err
	}
	name, in := "stdin", s.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return usagef("%s", err)
		}
		defer opened.Close()
		name, in = file, opened
	}
	data, err := bounded(ctx, name, in)
	if err != nil {
		return err
	}
	found, issues, err := definition.ParseClients(data)
	if err != nil {
		return usagef("%s: %s", name, err)
	}
	s.warn(issues)
	wanted, err := s.named(found)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return &mcpRefusal{fmt.Sprintf("%s has no MCP servers", name)}
	}
	if o.dryRun {
		err = f.collides(wanted, f.servers, o.force)
	} else {
		err = registry.Edit(ctx, f.path, func(all map[string]definition.Definition) error {
			if err := f.collides(wanted, all, o.force); err != nil {
				return err
			}
			maps.Copy(all, wanted)
			return nil
		})
	}
	if err != nil {
		return err
	}
	return f.tellImported(ctx, wanted, o.dryRun)
}

// named are servers under names that jetclaw takes, and that are right.
func (s *shell) named(found map[string]definition.Definition) (map[string]definition.Definition, error) {
	wanted, from := map[string]definition.Definition{}, map[string]string{}
	var wrong []string
	for _, old := range slices.Sorted(maps.Keys(found)) {
		name := old
		if definition.ValidName(old) != nil {
			name = definition.NameFrom(old)
			fmt.Fprintf(s.err, "note: %q becomes %s\n", oneLine(old), name)
		}
		if other, taken := from[name]; taken {
			wrong = append(wrong, fmt.Sprintf("%q and %q would both be %s", oneLine(other), oneLine(old), name))
			continue
		}
		wanted[name], from[name] = found[old], old
		for _, i := range found[old].Validate() {
			wrong = append(wrong, name+": "+flat(i.Message))
		}
	}
	if len(wrong) > 0 {
		return nil, &mcpRefusal{"nothing was saved:\n  " + strings.Join(wrong, "\n  ")}
	}
	return wanted, nil
}

// collides says which servers exist already.
func (f *mcpFile) collides(wanted, all map[string]definition.Definition, force bool) error {
	var there []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, ok := all[name]; ok {
			there = append(there, name)
		}
	}
	if len(there) == 0 || force {
		return nil
	}
	return &mcpRefusal{fmt.Sprintf("already in %s: %s; nothing was saved. --force replaces them.", f.path, strings.Join(there, ", "))}
}

func (f *mcpFile) tellImported(ctx context.Context, wanted map[string]definition.Definition, dryRun bool) error {
	var b strings.Builder
	verb := "Imported"
	if dryRun {
		verb = "Would import"
	}
	fmt.Fprintf(&b, "%s %s to %s:\n", verb, plural(len(wanted), "MCP server", "MCP servers"), f.path)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		fmt.Fprintf(&b, "- %s: %s\n", name, flat(wanted[name].Launch()))
	}
	if _, err := f.s.out.Write([]byte(b.String())); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		for _, i := range wanted[name].Advice() {
			if i.Level == "warning" {
				fmt.Fprintf(f.s.err, "warning: %s: %s\n", name, flat(i.Message))
			}
		}
	}
	if dryRun {
		return nil
	}
	fmt.Fprintln(f.s.err, "note: jetclaw mcp doctor --probe checks them")
	f.takenUp(ctx)
	return nil
}

// mcpClients are the clients that servers can be exported for.
var mcpClients = []string{"claude", "codex", "gemini", "cursor"}

func (s *shell) mcpExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export claude|codex|gemini|cursor [NAME…]",
		Short: "Print MCP servers as the configuration of another client",
		Long: `Prints servers, or all of them, in the form that another client reads. References to secrets become what the client has for that;
they are never resolved. What jetclaw alone has, such as scope, is left out.`,
		Example: "  jetclaw mcp export claude > .mcp.json\n  jetclaw mcp export codex files >> ~/.codex/config.toml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || !slices.Contains(mcpClients, args[0]) {
				return usagef("%q takes %s and names of servers\nSee %q.", c.CommandPath(), strings.Join(mcpClients, ", "), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: s.mcpRun(nil, func(_ context.Context, args []string) error {
			f, err := s.mcpOpen("export")
			if err != nil {
				return err
			}
			chosen := f.servers
			if len(args) > 1 {
				chosen = map[string]definition.Definition{}
				for _, name := range args[1:] {
					d, err := f.get(name)
					if err != nil {
						return err
					}
					chosen[name] = d
				}
			}
			out, err := definition.Export(args[0], chosen)
			if err != nil {
				return err
			}
			_, err = s.out.Write(out)
			return err
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return mcpClients, cobra.ShellCompDirectiveNoFileComp
			}
			return s.serverNames(args[1:]), cobra.ShellCompDirectiveNoFileComp
		},
	}
	return c
}
