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
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
)

// doctorOptions are the flags of `doctor`.
type doctorOptions struct {
	since  string
	deep   bool
	repair bool
	probe  bool
	json   bool
	at     app.Away

	span time.Duration // since, read
}

// doctorSpan is how far back is looked for what went wrong.
const doctorSpan = 7 * 24 * time.Hour

func (s *shell) doctorCommand() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and repair what can be",
		Long: `Looks at everything that can be wrong with a jetclaw, and says what to do: the configuration, who can read the home's files, the
store and its streams, the chain that joins a session's events, sessions whose next step nobody will be woken for, doorbells that
were given up, consumers, the read model, snapshots, channels, and what could not be delivered lately. It works beside a running
daemon and without one, and changes nothing unless it is told to.

It takes about a second, whatever the size of the journal: chains and snapshots are sampled, and of sessions those that have
something open are looked at. With --deep it reads the whole journal.

With --repair it rings the service that a stuck session waits for (as a timer does; that is safe at any time), brings back streams
and consumers that are missing (not those of a server elsewhere, whose owner does that), and takes rights to files away from
others; then, beside a daemon, it looks whether that has helped.

With --probe it also asks the servers of all models for a list of what they have: that costs no tokens.

With --nats it looks at a cluster, instead of at what remote.url of the configuration names, or the home's own. Most of that needs the
key of the user admin; with that of cli alone it says what it could not look at.

Exit code 0: all is well, or there are warnings at most; 1: there is a problem. Where the bus could not be looked at, that is told
as a problem, too, and the exit code is the one of all commands: 11, 12 or 13.

With --json it prints one object with ok and findings. A finding has id (of its kind: "session.stuck", "chain.hole"), severity (ok,
warning, problem), check, text, and where there is any evidence (an object that depends on the id) and fix. The id of a check that
could not be made ends in ".unknown".`,
		Example: `  jetclaw doctor
  jetclaw doctor --repair
  jetclaw doctor --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem
  jetclaw doctor --deep --json | jq '.findings[] | select(.severity != "ok")'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.span = doctorSpan
			if o.since != "" {
				var err error
				if o.span, err = parseSpan(o.since); err != nil || o.span <= 0 {
					return usagef("--since %s is no duration (10m, 24h, 7d)", o.since)
				}
			}
			if err := o.at.Validate(); err != nil {
				return usagef("%s", err)
			}
			return s.doctor(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.repair, "repair", false, "repair what can be")
	c.Flags().BoolVar(&o.deep, "deep", false, "look at the whole journal")
	c.Flags().BoolVar(&o.probe, "probe", false, "ask the servers of models whether they are there")
	c.Flags().StringVar(&o.since, "since", "", "how far back to look for what went wrong: 10m, 24h; 7d without it")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	awayFlags(c, &o.at, "folder with cli.nk and admin.nk, for --nats")
	noCompletion(c, "since")
	return c
}

func (s *shell) doctor(ctx context.Context, o doctorOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	x := &examination{s: s, o: o}
	if err := x.all(ctx); err != nil {
		return err
	}
	x.report.Close()
	if o.json {
		if err := s.writeJSON(x.report); err != nil {
			return err
		}
	} else if err := s.showFindings(x.report); err != nil {
		return err
	}
	if !x.report.OK {
		return &toldError{max(exitFailed, x.code)}
	}
	return nil
}

// all looks at everything. An error means that it could not be looked.
func (x *examination) all(ctx context.Context) error {
	e, err := x.s.env("doctor", slog.LevelError)
	if err != nil {
		if found := problemsOf(err); len(found) > 0 {
			for _, p := range found {
				x.report.Sayf("config.problem", health.Problem, "configuration", p.Hint, "%s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Path, p.Text)
			}
			return nil
		}
		return err
	}
	e.Silent = true
	if e, err = e.At(x.o.at); err != nil {
		return err
	}
	x.e = e
	if err := x.configuration(); err != nil {
		return err
	}
	x.files()
	err = x.e.WithReading(ctx, x.journal)
	if err != nil && ctx.Err() == nil {
		x.report.Sayf("bus.unreachable", health.Problem, "bus", advice(err), "%s", err)
		x.code = exitCode(err)
		return nil
	}
	return err
}

func (x *examination) configuration() error {
	x.e.Notice = func(text string) { x.report.Sayf("config.warning", health.Warning, "configuration", "", "%s", text) }
	warnings, err := app.CheckSecrets(x.e.Config, x.e.Home, x.s.lookup, x.s.secrets)
	for _, w := range warnings {
		x.report.Sayf("config.warning", health.Warning, "configuration", "", "%s", w)
	}
	found := problemsOf(err)
	for _, p := range found {
		x.report.Sayf("config.problem", health.Problem, "configuration", p.Hint, "%s", p.Text)
	}
	if err != nil && len(found) == 0 {
		return err
	}
	if err == nil {
		text := "is right"
		if _, err := os.Stat(x.e.Home.Config()); errors.Is(err, os.ErrNotExist) {
			text = "does not exist: the defaults hold"
		}
		x.report.Sayf("config.ok", health.Fine, "configuration", "", "%s %s", x.e.Home.Config(), text)
	}
	return nil
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
