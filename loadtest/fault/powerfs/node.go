package main

import (
	"context"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is a file or directory. What only reads is the loopback's; all that changes something goes through the disk.
type node struct {
	fs.LoopbackNode

	disk *disk
}

func newRoot(d *disk) (*node, error) {
	var st unix.Stat_t
	if err := unix.Stat(d.root, &st); err != nil {
		return nil, err
	}
	data := &fs.LoopbackRoot{Path: d.root, Dev: st.Dev}
	root := newNode(d, data)
	data.RootNode = root
	return root, nil
}

func newNode(d *disk, data *fs.LoopbackRoot) *node {
	return &node{LoopbackNode: fs.LoopbackNode{RootData: data}, disk: d}
}

// WrapChild has everything below the root be of this kind, too.
func (n *node) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return newNode(n.disk, n.RootData)
}

func (n *node) path() string { return filepath.Join(n.disk.root, n.Path(n.Root())) }

func (n *node) child(name string) string { return filepath.Join(n.path(), name) }

// Statfs tells the size that the disk was given.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	errno := n.LoopbackNode.Statfs(ctx, out)
	if all, free, ok := n.disk.space(); ok && errno == 0 {
		out.Blocks, out.Bfree, out.Bavail = uint64(all)/uint64(out.Bsize), uint64(free)/uint64(out.Bsize), uint64(free)/uint64(out.Bsize)
	}
	return errno
}

// Create makes a file and opens it.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (
	child *fs.Inode, fh fs.FileHandle, ff uint32, errno syscall.Errno,
) {
	create := func() error {
		child, fh, ff, errno = n.LoopbackNode.Create(ctx, name, flags&^uint32(unix.O_TRUNC|unix.O_SYNC|unix.O_DSYNC), mode, out)
		if errno != 0 {
			return errno
		}
		fh = &file{LoopbackFile: fh.(*fs.LoopbackFile), disk: n.disk, flags: flags}
		return nil
	}
	if err := n.disk.made(n.child(name), create); err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	return child, fh, ff, 0
}

// Open opens a file. The descriptor below it is not synced: the disk says what is.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fh, ff, errno := n.LoopbackNode.Open(ctx, flags&^uint32(unix.O_TRUNC|unix.O_SYNC|unix.O_DSYNC))
	if errno != 0 {
		return nil, 0, errno
	}
	f := &file{LoopbackFile: fh.(*fs.LoopbackFile), disk: n.disk, flags: flags}
	if flags&unix.O_TRUNC != 0 {
		if err := f.with(func(fd int) error { return n.disk.truncate(fd, 0) }); err != nil {
			return nil, 0, fs.ToErrno(err)
		}
	}
	return f, ff, 0
}

// Setattr changes the size through the disk, the rest directly.
func (n *node) Setattr(ctx context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		fd, err := unix.Open(n.path(), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if f, opened := fh.(*file); opened {
			if err == nil {
				_ = unix.Close(fd)
			}
			err = f.with(func(fd int) error { return n.disk.truncate(fd, int64(size)) })
		} else if err == nil {
			err = n.disk.truncate(fd, int64(size))
			_ = unix.Close(fd)
		}
		if err != nil {
			return fs.ToErrno(err)
		}
		in.Valid &^= fuse.FATTR_SIZE
	}
	return n.LoopbackNode.Setattr(ctx, fh, in, out)
}

// Mkdir makes a directory.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	err := n.disk.made(n.child(name), func() error {
		if child, errno = n.LoopbackNode.Mkdir(ctx, name, mode, out); errno != 0 {
			return errno
		}
		return nil
	})
	return child, fs.ToErrno(err)
}

// Mknod makes a file that nobody opens yet.
func (n *node) Mknod(ctx context.Context, name string, mode, rdev uint32, out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	err := n.disk.made(n.child(name), func() error {
		if child, errno = n.LoopbackNode.Mknod(ctx, name, mode, rdev, out); errno != 0 {
			return errno
		}
		return nil
	})
	return child, fs.ToErrno(err)
}

// Symlink makes a symbolic link.
func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	err := n.disk.made(n.child(name), func() error {
		if child, errno = n.LoopbackNode.Symlink(ctx, target, name, out); errno != 0 {
			return errno
		}
		return nil
	})
	return child, fs.ToErrno(err)
}

// Link gives a file a second name.
func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (child *fs.Inode, errno syscall.Errno) {
	other, ok := target.(*node)
	if !ok {
		return nil, syscall.EXDEV
	}
	err := n.disk.made(n.child(name), func() error {
		if child, errno = n.LoopbackNode.Link(ctx, &other.LoopbackNode, name, out); errno != 0 {
			return errno
		}
		return nil
	})
	return child, fs.ToErrno(err)
}

// Unlink removes a file.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(n.disk.unlink(n.child(name)))
}

// Rmdir removes a directory.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(n.disk.rmdir(n.child(name)))
}

// Rename moves a file or directory.
func (n *node) Rename(_ context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := parent.(*node)
	if !ok {
		return syscall.EXDEV
	}
	return fs.ToErrno(n.disk.move(n.child(name), to.child(newName), flags))
}

// CopyFileRange is not offered: what it writes would not be seen.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}

// Fsync makes what was done certain; of a directory its names.
func (n *node) Fsync(_ context.Context, fh fs.FileHandle, _ uint32) syscall.Errno {
	if f, ok := fh.(*file); ok {
		return fs.ToErrno(f.with(n.disk.fsync))
	}
	return fs.ToErrno(n.disk.fsyncDir(n.path()))
}

// OpendirHandle opens a directory for reading, and for fsync.
//
//nolint:unparam // the interface has flags
func (n *node) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	ds, errno := fs.NewLoopbackDirStream(n.path())
	if errno != 0 {
		return nil, 0, errno
	}
	return &dir{listing: ds.(listing), node: n}, 0, 0
}

type listing interface {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
}

// dir is an opened directory.
type dir struct {
	listing

	node *node
}

// Fsyncdir makes the names in it certain.
func (d *dir) Fsyncdir(context.Context, uint32) syscall.Errno {
	return fs.ToErrno(d.node.disk.fsyncDir(d.node.path()))
}

// file is an opened file.
type file struct {
	*fs.LoopbackFile

	disk  *disk
	flags uint32
}

// with calls fn with the descriptor below.
func (f *file) with(fn func(fd int) error) error {
	fd, ok := f.LoopbackFile.PassthroughFd()
	if !ok {
		return syscall.EBADF
	}
	return fn(fd)
}

// PassthroughFd is refused: the kernel would write past the disk.
func (f *file) PassthroughFd() (int, bool) { return -1, false }

// Write writes through the disk.
func (f *file) Write(_ context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	var n int
	err := f.with(func(fd int) (err error) {
		n, err = f.disk.write(fd, f.flags, data, off)
		return err
	})
	return uint32(n), fs.ToErrno(err)
}

// Allocate is not offered: programs then write.
func (f *file) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return syscall.ENOTSUP
}
