//go:build linux || darwin || freebsd || dragonfly

package natsembed

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FreeSpace is how many bytes this user can still write on the disk of dir.
func FreeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // types differ between systems
}
