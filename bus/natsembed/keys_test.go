package natsembed

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	first, err := Keys(dir, "turns", "cli")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Keys(dir, "turns", "intake")
	if err != nil {
		t.Fatal(err)
	}
	if first["turns"].Public != again["turns"].Public || !bytes.Equal(first["turns"].Seed(), again["turns"].Seed()) {
		t.Error("a key changed")
	}
	if first["turns"].Public == first["cli"].Public {
		t.Error("two users share a key")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%q, %v", files, err)
	}
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(hidden) != 0 {
		t.Errorf("left behind: %q, %v", hidden, err)
	}
}

func TestKeysMadeAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	publics := map[string]bool{}
	for range 20 {
		wg.Go(func() {
			k, err := Keys(dir, "turns")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			publics[k["turns"].Public] = true
		})
	}
	wg.Wait()
	if len(publics) != 1 {
		t.Errorf("%d different keys", len(publics))
	}
}

func TestKeysRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, dir, file string) error
		want  string
	}{
		"wide directory": {func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o755) }, "chmod 0700"},
		"wide file":      {func(_ *testing.T, _, file string) error { return os.Chmod(file, 0o640) }, "chmod 0600"},
		"garbage":        {func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte("SUAMGARBAGE"), 0o600) }, "does not hold"},
		"no file": {func(_ *testing.T, _, file string) error {
			return errors.Join(os.Remove(file), os.Symlink("/etc/hostname", file))
		}, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "keys")
			if _, err := Keys(dir, "turns"); err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(t, dir, filepath.Join(dir, "turns.nk")); err != nil {
				t.Fatal(err)
			}
			_, err := Keys(dir, "turns")
			if !errors.Is(err, ErrKeys) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "GARBAGE") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Keys(filepath.Join(t.TempDir(), "keys"), "../turns"); !errors.Is(err, ErrKeys) {
		t.Errorf("%v", err)
	}
}

func TestKeyHidesItsSeed(t *testing.T) {
	keys, err := Keys(filepath.Join(t.TempDir(), "keys"), "turns")
	if err != nil {
		t.Fatal(err)
	}
	k := keys["turns"]
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k)
	shown := log.String() + fmt.Sprintf("%v %+v %#v %s", k, k, k, k)
	if strings.Contains(shown, string(k.Seed())) || strings.Contains(shown, fmt.Sprint(k.Seed())) {
		t.Errorf("shown: %s", shown)
	}
}
