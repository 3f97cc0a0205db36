//go:build unix

package private

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// mounted says whether root owns it and its group is one of ours.
func mounted(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Uid != 0 {
		return false
	}
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(append(groups, os.Getegid()), int(sys.Gid))
}
