//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

type owned struct {
	fs.FileInfo

	uid, gid uint32
}

func (o owned) Sys() any           { return &syscall.Stat_t{Uid: o.uid, Gid: o.gid} }
func (o owned) ModTime() time.Time { return time.Time{} }

func TestMounted(t *testing.T) {
	ours := uint32(os.Getegid())
	for _, tc := range []struct {
		uid, gid uint32
		want     bool
	}{
		{0, ours, true},
		{0, 1 << 30, false}, // another's group
		{12345, ours, false},
	} {
		if got := mounted(owned{uid: tc.uid, gid: tc.gid}); got != tc.want {
			t.Errorf("owner %d, group %d: %v", tc.uid, tc.gid, got)
		}
	}
}
