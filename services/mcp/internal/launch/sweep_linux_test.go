package launch

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// orphaned leaves processes of a server of this home: its jetclaw is killed, and they are deaf.
func orphaned(t *testing.T, home string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=owner", "OWNED="+home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for range 2 {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	t.Cleanup(func() {
		if _, err := sweep(context.Background(), home, time.Millisecond, slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	})
}

func TestSweep(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	c := command(t, "ready eof")
	c.Home = home
	living := start(t, c)
	if _, err := bufio.NewReader(living.Reader()).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	orphaned(t, home)
	orphaned(t, other)

	ended, err := 0, error(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sweep(ctx, home, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Errorf("they are deaf, and nobody waited: %v", err)
	}
	var log strings.Builder
	if ended, err = sweep(t.Context(), home, 20*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))); ended != 2 || err != nil {
		t.Errorf("%d ended, %v", ended, err)
	}
	if strings.Count(log.String(), "server=left") != 2 {
		t.Errorf("log: %s", &log)
	}
	if left := marked(home); !slices.Equal(left, []int{living.PID()}) {
		t.Errorf("%v are left, want %d", left, living.PID())
	}
	if left := marked(other); len(left) != 2 {
		t.Errorf("of the other home %v are left", left)
	}
	if ended, err = Sweep(t.Context(), home, slog.New(slog.DiscardHandler)); ended != 0 || err != nil {
		t.Errorf("again: %d ended, %v", ended, err)
	}
}

func TestGone(t *testing.T) {
	if gone(owner()) {
		t.Error("we live")
	}
	pid, rest, _ := strings.Cut(owner(), ".")
	start, space, _ := strings.Cut(rest, ".")
	for text, want := range map[string]bool{
		pid + "." + start + "1." + space: true, // another process had our number
		"99999999.1." + space:            true,
		"99999999.1." + space + "1":      false, // of another container
		"":                               false,
		"x.y." + space:                   false,
		"99999999":                       false,
	} {
		if gone(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
