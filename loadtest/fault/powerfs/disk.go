package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// disk remembers what would be gone if the power failed now, and how full it is. All changes of the file system go through it,
// one after the other.
type disk struct {
	root   string // where the files are
	trash  string // what was removed, until that is certain
	strict bool

	mu    sync.Mutex
	off   bool              // guarded by mu: the power is gone
	files map[uint64]*dirty // guarded by mu; by inode: what was written and not synced
	names []*change         // guarded by mu; in their order: what was not committed
	dirs  map[uint64]*os.File
	next  int   // guarded by mu; names in the trash
	room  int64 // guarded by mu; 0: no limit of its own
	other int64 // guarded by mu; bytes that others have
	used  int64 // guarded by mu; bytes of all files
	stats stats // guarded by mu
}

// stats are counts since the mount.
type stats struct {
	Writes      int   `json:"writes"`
	Syncs       int   `json:"syncs"`
	Names       int   `json:"names"`       // made, renamed, removed
	Full        int   `json:"full"`        // operations that were answered with ENOSPC
	Used        int64 `json:"used"`        // bytes of all files
	Unsynced    int   `json:"unsynced"`    // writes that a cut could take back now
	Uncommitted int   `json:"uncommitted"` // names, likewise
}

// loss is what a cut took back.
type loss struct {
	Files   int   `json:"files"`   // that had something unsynced
	Writes  int   `json:"writes"`  // taken back
	Kept    int   `json:"kept"`    // unsynced writes that were left all the same
	Torn    int   `json:"torn"`    // writes of which a part was left
	Bytes   int64 `json:"bytes"`   // taken back
	Names   int   `json:"names"`   // taken back
	Renamed int   `json:"renamed"` // unsynced names that were left all the same
}

// dirty is what was done to the data of one file since it was synced.
type dirty struct {
	file *os.File // for reading and writing, whatever the file is called by now
	ops  []write
}

// write is one write or truncation, and what it takes to undo it.
type write struct {
	off    int64
	n      int64  // bytes written; 0: a truncation
	before []byte // what stood from off on
	size   int64  // of the file before
}

// change is one change of a name, and how to undo it.
type change struct {
	dir  uint64 // whose fsync makes it certain
	undo func() error
	done func() // when it is certain; may be nil
}

func newDisk(backing string, strict bool) (*disk, error) {
	d := &disk{
		root: filepath.Join(backing, "disk"), trash: filepath.Join(backing, "trash"), strict: strict,
		files: map[uint64]*dirty{}, dirs: map[uint64]*os.File{},
	}
	if err := os.RemoveAll(d.trash); err != nil {
		return nil, err
	}
	for _, dir := range []string{d.root, d.trash} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return d, filepath.WalkDir(d.root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			d.used += info.Size()
		}
		return err
	})
}

// grow says whether the disk has room for n more bytes, and takes them.
func (d *disk) grow(n int64) error {
	if n > 0 && d.room > 0 && d.used+d.other+n > d.room {
		d.stats.Full++
		return syscall.ENOSPC
	}
	d.used += n
	return nil
}

// full says whether there is no room for another name.
func (d *disk) full() error {
	if d.room > 0 && d.used+d.other >= d.room {
		d.stats.Full++
		return syscall.ENOSPC
	}
	return nil
}

// space is the size of the disk and what is free of it; false: it has no size of its own.
func (d *disk) space() (all, free int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room, max(d.room-d.used-d.other, 0), d.room > 0
}

// log is the record of a file; fd is any descriptor of it.
func (d *disk) log(fd int) (*dirty, int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, 0, err
	}
	f := d.files[st.Ino]
	if f == nil {
		file, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDWR, 0)
		if err != nil {
			return nil, 0, err
		}
		f = &dirty{file: file}
		d.files[st.Ino] = f
	}
	return f, st.Size, nil
}

// write writes data to fd, whose descriptor was opened with flags.
func (d *disk) write(fd int, flags uint32, data []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return 0, syscall.EIO
	}
	f, size, err := d.log(fd)
	if err != nil {
		return 0, err
	}
	w := write{off: off, n: int64(len(data)), size: size}
	if over := min(size-off, w.n); over > 0 {
		w.before = make([]byte, over)
		if _, err := unix.Pread(int(f.file.Fd()), w.before, off); err != nil {
			return 0, err
		}
	}
	if err := d.grow(max(off+w.n-size, 0)); err != nil {
		return 0, err
	}
	n, err := unix.Pwrite(fd, data, off)
	if err != nil {
		return 0, err
	}
	d.stats.Writes++
	f.ops = append(f.ops, w)
	if flags&(unix.O_SYNC|unix.O_DSYNC) != 0 {
		return n, d.sync(fd)
	}
	return n, nil
}

