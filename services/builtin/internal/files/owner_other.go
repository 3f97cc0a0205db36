//go:build !unix

package files

import "io/fs"

func me() int { return -1 }

// owner is not known on this system: files count as the agent's own.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// onlyName is not known on this system.
func onlyName(fs.FileInfo) bool { return false }
