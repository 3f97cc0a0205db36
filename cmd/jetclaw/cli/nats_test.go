package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
)

// What deploy/nats has is what these commands print.
func TestDeployedNATSFilesAreCurrent(t *testing.T) {
	for name, args := range map[string][]string{
		"users.conf": {"nats", "permissions", "--conf"},
		"nats.conf": {
			"nats", "config", "--name", "$NATS_NAME", "--listen", "0.0.0.0:4222", "--monitor", "$NATS_MONITOR", "--cluster-listen", "0.0.0.0:6222",
			"--routes", "$NATS_ROUTES", "--store", "/data", "--max-store", "$NATS_MAX_STORE",
			"--tls-ca", "/etc/nats/tls/ca.crt", "--tls-cert", "/etc/nats/tls/tls.crt", "--tls-key", "/etc/nats/tls/tls.key",
		},
	} {
		r := newUser(t, "").run(args...)
		r.want(t, 0)
		have, err := os.ReadFile(filepath.Join("../../../deploy/nats", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != r.stdout {
			t.Errorf("deploy/nats/%s is not current; write it anew: jetclaw '%s' > deploy/nats/%s", name, strings.Join(args, "' '"), name)
		}
	}
}

// A server that takes the printed file allows exactly what the embedded one does.
func TestPrintedPermissionsAreThoseOfTheEmbeddedServer(t *testing.T) {
	u := newUser(t, "")
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	made := u.run("nats", "keys", keys)
	made.want(t, 0)
	listed := filepath.Join(dir, "keys.conf")
	put(t, listed, made.stdout)
	seed, err := os.ReadFile(filepath.Join(keys, "turns.nk"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(made.stdout+made.stderr, strings.TrimSpace(string(seed))) {
		t.Fatal("a seed was printed")
	}
	if again := u.run("nats", "keys", keys); again.stdout != made.stdout {
		t.Error("the second time it made other keys")
	}
	users := u.run("nats", "permissions", "--conf")
	users.want(t, 0)
	put(t, filepath.Join(dir, "users.conf"), users.stdout)
	for how, args := range map[string][]string{"folder": {"--keys", keys}, "file": {"--keys", listed}, "included": nil} {
		r := u.run(append([]string{"nats", "config", "--name", "n1", "--store", dir}, args...)...)
		r.want(t, 0)
		path := filepath.Join(dir, "nats.conf")
		put(t, path, r.stdout)
		got, err := server.ProcessConfigFile(path)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		public, err := app.BusKeys(listed)
		if err != nil {
			t.Fatal(err)
		}
		var want []natsembed.User
		for _, b := range app.BusUsers() {
			want = append(want, natsembed.User{Name: b.Name, PublicKey: public[b.Name], Permissions: b.Permissions})
		}
		embedded := natsembed.NkeyUsers(want)
		if len(got.Nkeys) != len(embedded) {
			t.Fatalf("%s: %d users, want %d", how, len(got.Nkeys), len(embedded))
		}
		for i, nk := range got.Nkeys {
			if nk.Nkey != embedded[i].Nkey || !reflect.DeepEqual(nk.Permissions, embedded[i].Permissions) {
				t.Errorf("%s: %s: got %s\nwant %s", how, want[i].Name, shown(nk.Permissions), shown(embedded[i].Permissions))
			}
		}
	}
}

func shown(p *server.Permissions) string {
	b, _ := json.Marshal(p) // it is for a message only
	return string(b)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNATSConfigRefusesWhatIsOpen(t *testing.T) {
	u := newUser(t, "")
	u.run("nats", "config", "--name", "n1", "--store", "d", "--listen", "0.0.0.0:4222").want(t, exitUsage, "--plaintext")
	u.run("nats", "config", "--name", "n1", "--store", "d", "--routes", "nats://127.0.0.1:1").want(t, exitUsage, "--cluster-listen")
	u.run("nats", "config", "--name", "n1", "--store", "d", "--keys", t.TempDir()).want(t, exitSecrets, "jetclaw nats keys")
	u.run("nats", "permissions", "--user", "turn").want(t, exitUsage, "turns")
}
