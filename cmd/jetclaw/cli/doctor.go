package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

// finding is what `doctor` has to say about one thing.
type finding struct {
	Check string `json:"check"` // what was looked at: "configuration", "telegram mybot"
	Level level  `json:"level"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"` // what to do
}

type level string

const (
	fine    level = "ok"
	warning level = "warning" // it works, and somebody should know
	problem level = "problem" // something does not work
)

// examined is what `doctor --json` prints.
type examined struct {
	OK       bool      `json:"ok"` // no problem
	Findings []finding `json:"findings"`
}

func (x *examined) add(check string, l level, hint, format string, args ...any) {
	x.Findings = append(x.Findings, finding{Check: check, Level: l, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// doctorSpan is how far back is looked for what went wrong.
const doctorSpan = 7 * 24 * time.Hour

func (s *shell) doctorCommand() *cobra.Command {
	var (
		asJSON bool
		since  string
	)
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong",
		Long: `Looks at the configuration, the store, the channels, and at what could not be delivered lately, and says what to do.
It works beside a running daemon and without one, and changes nothing.

Exit code 1: there is a problem; 0: there are warnings at most. With --json it prints one object with ok and findings: check,
level (ok, warning, problem), text and hint of each.`,
		Example: "  jetclaw doctor\n  jetclaw doctor --since 24h --json | jq '.findings[] | select(.level != \"ok\")'",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			span := doctorSpan
			if since != "" {
				var err error
				if span, err = parseSpan(since); err != nil || span <= 0 {
					return usagef("--since %s is no duration (10m, 24h, 7d)", since)
				}
			}
			return s.doctor(c.Context(), span, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().StringVar(&since, "since", "", "how far back to look for what went wrong: 10m, 24h; 7d without it")
	noCompletion(c, "since")
	return c
}

func (s *shell) doctor(ctx context.Context, span time.Duration, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	x := &examined{Findings: []finding{}}
	if err := s.examine(ctx, x, span); err != nil {
		return err
	}
	x.OK = true
	for _, f := range x.Findings {
		x.OK = x.OK && f.Level != problem
	}
	if asJSON {
		if err := s.writeJSON(x); err != nil {
			return err
		}
	} else if err := s.showFindings(x); err != nil {
		return err
	}
	if !x.OK {
		return &toldError{exitFailed}
	}
	return nil
}

func (s *shell) showFindings(x *examined) error {
	mark := map[level]string{fine: "ok     ", warning: "warning", problem: "PROBLEM"}
	if s.colour(s.outTTY) {
		mark = map[level]string{fine: "\x1b[32mok\x1b[0m     ", warning: "\x1b[33mwarning\x1b[0m", problem: "\x1b[31mPROBLEM\x1b[0m"}
	}
	for _, f := range x.Findings {
		if _, err := fmt.Fprintf(s.out, "%s  %s: %s\n", mark[f.Level], flat(f.Check), flat(f.Text)); err != nil {
			return err
		}
		if f.Hint != "" {
			if _, err := fmt.Fprintf(s.out, "         %s\n", flat(f.Hint)); err != nil {
				return err
			}
		}
	}
	return nil
}

// examine looks at everything. An error means that it could not be looked.
func (s *shell) examine(ctx context.Context, x *examined, span time.Duration) error {
	e, err := s.env("doctor", slog.LevelError)
	if err != nil {
		if found := problemsOf(err); len(found) > 0 {
			for _, p := range found {
				x.add("configuration", problem, p.Hint, "%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Path, p.Text)
			}
			return nil
		}
		return err
	}
	e.Notice = func(text string) { x.add("configuration", warning, "", "%s", text) }
	warnings, err := app.CheckSecrets(e.Config, e.Home, s.lookup, s.secrets)
	for _, w := range warnings {
		x.add("configuration", warning, "", "%s", w)
	}
	found := problemsOf(err)
	for _, p := range found {
		x.add("configuration", problem, p.Hint, "%s", p.Text)
	}
	if err != nil && len(found) == 0 {
		return err
	}
	if err == nil {
		text := "is right"
		if _, err := os.Stat(e.Home.Config()); errors.Is(err, os.ErrNotExist) {
			text = "does not exist: the defaults hold"
		}
		x.add("configuration", fine, "", "%s %s", e.Home.Config(), text)
	}
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		if err := examineStore(ctx, x, e, c); err != nil {
			return err
		}
		s.examineBots(ctx, x, e, c)
		return examinePast(ctx, x, c, span)
	})
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// firstLine is a text of somebody else's as far as a line of a report shows it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