// truncate gives a file another size.
func (d *disk) truncate(fd int, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return syscall.EIO
	}
	f, had, err := d.log(fd)
	if err != nil {
		return err
	}
	w := write{off: size, size: had}
	if had > size {
		w.before = make([]byte, had-size)
		if _, err := unix.Pread(int(f.file.Fd()), w.before, size); err != nil {
			return err
		}
	}
	if err := d.grow(size - had); err != nil {
		return err
	}
	if err := unix.Ftruncate(int(f.file.Fd()), size); err != nil {
		return err
	}
	d.stats.Writes++
	f.ops = append(f.ops, w)
	return nil
}

// fsync makes the data of a file certain.
func (d *disk) fsync(fd int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return syscall.EIO
	}
	return d.sync(fd)
}

func (d *disk) sync(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	d.stats.Syncs++
	f := d.files[st.Ino]
	if f != nil {
		_ = f.file.Close()
		delete(d.files, st.Ino)
	}
	if !d.strict {
		d.commit(func(*change) bool { return true })
	}
	return nil
}

// fsyncDir makes the names of a directory certain.
func (d *disk) fsyncDir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return syscall.EIO
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	d.stats.Syncs++
	d.commit(func(c *change) bool { return !d.strict || c.dir == st.Ino })
	return nil
}

func (d *disk) syncAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ino := range d.files {
		d.forget(ino)
	}
	d.commit(func(*change) bool { return true })
}

func (d *disk) commit(which func(*change) bool) {
	var left []*change
	for _, c := range d.names {
		switch {
		case !which(c):
			left = append(left, c)
		case c.done != nil:
			c.done()
		}
	}
	d.names = left
}

// cut takes back what was not synced; what of it is left all the same is drawn.
func (d *disk) cut(seed uint64) (l loss, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	rnd := rand.New(rand.NewPCG(seed, 7))
	fate := draw(rnd)
	for _, ino := range sorted(d.files) {
		f := d.files[ino]
		if len(f.ops) > 0 {
			l.Files++
		}
		err = errors.Join(err, f.takeBack(rnd, fate, &l))
		_ = f.file.Close()
	}
	kept := fate.of(rnd, len(d.names))
	l.Renamed, l.Names = kept, len(d.names)-kept
	for i := len(d.names) - 1; i >= kept; i-- {
		if undone := d.names[i].undo(); undone != nil {
			err = errors.Join(err, fmt.Errorf("take a name back: %w", undone))
		}
	}
	return l, errors.Join(err, os.RemoveAll(d.trash))
}

// takeBack undoes what was done to a file since it was synced, but for a part.
func (f *dirty) takeBack(rnd *rand.Rand, fate fate, l *loss) error {
	kept := fate.of(rnd, len(f.ops))
	l.Kept += kept
	l.Writes += len(f.ops) - kept
	for i := len(f.ops) - 1; i >= kept; i-- {
		w, from := f.ops[i], int64(0)
		if i == kept && fate == some && w.n > 1 {
			from = rnd.Int64N(w.n) // of this one the first bytes have reached the disk
			if from > 0 {
				l.Torn++
			}
		}
		l.Bytes += w.n - from
		if from < int64(len(w.before)) {
			if _, err := f.file.WriteAt(w.before[from:], w.off+from); err != nil {
				return err
			}
		}
		size := w.size
		if from > 0 {
			size = max(size, w.off+from)
		}
		if err := f.file.Truncate(size); err != nil {
			return err
		}
	}
	return nil
}

// fate is what becomes of what was not synced.
type fate int

const (
	none fate = iota
	all
	some
)

func draw(rnd *rand.Rand) fate {
	switch at := rnd.Float64(); {
	case at < 0.4:
		return none
	case at < 0.5:
		return all
	}
	return some
}

// of is how many of n are left.
func (f fate) of(rnd *rand.Rand, n int) int {
	switch f {
	case none:
		return 0
	case all:
		return n
	case some:
	}
	return rnd.IntN(n + 1)
}

func (d *disk) count() stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Used, s.Uncommitted = d.used, len(d.names)
	for _, f := range d.files {
		s.Unsynced += len(f.ops)
	}
	return s
}

func (d *disk) setRoom(n int64) { d.mu.Lock(); d.room = n; d.mu.Unlock() }

func (d *disk) setOthers(n int64) { d.mu.Lock(); d.other = n; d.mu.Unlock() }
