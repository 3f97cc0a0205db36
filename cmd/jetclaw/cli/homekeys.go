package cli

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

func (s *shell) keysCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make the keys of this home that are missing, and say who needs which",
		Long: `Makes every key in the home's folder keys that is not there yet, and starts nothing. In one process none of this is needed: each
is made when it is used first. Where every service runs by itself each gets its own files of this folder and no others; that is
what keeps a service that was broken into from being another.

Keys are never printed. To replace one, remove its file and run this again; deploy/RUNBOOK.md says what follows for each.`,
		Example: "  JETCLAW_HOME=./state jetclaw keys\n  jetclaw keys --json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			e, err := s.env("keys", slog.LevelWarn)
			if err != nil {
				return err
			}
			list, err := e.MakeKeys()
			if err != nil {
				return err
			}
			if asJSON {
				return s.writeJSON(map[string]any{"folder": e.Home.Keys(), "keys": list})
			}
			fmt.Fprintf(s.out, "%s\n", e.Home.Keys())
			for _, k := range list {
				fmt.Fprintf(s.out, "  %-18s %-26s %s\n", k.File, strings.Join(k.For, ", "), k.What)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}
