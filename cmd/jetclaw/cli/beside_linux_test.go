package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestBesideServices: what may not be done while services run on a bus elsewhere is refused, and can be done once they have stopped.
func TestBesideServices(t *testing.T) {
	t.Parallel()
	other := newUser(t, quietYAML)
	other.run("chat", "hello").want(t, 0)
	backup := filepath.Join(t.TempDir(), "backup")
	other.run("backup", backup).want(t, 0)

	u := newUser(t, quietYAML)
	c := newNodes(t, u, 1)
	at := []string{"--nats", c.url, "--creds", c.keys}
	with := func(args ...string) []string { return append(args, at...) }
	u.run(with("topology", "apply")...).want(t, 0)
	run := func(target string) *daemon { return u.start(with("--target", target)...) }
	turns, reading := run("turns"), run("conversations")

	r := u.run(with("run", "--target", "conversations")...)
	r.want(t, exitHeld, "each process of conversations needs a home of its own (JETCLAW_HOME)", "stop it (kill ")
	if strings.Contains(r.stderr, "for itself") {
		t.Errorf("a service has no home for itself: %s", r.stderr)
	}
	for _, args := range [][]string{with("restore", backup, "--yes"), with("restore", backup, "--dry-run")} {
		r := u.run(args...)
		if !strings.Contains(r.stderr, "services run on this bus: stop them first (turns)") || (r.code == 0) != (args[2] == "--dry-run") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	for _, d := range []*daemon{turns, reading} {
		if code := d.stop(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	u.run(with("restore", backup, "--yes")...).want(t, 0)
	r = u.run(with("doctor")...)
	r.want(t, 0)
	if strings.Contains(r.stdout, "is away or behind") {
		t.Errorf("one server has all copies: %s", r.stdout)
	}
}
