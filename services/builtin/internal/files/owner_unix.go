//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

func me() int { return os.Geteuid() }

// owner is the user and group of a file; ok is false where files have none.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// onlyName says that a file has no second name.
func onlyName(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1
}
