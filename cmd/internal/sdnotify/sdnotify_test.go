package sdnotify_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/internal/sdnotify"
)

func env(socket string) func(string) (string, bool) {
	return func(name string) (string, bool) { return socket, name == "NOTIFY_SOCKET" && socket != "" }
}

func TestTell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, state := range []string{sdnotify.Ready, sdnotify.Stopping} {
		if err := sdnotify.Tell(t.Context(), env(path), state); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 64)
		n, err := l.Read(buf)
		if err != nil || string(buf[:n]) != state {
			t.Errorf("got %q, %v, want %q", buf[:n], err, state)
		}
	}
}

func TestNobodyAsked(t *testing.T) {
	if err := sdnotify.Tell(t.Context(), env(""), sdnotify.Ready); err != nil {
		t.Error(err)
	}
}

func TestNobodyListens(t *testing.T) {
	err := sdnotify.Tell(t.Context(), env(filepath.Join(t.TempDir(), "gone")), sdnotify.Ready)
	if err == nil || !strings.Contains(err.Error(), "tell the service manager READY=1") {
		t.Errorf("got %v", err)
	}
}
