package httpguard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// write replaces the file by name, as an editor or a secret store does.
func write(t *testing.T, path, data string, mode os.FileMode) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(next, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// age makes the file old enough for its time to be believed.
func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestTokenFileForms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.token")
	source := httpguard.FileTokens(path)
	for _, tc := range []struct {
		name, data string
		mode       os.FileMode
		want       string // names, or of the error
	}{
		{"one", tokenA + "\n", 0o600, "default"},
		{"no line end", tokenA, 0o400, "default"},
		{"white space", " \t" + tokenA + " \r\n\n", 0o600, "default"},
		{"named", "claude " + tokenA + "\ncursor\t" + tokenB + "\n", 0o600, "claude,cursor"},
		{"mixed", tokenA + "\ncursor " + tokenB + "\n", 0o600, "cursor,default"},
		{"empty", "", 0o600, "is empty"},
		{"blank", " \n\n", 0o600, "is empty"},
		{"for the group", tokenA, 0o640, "chmod 600"},
		{"for all", tokenA, 0o644, "chmod 600"},
		{"writable by others", tokenA, 0o602, "chmod 600"},
		{"short", "secret\n", 0o600, "line 1: a token has at least 16"},
		{"three words", "\na b " + tokenA + "\n", 0o600, "line 2: want TOKEN or NAME TOKEN"},
		{"a name twice", tokenA + "\n" + tokenB + "\n", 0o600, `line 2: a second token for "default"`},
		{"a token twice", "a " + tokenA + "\nb " + tokenA + "\n", 0o600, "nobody could tell"},
		{"too large", strings.Repeat(tokenA+"\n", 5000), 0o600, "more than"},
	} {
		write(t, path, tc.data, tc.mode)
		set, err := source()
		got := ""
		for _, name := range []string{"claude", "cursor", "default"} {
			if set[name] != "" {
				got += "," + name
			}
		}
		if err != nil {
			if got = "," + err.Error(); len(set) > 0 || !errors.Is(err, httpguard.ErrTokenFile) {
				t.Errorf("%s: %v, %v", tc.name, set, err)
			}
			if strings.Contains(got, tokenA) || strings.Contains(got, tokenB) || strings.Contains(got, "secret") {
				t.Errorf("%s: the error has the token: %s", tc.name, got)
			}
		}
		if !strings.Contains(got, tc.want) || err == nil && got != ","+tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestTokenFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := httpguard.FileTokens(filepath.Join(dir, "none"))(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := httpguard.FileTokens(dir)(); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestTokenFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.token")
	source := httpguard.FileTokens(path)
	want := func(step, token string) {
		t.Helper()
		set, err := source()
		if got := set[httpguard.DefaultName]; got != token || (err == nil) != (token != "") {
			t.Errorf("%s: %q, %v", step, got, err)
		}
	}
	write(t, path, tokenA, 0o600)
	age(t, path, time.Hour)
	want("old", tokenA)
	want("unchanged", tokenA)
	write(t, path, tokenB, 0o600)
	age(t, path, time.Hour)
	want("another file of the same size and age", tokenB)
	if err := os.WriteFile(path, []byte(tokenA), 0o600); err != nil {
		t.Fatal(err)
	}
	want("written in place", tokenA)
	if err := os.WriteFile(path, []byte(tokenB), 0o600); err != nil {
		t.Fatal(err)
	}
	want("written again, perhaps within one tick of the clock", tokenB)
	age(t, path, time.Hour)
	want("old again", tokenB)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	want("opened to all", "")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	want("closed", tokenB)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("removed", "")
	write(t, path, tokenA, 0o600)
	want("back", tokenA)
}

// TestTokenFileRotation: once the new file is there, the old token does not count, whoever asks at the same time.
func TestTokenFileRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.token")
	tokens := httpguard.NewTokens(httpguard.FileTokens(path))
	write(t, path, tokenA, 0o600)
	stop := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, a := tokens.Caller(request(t, tokenA))
				_, b := tokens.Caller(request(t, tokenB))
				for _, err := range []error{a, b} {
					if err != nil && !errors.Is(err, httpguard.ErrToken) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	now, before := tokenA, tokenB
	for range 200 {
		now, before = before, now
		write(t, path, now, 0o600)
		if _, err := tokens.Caller(request(t, before)); !errors.Is(err, httpguard.ErrToken) {
			t.Fatalf("the old token: %v", err)
		}
		if _, err := tokens.Caller(request(t, now)); err != nil {
			t.Fatalf("the new token: %v", err)
		}
	}
	close(stop)
	askers.Wait()
}
