package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
)

func (s *shell) sessionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, read, search, export and delete conversations",
		Long: `A session is one conversation: all that was said and done in it lies in the journal. Lists and searches are answered from a
read model that the daemon keeps; without a daemon it is opened in this process, and reads what is new in the journal before.`,
		Example: `  jetclaw sessions list
  jetclaw sessions show default
  jetclaw sessions search "train to Vienna"
  jetclaw sessions export work --format markdown --output work.md
  jetclaw sessions delete work
  jetclaw sessions prune --dormant 180d --dry-run`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.sessionsList(), s.sessionsShow(), s.sessionsSearch(), s.sessionsExport(), s.sessionsDelete(), s.pruneCommand(), s.sessionsReindex())
	noCompletion(c)
	return c
}

// pruneOptions are the flags of `sessions prune`.
type pruneOptions struct {
	dormant  string
	maxBytes string
	dryRun   bool
	yes      bool
	json     bool
}

func (s *shell) pruneCommand() *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune",
		Short: "Archive sessions that nobody has written to for a time, and remove them from the journal",
		Long: `Writes each dormant session to a file, one event a line as "jetclaw events --json" prints it, reads the file back, and
removes the session from the journal. A tombstone stays, with what the session has cost; a new message begins afresh.
A session that is at work, or where a message waits, always stays.

What is not given as a flag is taken from retention in the configuration, with which the daemon does the same by itself.
Sizes of sessions are estimates: the sum of their events' bodies and a flat rate for what surrounds them.
Bodies above 64 KiB are archived as parts of their events, attachments as files of their own in the folder files, by their SHA-256.`,
		Example: `  jetclaw sessions prune --dormant 180d --dry-run
  jetclaw sessions prune --dormant 180d --yes
  jetclaw sessions prune --max-bytes 2GiB`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.prune(c.Context(), o) },
	}
	c.Flags().StringVar(&o.dormant, "dormant", "", "sessions in which nothing has happened for so long (180d)")
	c.Flags().StringVar(&o.maxBytes, "max-bytes", "", "then the longest dormant ones, a day at least, until the journal is below (2GiB)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would go")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "dormant", "max-bytes")
	return c
}

// policy is what the flags say, and the configuration where they do not.
func (o pruneOptions) policy(c *config.Config, file string) (retention.Policy, error) {
	r := c.Retention
	if o.dormant != "" {
		given, err := retentionFlag("dormant", "dormant", o.dormant)
		if err != nil {
			return retention.Policy{}, err
		}
		r.Dormant = given.Dormant
	}
	if o.maxBytes != "" {
		given, err := retentionFlag("max-bytes", "max_bytes", o.maxBytes)
		if err != nil {
			return retention.Policy{}, err
		}
		r.MaxBytes = given.MaxBytes
	}
	p := retention.Policy{Dormant: time.Duration(r.Dormant), MaxBytes: int64(r.MaxBytes)}
	if p.Off() {
		return p, usagef("nothing says which sessions are to go: try --dormant 180d or --max-bytes 2GiB, or set retention.dormant or "+
			"retention.max_bytes in %s", file)
	}
	return p, nil
}

// retentionFlag reads a flag as the configuration would: the same units, the same bounds.
func retentionFlag(flag, key, value string) (config.Retention, error) {
	c, _, err := config.Parse("--"+flag, []byte("retention: {"+key+": "+strconv.QuoteToASCII(value)+"}"))
	var wrong *config.Error
	switch {
	case errors.As(err, &wrong):
		return config.Retention{}, usagef("--%s %s: %s", flag, value, wrong.Problems[0].Text)
	case err != nil:
		return config.Retention{}, err
	}
	return c.Retention, nil
}

func (s *shell) prune(ctx context.Context, o pruneOptions) error {
	if !o.yes && !o.dryRun && (!s.inTTY || !s.errTTY) {
		return usagef("there is no terminal to ask at: say --yes to archive and remove, or --dry-run to see what would go")
	}
	e, err := s.env("sessions prune", slog.LevelWarn)
	if err != nil {
		return err
	}
	policy, err := o.policy(e.Config, e.Home.Config())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		err = s.pruneOn(ctx, c.Conn, owner, o, retention.Config{Archive: e.Home.Resolve(e.Config.Retention.Archive), Policy: policy})
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if cerr := owner.Close(end); cerr != nil {
			e.Log.Debug("leave the bus", "error", cerr) // everything was answered: nothing is lost with the connection
		}
		return err
	})
}

// farewell bounds the end of a connection.
const farewell = 2 * time.Second

// pruneOn makes the plan and, if the person wants it, does it.
func (s *shell) pruneOn(ctx context.Context, conn, owner *bus.Conn, o pruneOptions, c retention.Config) error {
	progress := s.progress()
	defer progress.end()
	c.Bus, c.By, c.Step = retention.OnBus(conn, owner), "cli", progress.step
	p, err := retention.New(c)
	if err != nil {
		return err
	}
	plan, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	progress.end()
	r := pruneReport{shell: s, json: o.json, planned: plan, folder: c.Archive}
	if o.dryRun {
		return r.dryRun()
	}
	if !o.yes && !plan.Empty() {
		if err := r.show(s.err); err != nil {
			return err
		}
		if !s.confirm(ctx, fmt.Sprintf("archive to %s and remove from the journal?", c.Archive)) {
			return &toldError{exitFailed}
		}
	}
	err = p.Prune(ctx, plan, func(res retention.Result) {
		progress.end()
		r.add(res)
	})
	progress.end()
	return errors.Join(r.end(), err)
}

// confirm asks a person at the terminal.
func (s *shell) confirm(ctx context.Context, question string) bool {
	fmt.Fprintf(s.err, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() { // a read of a terminal cannot be cancelled; it ends with the process
		line, err := bufio.NewReader(s.in).ReadString('\n')
		if err != nil {
			line = ""
		}
		answered <- line
	}()
	select {
	case line := <-answered:
		answer := strings.ToLower(strings.TrimSpace(line))
		if answer == "y" || answer == "yes" {
			return true
		}
	case <-ctx.Done():
		fmt.Fprintln(s.err)
	}
	fmt.Fprintln(s.err, "nothing was changed")
	return false
}
