package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestExportKeepsDevices: to force an export into a file is no leave to take away a device, as the root user could.
func TestExportKeepsDevices(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	u.run("sessions", "export", "older", "--force", "--output", pipe).want(t, 1, "is no regular file and is not replaced")
	if st, err := os.Lstat(pipe); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("%v, %v", st, err)
	}
}
