package check

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var preparation = struct { //nolint:gochecknoglobals // run once for all tests
	sync.Once
	dir string
	err error
	out []byte
}{}

// prepared is a copy of deploy/ in which compose/prepare has run.
func prepared(t *testing.T) string {
	t.Helper()
	tool(t, "openssl", "openssl")
	binary := jetclaw(t)
	preparation.Do(func() {
		preparation.dir = filepath.Join(imageDir(t)+"-prepared", "deploy")
		for _, part := range []string{"compose", "nats", "prometheus", "dashboards"} {
			if preparation.err = copyTree(filepath.Join(deployDir, part), filepath.Join(preparation.dir, part)); preparation.err != nil {
				return
			}
		}
		c := exec.Command(filepath.Join(preparation.dir, "compose", "prepare"))
		c.Env = append(os.Environ(), "JETCLAW="+binary)
		preparation.out, preparation.err = c.CombinedOutput()
	})
	if preparation.err != nil {
		t.Fatalf("compose/prepare: %v\n%s", preparation.err, preparation.out)
	}
	return preparation.dir
}

// copyTree leaves out what git does not have.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if rel == "state" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if rel == ".env" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, st.Mode().Perm())
	})
}

func readable(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// What is prepared is its owner's alone, and a second time everything is left as it is.
func TestPrepare(t *testing.T) {
	dir := prepared(t)
	state := filepath.Join(dir, "compose", "state")
	before := map[string]string{}
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %04o", path, st.Mode().Perm())
		}
		if !d.IsDir() {
			before[path] = readFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 20 {
		t.Errorf("only %d files", len(before))
	}
	c := exec.Command(filepath.Join(dir, "compose", "prepare"))
	c.Env = append(os.Environ(), "JETCLAW="+jetclaw(t))
	run(t, c)
	for path, was := range before {
		if readFile(t, path) != was {
			t.Errorf("%s is another one now", path)
		}
	}
	env := readFile(t, filepath.Join(dir, "compose", ".env"))
	if strings.Contains(env, "JETCLAW_UID=0\n") || !strings.Contains(env, "JETCLAW_UID=") {
		t.Errorf(".env: %q", env)
	}
	for _, name := range []string{"n1", "n2", "n3", "http"} {
		run(t, exec.Command("openssl", "verify", "-CAfile", filepath.Join(state, "tls", "ca.crt"), filepath.Join(state, "tls", name+".crt")))
	}
}
