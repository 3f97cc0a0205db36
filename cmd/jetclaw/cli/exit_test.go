package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asking are commands that need a bus, in their ways to use it.
var asking = [][]string{ //nolint:gochecknoglobals // a constant
	{"chat", "hi"},
	{"events"},
	{"sessions", "list"},
	{"approvals", "list"},
	{"dead", "list"},
	{"usage"},
	{"explain", "x"},
	{"diff", "a", "b"},
	{"replay", "--all"},
	{"mcp", "reload"},
	{"pairing", "list"},
	{"sessions", "delete", "x", "--yes"},
	{"policy", "dry-run"},
	{"context", "x"},
}

// TestExitCodesOfABusElsewhere: 13 where the bus cannot be used, 11 where the key is why; whatever is asked.
func TestExitCodesOfABusElsewhere(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	c := newNodes(t, u, 1)
	remote := func(url, creds string) {
		u.write("jetclaw.yaml", fmt.Sprintf("%sremote: {url: %q, creds: %q}\n", offlineYAML, url, creds))
	}
	const nobody = "nats://127.0.0.1:1"
	remote(nobody, "keys")
	for _, args := range append(asking, []string{"doctor"}) {
		if r := u.run(args...); r.code != exitStore || !strings.Contains(r.stdout+r.stderr, "connect to "+nobody) {
			t.Errorf("nobody is there: %q: %+v", args, r)
		}
	}
	remote(c.url, "keys")
	for _, args := range append(asking, []string{"backup", filepath.Join(t.TempDir(), "b")}) {
		u.run(args...).want(t, exitStore, "stream EV; `jetclaw topology apply` makes it")
	}
	for _, target := range []string{"turns", "intake", "conversations"} {
		r := u.run("run", "--target", target, "--nats", c.url, "--creds", filepath.Join(c.keys, target+".nk"))
		r.want(t, exitStore, "stream EV; `jetclaw topology apply` makes it")
		if strings.Contains(r.stderr, "note: ") { // of a service that does not run
			t.Errorf("%s: %s", target, r.stderr)
		}
	}

	foreign := filepath.Join(t.TempDir(), "foreign")
	u.run("nats", "keys", foreign).want(t, 0)
	remote(c.url, foreign)
	for _, args := range append(asking, []string{"doctor"}) {
		if args[0] == "mcp" { // it goes on with what it can find out by itself
			continue
		}
		if r := u.run(args...); r.code != exitSecrets || !strings.Contains(r.stdout+r.stderr, "refuses the user cli: its key is not one that this server knows") {
			t.Errorf("a key that is not known: %q: %+v", args, r)
		}
	}
	others := filepath.Join(t.TempDir(), "others.nk")
	seed, err := os.ReadFile(filepath.Join(c.keys, "turns.nk"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, others, string(seed))
	remote(c.url, others)
	u.run("sessions", "list").want(t, exitSecrets, "its key is that of another user")

	for name, args := range map[string][]string{
		"another file":   {"topology", "plan", "--nats", c.url, "--creds", filepath.Join(c.keys, "turns.nk")},
		"another key":    {"topology", "plan", "--nats", c.url, "--creds", others},
		"no such key":    {"topology", "plan", "--nats", c.url, "--creds", foreign},
		"of a service":   {"run", "--target", "tools", "--nats", c.url, "--creds", others},
		"not known":      {"run", "--target", "tools", "--nats", c.url, "--creds", filepath.Join(foreign, "tools.nk")},
		"another's file": {"run", "--target", "tools", "--nats", c.url, "--creds", filepath.Join(c.keys, "turns.nk")},
	} {
		r := u.run(args...)
		r.want(t, exitSecrets)
		if strings.Contains(r.stderr, "does not exist") {
			t.Errorf("%s: %s", name, r.stderr)
		}
	}
	u.run("run", "--target", "turns").want(t, exitStore, "no NATS server")
}
