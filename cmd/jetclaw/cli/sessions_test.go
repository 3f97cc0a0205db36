package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// aged is a home with an old session, an older one, and one of today.
func aged(t *testing.T, yaml string) *user {
	t.Helper()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n"+yaml)
	use := turnv1.Usage{Input: 100, Output: 20, Cost: 500, Priced: true}
	u.lived(
		past{"old", time.Now().AddDate(0, 0, -200), "hi", "claude/big", use},
		past{"older", time.Now().AddDate(0, 0, -300), "hi", "claude/big", use},
		past{"older", time.Now().AddDate(0, 0, -299), "hi again", "claude/big", use},
		past{"new", time.Now(), "hi", "claude/big", use},
	)
	return u
}

func TestPrune(t *testing.T) {
	t.Parallel()
	u := aged(t, "retention: {dormant: 250d}\n")
	usage, before := u.run("usage", "--by", "session", "--json").stdout, u.run("events", "--json", "--session", "older").stdout
	dry := u.run("sessions", "prune", "--dry-run")
	dry.want(t, 0)
	if !strings.Contains(dry.stdout, "main.terminal.local.older  20") || strings.Contains(dry.stdout, "local.old ") ||
		!strings.Contains(dry.stdout, "total of 1 session ") {
		t.Errorf("%s", dry.stdout)
	}
	if _, err := os.Stat(filepath.Join(u.home, "archive")); !os.IsNotExist(err) {
		t.Errorf("a dry run has archived something: %v", err)
	}
	file := "main.terminal.local.older-12.jsonl.gz"
	r := u.run("sessions", "prune", "--yes")
	r.want(t, 0)
	if !strings.HasPrefix(r.stdout, "main.terminal.local.older: 8 events to "+file+"\n1 session with 8 events") {
		t.Errorf("%s", r.stdout)
	}
	left := u.journal("--session", "older")
	if !slices.Equal(types(left), []string{"session.deleted.v1"}) {
		t.Errorf("%+v", left)
	}
	if n := strings.Count(before, "\n"); n != 8 || len(u.journal()) != 9 {
		t.Errorf("%d events before, %d of all after", n, len(u.journal()))
	}
	if after := u.run("usage", "--by", "session", "--json").stdout; after != usage {
		t.Errorf("%s\nwas %s", after, usage)
	}

	d := u.start() // and beside a daemon
	r = u.run("sessions", "prune", "--yes", "--dormant", "100d", "--json")
	r.want(t, 0)
	var got prunedAll
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if len(got.Sessions) != 1 || got.Sessions[0].Session != "main.terminal.local.old" || got.Sessions[0].Events != 4 || got.Total.Sessions != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(filepath.Join(got.Archive, got.Sessions[0].File)); err != nil {
		t.Error(err)
	}
	u.run("chat", "--session", "older", "back again").want(t, 0)
	if got := types(u.journal("--session", "older")); !slices.Equal(got, append([]string{"session.deleted.v1"}, aTurn()...)) {
		t.Errorf("%q", got)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if r := u.run("events"); !strings.Contains(r.stdout, "session.deleted") || r.code != 0 {
		t.Errorf("%+v", r)
	}
}
