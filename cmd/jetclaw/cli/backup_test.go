package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus/backup"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// inside runs a command in this process, on the home of a user.
func (u *user) inside(command func(*shell) *cobra.Command, args ...string) (stdout, stderr string, err error) {
	u.t.Helper()
	var out, errs bytes.Buffer
	s := &shell{
		in: strings.NewReader(""), out: &out, err: &errs, rawErr: &errs, secrets: &logs.Redactor{},
		lookup: func(name string) (string, bool) { return u.home, name == home.EnvVar },
	}
	c := command(s)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetFlagErrorFunc(flagError)
	err = c.ExecuteContext(context.WithoutCancel(u.t.Context()))
	return out.String(), errs.String(), err
}

// TestBackupAndRestore: beside a daemon and without one; into the home that was wiped; refused wherever something could be lost.
func TestBackupAndRestore(t *testing.T) {
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	use := turnv1.Usage{Input: 100, Output: 20, Cost: 500, Priced: true}
	u.lived(past{"one", time.Now().Add(-time.Hour), "hi", "claude/big", use}, past{"two", time.Now(), "hello", "claude/big", use})
	d := u.start()
	dir := filepath.Join(t.TempDir(), "b")
	out, _, err := u.inside((*shell).backupCommand, dir, "--json")
	var r backupReport
	if derr := json.Unmarshal([]byte(out), &r); err != nil || derr != nil || r.Events != 8 || len(r.Streams) != 7 || r.Dir != dir {
		t.Fatalf("%v %v: %s", err, derr, out)
	}
	before := u.run("events", "--json").stdout
	_, _, err = u.inside((*shell).restoreCommand, dir, "--yes")
	var held *home.HeldError
	if !errors.As(err, &held) || exitCode(err) != exitHeld || held.Holder.PID != d.cmd.Process.Pid {
		t.Errorf("beside a daemon: %v", err)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if out, _, err := u.inside((*shell).backupCommand, filepath.Join(t.TempDir(), "c")); err != nil || !strings.HasPrefix(out, "8 events (") {
		t.Errorf("without a daemon: %v: %s", err, out)
	}
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{dir}, exitUsage, "--yes"},
		{[]string{}, exitUsage, "takes one folder"},
		{[]string{dir, "--yes"}, exitFailed, "the journal has events: 8 of them, up to cursor 8; a backup is restored where there is nothing to lose"},
		{[]string{t.TempDir(), "--yes"}, exitFailed, "there is no backup in "},
	} {
		if _, _, err := u.inside((*shell).restoreCommand, c.args...); err == nil || exitCode(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
	if out := u.run("events", "--json").stdout; out != before {
		t.Errorf("what was refused has changed something: %s\nwas %s", out, before)
	}
	if err := os.RemoveAll(filepath.Join(u.home, "data")); err != nil {
		t.Fatal(err)
	}
	if out := u.run("events", "--json"); out.stdout != "" { // it makes empty streams
		t.Errorf("%+v", out)
	}
	if out, _, err := u.inside((*shell).restoreCommand, dir, "--dry-run"); err != nil || !strings.Contains(out, " is whole: 8 events (") {
		t.Errorf("%v: %s", err, out)
	}
	broken := filepath.Join(u.home, "data", "restoring") // of one that was killed
	if err := os.MkdirAll(filepath.Join(broken, "jetstream", "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, told, err := u.inside((*shell).restoreCommand, dir, "--yes")
	if err != nil || !strings.HasPrefix(out, "8 events (") || !strings.Contains(told, "keys/") {
		t.Fatalf("%v: %s%s", err, out, told)
	}
	if _, err := os.Stat(broken); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if out := u.run("events", "--json").stdout; out != before {
		t.Errorf("%s\nwas %s", out, before)
	}
	u.run("chat", "--session", "one", "and on it goes").want(t, 0)
	if n := len(u.journal()); n != 12 {
		t.Errorf("%d events", n)
	}
}

func TestBackupOfADamagedFile(t *testing.T) {
	u := newUser(t, offlineYAML)
	dir := filepath.Join(t.TempDir(), "b")
	if _, _, err := u.inside((*shell).backupCommand, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "KV_settings"), 3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := u.inside((*shell).restoreCommand, dir, "--yes"); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), "KV_settings") {
		t.Errorf("%v", err)
	}
	if _, _, err := u.inside((*shell).backupCommand, dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
}
