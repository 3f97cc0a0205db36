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

// restoreOptions are the flags of `restore`.
type restoreOptions struct {
	to       app.Away
	replicas int
	wait     time.Duration
	yes      bool
	dryRun   bool
	json     bool
}

func (s *shell) restoreCommand() *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Bring back what a backup holds, into a home whose journal is empty",
		Long: `Checks every file of a backup, then puts it in the place of the journal of this home, which has to be empty, and which
no daemon or conversation may have meanwhile. Interrupted, it has changed nothing.

With --nats it goes to a cluster instead, in the place of a journal that is empty, while no service runs there; the key of the
user admin is needed. It gets as many copies as --replicas or bus.replicas say, else as the empty journal there has. A cluster that has
just been started is waited for (--wait). One that failed removes what it had begun; run it again. The way back is "jetclaw backup"
with remote.url, and a restore into a home.

With --dry-run it checks the backup, says what is in it, and on stderr why a restore would be refused now, as of a journal that has
events; that is no error.

Restore only what you trust: checksums find damage, not malice, and who may talk to your agents is in a backup, too.

The keys (keys/ in the home) and the configuration (jetclaw.yaml) are not in a backup. Put the old ones in place first:
with new keys, approvals that were decided or parked before are not believed, and have to be asked for again.
What was under way when the backup was made goes on with the next "jetclaw run"; what was sent after it was made may be
sent again, and what was written after it is not there.`,
		Example: `  jetclaw restore /backups/jetclaw-2026-11-30
  jetclaw restore /backups/jetclaw-2026-11-30 --dry-run
  JETCLAW_HOME=/srv/other jetclaw restore /backups/jetclaw-2026-11-30 --yes
  jetclaw restore /backups/jetclaw-2026-11-30 --replicas 3 --nats tls://n1:4222 --creds /etc/jetclaw/keys --tls-ca ca.pem`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error { return s.restore(c.Context(), args[0], o) },
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	awayFlags(c, &o.to, "file, or folder with admin.nk, for --nats")
	replicasFlag(c, &o.replicas)
	c.Flags().DurationVar(&o.wait, "wait", waitForCluster, "with --nats: how long to wait for a cluster that cannot answer")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only check the backup, say what is in it, and why it would be refused")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	folderCompletion(c)
	return c
}

func (s *shell) restore(ctx context.Context, dir string, o restoreOptions) error {
	if err := o.to.Validate(); err != nil {
		return usagef("%s", err)
	}
	if o.replicas != 0 && o.to.URL == "" {
		return usagef("--replicas goes with --nats")
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
	e, err := s.env("restore", slog.LevelWarn)
	if err != nil {
		return err
	}
	if e, err = withReplicas(e, o.replicas); err != nil {
		return err
	}
	how := app.Restoring{Dir: dir, To: o.to, Patience: app.Patience{Within: o.wait, Tell: s.waitingFor("the cluster")}, Progress: progress.backup}
	if o.dryRun {
		m, err := backup.Check(ctx, dir, backup.Options{Progress: progress.backup})
		if err != nil {
			return err
		}
		progress.end()
		r := newBackupReport(dir, m, began)
		r.DryRun = true
		refusal, err := e.Refusal(ctx, how)
		if refusal != nil {
			r.Refused = refusal.Error()
		}
		return errors.Join(s.restored(r, o), err)
	}
	how.Agree = func(ctx context.Context, m backup.Manifest) error {
		progress.end()
		r := newBackupReport(dir, m, began)
		if !o.yes && !s.confirm(ctx, fmt.Sprintf("restore %s, made %s by jetclaw %s, into %s?", r.what(),
			m.Began.Local().Format(time.DateTime), flat(m.Version), cmp.Or(o.to.URL, e.Home.Dir()))) {
			return &toldError{exitFailed}
		}
		return nil
	}
	m, err := e.Restore(ctx, how)
	progress.end()
	if err != nil {
		return err
	}
	return s.restored(newBackupReport(dir, m, began), o)
}

func (s *shell) restored(r backupReport, o restoreOptions) error {
	if o.json {
		return json.NewEncoder(s.out).Encode(r)
	}
	made := fmt.Sprintf("made %s by jetclaw %s", r.Began.Local().Format(time.DateTime), flat(r.Version))
	if r.DryRun {
		_, err := fmt.Fprintf(s.out, "%s is whole: %s, %s\n", r.Dir, r.what(), made)
		if r.Refused != "" {
			fmt.Fprintf(s.err, "note: a restore would be refused now: %s\n", r.Refused)
		}
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s restored in %.1f s, %s\n", r.what(), r.Seconds, made)
	begin, look := "the next `jetclaw run`", "jetclaw doctor"
	if o.to.URL != "" {
		begin, look = "the services: start them on that bus now (`jetclaw run --target NAME --nats …`)", "jetclaw doctor --nats …"
	}
	_, nerr := fmt.Fprintf(s.err, "note: what was under way then goes on with %s; what was sent after the backup may be sent again\n"+
		"note: `%s` looks whether anything is stuck, and with --repair wakes it\n"+
		"note: approvals from before need the old keys/, which are not in a backup\n", begin, look)
	return errors.Join(err, nerr)
}
