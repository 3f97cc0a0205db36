package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ownTemp is where a command with a mount namespace has its temporary folder.
const ownTemp = "/tmp"

// enclose makes of this process's mount namespace what a command may see: everything read-only, nothing at what is hidden,
// temp at /tmp, and dir as it was. It says whether /proc shows the sandbox's own processes.
func enclose(dir, temp string, hidden []string) (proc bool, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, fmt.Errorf("private mounts: %w", err)
	}
	room, err := clone(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = unix.Close(room) }()
	scratch, err := clone(temp)
	if err != nil {
		return false, err
	}
	defer func() { _ = unix.Close(scratch) }()

	// In a container that hides parts of /proc the kernel refuses a new one. Commands then have none.
	if unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil {
		proc = true
		limitTasks()
	}
	for _, h := range hidden {
		if err := conceal(h); err != nil {
			return false, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // it may lie below what is hidden
		return false, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return false, fmt.Errorf("read-only mounts: %w", err)
	}
	if err := place(scratch, ownTemp); err != nil {
		return false, err
	}
	if within(dir, ownTemp) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, err
		}
	}
	return proc, place(room, dir)
}

// clone is a copy of the mounts at a folder, not yet anywhere, in which no device and no setuid bit counts.
func clone(dir string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("mount of %s: %w", dir, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("mount of %s: %w", dir, err)
	}
	return fd, nil
}

func place(fd int, dir string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount at %s: %w", dir, err)
	}
	return nil
}

// conceal lays nothing over a path. One that does not exist yet is left to Landlock.
func conceal(path string) error {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=1m,mode=700")
	default:
		// A device that counts as none cannot even be opened.
		if err = unix.Mount("/dev/null", path, "", unix.MS_BIND, ""); err == nil {
			err = unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NODEV})
		}
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	return nil
}

// limitTasks bounds fork bombs of root, whom RLIMIT_NPROC does not bind. Since Linux 6.14 each PID namespace has its own
// pid_max; before, this would be the machine's.
func limitTasks() {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return
	}
	var major, minor int
	release := strings.ReplaceAll(unix.ByteSliceToString(u.Release[:]), ".", " ")
	if _, err := fmt.Sscan(release, &major, &minor); err != nil || major < 6 || major == 6 && minor < 14 {
		return
	}
	_ = os.WriteFile(filepath.Join("/proc", "sys", "kernel", "pid_max"), []byte("1200"), 0) // the first 300 numbers are used once
}
