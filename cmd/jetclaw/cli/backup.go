package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// restoreOptions are the flags of `restore`.
type restoreOptions struct {
	to     app.Away
	yes    bool
	dryRun bool
	json   bool
}

func (s *shell) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Bring back what a backup holds, into a home whose journal is empty",
		Long: `Checks every file of a backup, then puts it in the place of the journal of this home, which has to be empty, and which
no daemon or conversation may have meanwhile. Interrupted, it has changed nothing.

With --nats it goes to a cluster instead, in the place of a journal that is empty, while no service runs there; the key of the
user admin is needed. It gets as many copies as bus.replicas says, else as the empty journal there has. A cluster that has
just been started may refuse a stream ("no responders"): run it again; a restore there that failed may have left streams behind,
which "jetclaw topology apply --yes" brings to their copies. The way back is "jetclaw backup" with remote.url, and a restore
into a home.

Restore only what you trust: checksums find damage, not malice, and who may talk to your agents is in a backup, too.

The keys (keys/ in the home) and the configuration (jetclaw.yaml) are not in a backup. Put the old ones in place first:
with new keys, approvals that were decided or parked before are not believed, and have to be asked for again.
What was under way when the backup was made goes on with the next "jetclaw run"; what was sent after it was made may be
sent again, and what was written after it is not there.`,
		Example: `  jetclaw restore /backups/jetclaw-2026-11-30
  jetclaw restore /backups/jetclaw-2026-11-30 --dry-run
  JETCLAW_HOME=/srv/other jetclaw restore /backups/jetclaw-2026-11-30 --yes
  jetclaw restore /backups/jetclaw-2026-11-30 --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error { return s.restore(c.Context(), args[0], o) },
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	awayFlags(c, &o.to, "file, or folder with admin.nk, for --nats")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only check the backup, and say what is in it")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	folderCompletion(c)
	return c
}

func (s *shell) restore(ctx context.Context, dir string, o restoreOptions) error {
	if err := o.to.Validate(); err != nil {
		return usagef("%s", err)
	}
	if !o.yes && !o.dryRun && (!s.inTTY || !s.errTTY) {
		return usagef("there is no terminal to ask at: say --yes to restore, or --dry-run to check the backup only")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	progress := s.progress()
	defer progress.end()
	if o.dryRun {
		m, err := backup.Check(ctx, dir, backup.Options{Progress: progress.backup})
		if err != nil {
			return err
		}
		progress.end()
		r := newBackupReport(dir, m, began)
		r.DryRun = true
		return s.restored(r, o.json)
	}
	e, err := s.env("restore", slog.LevelWarn)
	if err != nil {
		return err
	}
	m, err := e.Restore(ctx, app.Restoring{
		Dir: dir, To: o.to, Progress: progress.backup,
		Agree: func(ctx context.Context, m backup.Manifest) error {
			progress.end()
			r := newBackupReport(dir, m, began)
			if !o.yes && !s.confirm(ctx, fmt.Sprintf("restore %s, made %s by jetclaw %s, into %s?", r.what(),
				m.Began.Local().Format(time.DateTime), flat(m.Version), cmp.Or(o.to.URL, e.Home.Dir()))) {
				return &toldError{exitFailed}
			}
			return nil
		},
	})
	progress.end()
	if err != nil {
		return err
	}
	return s.restored(newBackupReport(dir, m, began), o.json)
}

func (s *shell) restored(r backupReport, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	made := fmt.Sprintf("made %s by jetclaw %s", r.Began.Local().Format(time.DateTime), flat(r.Version))
	if r.DryRun {
		_, err := fmt.Fprintf(s.out, "%s is whole: %s, %s\n", r.Dir, r.what(), made)
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s restored in %.1f s, %s\n", r.what(), r.Seconds, made)
	_, nerr := fmt.Fprint(s.err, "note: what was under way then goes on with the next `jetclaw run`; what was sent after the backup may be sent again\n"+
		"note: `jetclaw doctor` looks whether anything is stuck, and `jetclaw doctor --repair` wakes it\n"+
		"note: approvals from before need the old keys/, which are not in a backup\n")
	return errors.Join(err, nerr)
}
