package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

func (s *shell) backupCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the journal, timers, settings and large bodies to a folder, while work goes on",
		Long: `Copies all that was acknowledged before the command began, and more, into a folder that is empty or not there yet. The daemon
may run meanwhile. A backup that was interrupted leaves at most a folder DIR.partial-…, which may be removed.

The keys (keys/ in the home) and the configuration (jetclaw.yaml) are not in it: keep them apart, as safe as passwords.
Without the old keys a restored jetclaw makes new ones; approvals that were decided before are then not believed any more.
The backup itself holds every conversation, unencrypted.`,
		Example: `  jetclaw backup /backups/jetclaw-$(date +%F)
  jetclaw backup /backups/now --json | jq .events`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error { return s.backup(c.Context(), args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	folderCompletion(c)
	return c
}

// oneFolder wants the folder of a backup.
func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usagef("%q takes one folder\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	return nil
}

func folderCompletion(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

// backupReport is what `backup --json` and `restore --json` print.
type backupReport struct {
	Dir     string         `json:"dir"`
	Version string         `json:"version"` // the jetclaw that made it
	Began   time.Time      `json:"began"`
	Ended   time.Time      `json:"ended"`
	Events  uint64         `json:"events"`
	Bytes   int64          `json:"bytes"`
	Seconds float64        `json:"seconds"` // that this command took
	Streams []backedStream `json:"streams"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Refused string         `json:"refused,omitempty"` // why a restore would be refused now, of a dry run
}

type backedStream struct {
	Name      string `json:"name"`
	Messages  uint64 `json:"messages"`
	First     uint64 `json:"first"`
	Last      uint64 `json:"last"`
	Consumers int    `json:"consumers"`
	Bytes     int64  `json:"bytes"`
}

func newBackupReport(dir string, m backup.Manifest, began time.Time) backupReport {
	r := backupReport{
		Dir: dir, Version: m.Version, Began: m.Began, Ended: m.Ended, Events: m.Events(), Bytes: m.Bytes(),
		Seconds: time.Since(began).Seconds(),
	}
	for _, s := range m.Streams {
		r.Streams = append(r.Streams, backedStream{s.Name, s.Messages, s.First, s.Last, s.Consumers, s.Bytes})
	}
	return r
}

// what says what a backup holds.
func (r backupReport) what() string {
	return fmt.Sprintf("%d events (%s)", r.Events, megabytes(r.Bytes))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (s *shell) backup(ctx context.Context, dir string, asJSON bool) error {
	e, err := s.env("backup", slog.LevelWarn)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	var m backup.Manifest
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		progress := s.progress()
		m, err = backup.Save(ctx, owner, dir, backup.Options{Version: version().Version, Progress: progress.backup})
		progress.end()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if cerr := owner.Close(end); cerr != nil {
			e.Log.Debug("leave the bus", "error", cerr) // everything was answered: nothing is lost with the connection
		}
		return err
	})
	if err != nil {
		return err
	}
	r := newBackupReport(dir, m, began)
	if asJSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	_, err = fmt.Fprintf(s.out, "%s saved in %s in %.1f s; keep keys/ and jetclaw.yaml apart, they are not in it\n", r.what(), dir, r.Seconds)
	return err
}

// backup tells how far a backup or a restore is.
func (p *progress) backup(b backup.Progress) {
	now := time.Now()
	if p.out == nil || now.Sub(p.began) < progressFrom || now.Sub(p.shown) < progressEvery {
		return
	}
	p.shown = now
	how := fmt.Sprintf("%d of %d messages", b.Done, b.Total)
	if b.Doing != backup.Saving {
		how = megabytes(b.Done) + " of " + megabytes(b.Total)
	}
	fmt.Fprintf(p.out, "%s%s %s: %s", clearLine, b.Doing, b.Stream, how)
}
