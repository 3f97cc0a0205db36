package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
)

func (s *shell) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Check or show the configuration",
		Long:    "The configuration is jetclaw.yaml in the home; everything in it has a default.",
		Example: "  jetclaw config check\n  jetclaw config show > jetclaw.yaml",
		Args:    noSuchCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.configCheck(), s.configShow())
	for _, sub := range c.Commands() {
		noCompletion(sub)
	}
	noCompletion(c)
	return c
}

func (s *shell) configCheck() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check jetclaw.yaml and the secrets that it names",
		Long: `Reads jetclaw.yaml strictly and resolves the secrets that are in use. Problems are told with line and column.
Exit code 10: the file is wrong; 11: a secret cannot be had.`,
		Example: "  jetclaw config check\n  JETCLAW_HOME=/srv/jetclaw jetclaw config check --json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return s.checkConfig(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

// checked is what `config check --json` prints.
type checked struct {
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Problems []config.Problem `json:"problems"`
	Warnings []config.Warning `json:"warnings"`
}

func (s *shell) checkConfig(asJSON bool) error {
	h, err := home.Find(s.lookup)
	if err != nil {
		return usagef("%s", err)
	}
	res := checked{File: h.Config(), Problems: []config.Problem{}, Warnings: []config.Warning{}}
	c, warnings, err := config.Load(h.Config())
	if err == nil {
		var more []config.Warning
		more, err = app.CheckSecrets(c, h, s.lookup, s.secrets)
		res.Warnings = append(append(res.Warnings, warnings...), more...)
	}
	res.Problems = append(res.Problems, problemsOf(err)...)
	res.OK = err == nil
	if asJSON {
		if jerr := json.NewEncoder(s.out).Encode(res); jerr != nil {
			return jerr
		}
		if err != nil {
			return &toldError{exitCode(err)}
		}
		return nil
	}
	for _, w := range res.Warnings {
		fmt.Fprintf(s.err, "warning: %s\n", w)
	}
	if err != nil {
		return err
	}
	text := "is right"
	if _, serr := os.Stat(h.Config()); errors.Is(serr, os.ErrNotExist) {
		text = "does not exist: the defaults hold"
	}
	_, err = fmt.Fprintf(s.out, "%s %s\n", h.Config(), text)
	return err
}

// problemsOf takes an error of a check apart.
func problemsOf(err error) (all []config.Problem) {
	if several, ok := err.(interface{ Unwrap() []error }); ok { // made by errors.Join
		for _, e := range several.Unwrap() {
			all = append(all, problemsOf(e)...)
		}
		slices.SortStableFunc(all, config.Problem.Compare)
		return all
	}
	var (
		wrong   *config.Error
		secret  *config.SecretError
		environ *models.EnvError
	)
	switch {
	case errors.As(err, &wrong):
		return wrong.Problems
	case errors.As(err, &secret):
		return []config.Problem{secret.Problem()}
	case errors.As(err, &environ):
		return []config.Problem{{Path: environ.Name, Text: environ.Text}}
	}
	return nil
}

func (s *shell) configShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Show the configuration in force, defaults included",
		Long:    "Prints the configuration in force as YAML, defaults included. Secrets are shown as references, never as values.",
		Example: "  jetclaw config show",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, c, err := s.load(true)
			if err != nil {
				return err
			}
			out, err := c.YAML()
			if err != nil {
				return err
			}
			_, err = s.out.Write(out)
			return err
		},
	}
}
