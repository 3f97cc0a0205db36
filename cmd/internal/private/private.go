// Package private says whether the file of a secret is ours alone.
package private

import (
	"io/fs"
	"os"
)

// File says whether nobody but this process's user can read what st describes.
//
// There is one exception. An orchestrator mounts secrets as files of root, readable by a group that it gives to this process
// alone (Kubernetes: mode 0440 with fsGroup). So a group may read what root owns, if we are in that group and are not root. On
// a machine with users only root can bring such a file about.
func File(st fs.FileInfo) bool {
	mode := st.Mode().Perm()
	if mode&0o077 == 0 {
		return true
	}
	return mode&0o037 == 0 && os.Geteuid() != 0 && mounted(st)
}
