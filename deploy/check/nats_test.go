package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// natsFolder is /etc/nats of a node, as compose mounts it.
func natsFolder(t *testing.T, node string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	state := filepath.Join(prepared(t), "compose", "state")
	for _, f := range []string{"nats.conf", "users.conf", "keys.conf"} {
		text := readFile(t, filepath.Join(state, "nats", f))
		text = strings.ReplaceAll(text, `"/etc/nats/tls/ca.crt"`, `"`+filepath.Join(state, "tls", "ca.crt")+`"`)
		text = strings.ReplaceAll(text, `"/etc/nats/tls/tls.`, `"`+filepath.Join(state, "tls", node+"."))
		text = strings.ReplaceAll(text, `"/data"`, `"`+filepath.Join(dir, "data")+`"`)
		if strings.Contains(text, "/etc/nats") {
			t.Fatalf("%s: a path that this test does not know:\n%s", f, text)
		}
		writeFile(t, filepath.Join(dir, f), text)
	}
	return dir, append(os.Environ(), "NATS_NAME=n1", "NATS_ADVERTISE=n1:6222", "NATS_ROUTES=[tls://n1:6222, tls://n2:6222, tls://n3:6222]", "NATS_MAX_STORE=1GB", "NATS_MONITOR=127.0.0.1:8222")
}

// TestNATSConfiguration is nats-server -t, with keys and certificates as ./prepare makes them.
func TestNATSConfiguration(t *testing.T) {
	dir, env := natsFolder(t, "n1")
	c := exec.Command(natsServerPath(t), "-t", "-c", filepath.Join(dir, "nats.conf"))
	c.Env = env
	if out := run(t, c); !strings.Contains(out, "valid") {
		t.Errorf("got %s", out)
	}
	// And it is a test that can fail: a user without a key is an error.
	writeFile(t, filepath.Join(dir, "keys.conf"), "NKEY_ADMIN: \"UA\"\n")
	c = exec.Command(natsServerPath(t), "-t", "-c", filepath.Join(dir, "nats.conf"))
	c.Env = env
	if out, err := c.CombinedOutput(); err == nil {
		t.Errorf("without keys: %s", out)
	}
}
