package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/services/mcp"
)

func (s *shell) mcpReload() *cobra.Command {
	c := &cobra.Command{
		Use:   "reload",
		Short: "Connect anew to all MCP servers, and end pauses",
		Long: `Asks all running processes to read the configuration again, to end pauses, and to connect anew to servers. A change of jetclaw.yaml
needs no reload: it is taken up by itself. Exit code 1: the configuration cannot be read; the one before stays in force.`,
		Example: "  jetclaw mcp reload",
		Args:    noArguments,
		RunE: s.mcpRun(nil, func(ctx context.Context, _ []string) error {
			f, err := s.mcpOpen("reload")
			if err != nil {
				return err
			}
			var got mcp.Reloaded
			err = f.e.WithDaemon(ctx, func(ctx context.Context, c app.Client) (err error) {
				got, err = bus.Ask[mcp.Reloaded](ctx, c.Conn, mcp.Name, mcp.ReloadVerb, mcp.ReloadRequest{})
				return err
			})
			if errors.Is(err, home.ErrNoEndpoint) {
				_, err = fmt.Fprintf(s.out, "No jetclaw runs; the next one to start reads %s.\n", f.path)
				return err
			}
			if err != nil {
				return err
			}
			return s.tellReloaded(got)
		}),
	}
	noCompletion(c)
	return c
}

func (s *shell) tellReloaded(got mcp.Reloaded) error {
	text := "Reloaded; no MCP server is enabled."
	if len(got.Servers) > 0 {
		text = fmt.Sprintf("Reloaded %s: %s.", plural(len(got.Servers), "MCP server", "MCP servers"), flat(strings.Join(got.Servers, ", ")))
	}
	if len(got.Problems) > 0 {
		text = "The MCP servers stay as they were."
	}
	if _, err := fmt.Fprintln(s.out, text); err != nil {
		return err
	}
	if len(got.Resumed) > 0 {
		if _, err := fmt.Fprintf(s.out, "Resumed: %s.\n", flat(strings.Join(got.Resumed, ", "))); err != nil {
			return err
		}
	}
	for _, p := range got.Problems {
		fmt.Fprintf(s.err, "jetclaw: %s\n", flat(p))
	}
	if len(got.Problems) > 0 {
		return &toldError{exitFailed}
	}
	return nil
}
