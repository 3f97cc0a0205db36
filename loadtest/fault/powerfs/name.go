package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// place is a name in a directory, whatever that one is called by now.
type place struct {
	dir  *os.File
	ino  uint64 // of dir
	name string
}

func (p place) fd() int { return int(p.dir.Fd()) }

// at keeps each directory open: its inode is then not used again.
func (d *disk) at(path string) (place, error) {
	dir, name := filepath.Split(path)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return place{}, err
	}
	f := d.dirs[st.Ino]
	if f == nil {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return place{}, err
		}
		f = os.NewFile(uintptr(fd), dir)
		d.dirs[st.Ino] = f
	}
	return place{dir: f, ino: st.Ino, name: name}, nil
}

// rename is what the file system does with names: fn does it, and says how it is undone.
func (d *disk) rename(path string, makes bool, fn func(p place) (change, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return syscall.EIO
	}
	if makes {
		if err := d.full(); err != nil {
			return err
		}
	}
	p, err := d.at(path)
	if err != nil {
		return err
	}
	c, err := fn(p)
	if err != nil {
		return err
	}
	if c.dir == 0 {
		c.dir = p.ino
	}
	d.stats.Names++
	d.names = append(d.names, &c)
	return nil
}

// made is a name that fn makes; undone, whatever lies there by then is gone.
func (d *disk) made(path string, fn func() error) error {
	return d.rename(path, true, func(p place) (change, error) {
		if err := fn(); err != nil {
			return change{}, err
		}
		return change{undo: func() error { _, err := d.discard(p); return err }}, nil
	})
}

// forget what was written to a file.
func (d *disk) forget(ino uint64) {
	if f := d.files[ino]; f != nil {
		_ = f.file.Close()
		delete(d.files, ino)
	}
}

// discard moves what has a name to the trash and returns where it is.
func (d *disk) discard(p place) (string, error) {
	d.next++
	bin := filepath.Join(d.trash, strconv.Itoa(d.next))
	return bin, unix.Renameat(p.fd(), p.name, unix.AT_FDCWD, bin)
}

// unlink removes the name of a file.
func (d *disk) unlink(path string) error {
	return d.rename(path, false, func(p place) (change, error) {
		var st unix.Stat_t
		if err := unix.Fstatat(p.fd(), p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return change{}, err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return change{}, syscall.EISDIR
		}
		bin, err := d.discard(p)
		if err != nil {
			return change{}, err
		}
		d.freed(st)
		return change{
			undo: func() error { return unix.Renameat(unix.AT_FDCWD, bin, p.fd(), p.name) },
			done: func() { d.gone(st, bin) },
		}, nil
	})
}

// gone is a file whose last name is certainly removed.
func (d *disk) gone(st unix.Stat_t, bin string) {
	_ = os.RemoveAll(bin)
	if st.Nlink <= 1 {
		d.forget(st.Ino)
	}
}

func (d *disk) freed(st unix.Stat_t) {
	if st.Nlink == 1 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		d.used -= st.Size
	}
}

// rmdir removes an empty directory.
func (d *disk) rmdir(path string) error {
	return d.rename(path, false, func(p place) (change, error) {
		var st unix.Stat_t
		if err := unix.Fstatat(p.fd(), p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return change{}, err
		}
		entries, err := os.ReadDir(path)
		switch {
		case err != nil:
			return change{}, err
		case len(entries) > 0:
			return change{}, syscall.ENOTEMPTY
		}
		bin, err := d.discard(p) // the same directory comes back: names that were removed from it go back into it
		if err != nil {
			return change{}, err
		}
		return change{
			undo: func() error { return unix.Renameat(unix.AT_FDCWD, bin, p.fd(), p.name) },
			done: func() { _ = os.RemoveAll(bin) },
		}, nil
	})
}

// move renames; what had the new name is gone.
func (d *disk) move(from, to string, flags uint32) error {
	if flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL
	}
	return d.rename(from, false, func(a place) (change, error) {
		b, err := d.at(to)
		if err != nil {
			return change{}, err
		}
		st, bin, err := d.keep(b, flags)
		if err != nil {
			return change{}, err
		}
		if err := unix.Renameat2(a.fd(), a.name, b.fd(), b.name, uint(flags)); err != nil {
			if bin != "" {
				_ = os.RemoveAll(bin)
			}
			return change{}, err
		}
		if bin != "" {
			d.freed(st)
		}
		return change{
			dir: b.ino,
			undo: func() error {
				if err := unix.Renameat(b.fd(), b.name, a.fd(), a.name); err != nil || bin == "" {
					return err
				}
				return unix.Renameat(unix.AT_FDCWD, bin, b.fd(), b.name)
			},
			done: func() {
				if bin != "" {
					d.gone(st, bin)
				}
			},
		}, nil
	})
}

// keep gives what is to be replaced a second name, so that there is no moment without it; "" when there is nothing.
func (d *disk) keep(b place, flags uint32) (st unix.Stat_t, bin string, err error) {
	err = unix.Fstatat(b.fd(), b.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || err == nil && flags&unix.RENAME_NOREPLACE != 0 {
		return st, "", nil
	}
	if err != nil {
		return st, "", err
	}
	d.next++
	bin = filepath.Join(d.trash, strconv.Itoa(d.next))
	if st.Mode&unix.S_IFMT == unix.S_IFDIR { // an empty one: nothing else can be replaced
		return st, bin, unix.Mkdir(bin, st.Mode&0o7777)
	}
	return st, bin, unix.Linkat(b.fd(), b.name, unix.AT_FDCWD, bin, 0)
}

func sorted[V any](m map[uint64]V) []uint64 {
	return slices.SortedFunc(maps.Keys(m), cmp.Compare[uint64])
}
