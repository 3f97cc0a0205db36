package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kind is what a sandbox is made of.
type kind string

const (
	bwrap   kind = "bwrap"
	own     kind = "own"
	bare    kind = "bare"
	unboxed kind = "none"
)

// Box runs commands. It can run several at a time.
type Box struct {
	kind   kind
	self   []string
	hidden []string
	bwrap  string // the program
}

// New finds the kind of sandbox that works here, by trying, or says why there is none.
func New(o Options) (*Box, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if len(o.Self) == 0 {
		return nil, errors.New("how this binary starts itself as the keeper of a sandbox is not known")
	}
	kinds := map[Mode][]kind{"": {bwrap, own, bare}, Auto: {bwrap, own, bare}, Bwrap: {bwrap}, Landlock: {own, bare}, None: {unboxed}}[o.Mode]
	var why []error
	for _, k := range kinds {
		b, err := newBox(k, o)
		if err == nil {
			return b, nil
		}
		why = append(why, fmt.Errorf("%s: %w", k, err))
	}
	if o.Mode == None {
		return nil, errors.Join(why...)
	}
	return nil, unavailable(joined(why))
}

func newBox(k kind, o Options) (*Box, error) {
	b := &Box{kind: k, self: o.Self, hidden: o.Hidden}
	if k == bwrap {
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, errors.New("bubblewrap is not installed")
		}
		b.bwrap = path
	}
	return b, b.try()
}

// joined is one error of several, on one line.
type joined []error

func (j joined) Error() string {
	var parts []string
	for _, err := range j {
		parts = append(parts, err.Error())
	}
	return strings.Join(parts, "; ")
}

// Kind says what the sandbox is made of: "bwrap", "own", "bare" as in the package comment, or "none".
func (b *Box) Kind() string { return string(b.kind) }

// tryTimeout is for a machine that is busy with starting everything else.
const tryTimeout = 20 * time.Second

// try runs a command that tries to read and write what it must not. A sandbox that lets it is none.
func (b *Box) try() error {
	root, err := os.MkdirTemp("", "jetclaw-try-")
	if err != nil {
		return err
	}
	defer discard(root)
	room, secret := filepath.Join(root, "room"), filepath.Join(root, "secret")
	if err := os.Mkdir(room, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	text := `: >here || exit 1; : >"$TMPDIR/here" || exit 2`
	if b.kind != unboxed {
		// In a private /tmp the write can work; it must not be seen here.
		text += `; (: >../there) 2>/dev/null; (read -r x <../secret && [ -n "$x" ]) 2>/dev/null && exit 3; exit 0`
	}
	probe := *b
	probe.hidden = append(slices.Clone(b.hidden), secret)
	st, err := probe.Run(ctx, Command{Text: text, Dir: room}, io.Discard)
	switch {
	case err != nil:
		return err
	case st != Status{}:
		return fmt.Errorf("a trial of it ended as it must not: %+v", st)
	}
	if _, err := os.Lstat(filepath.Join(root, "there")); !errors.Is(err, os.ErrNotExist) {
		return errors.New("in a trial of it, a command wrote where it must not")
	}
	return nil
}

// command is the keeper, not yet started.
func (b *Box) command(s spec, v view) (*exec.Cmd, []*os.File, error) {
	cmd := exec.Command(b.self[0], b.self[1:]...) //nolint:gosec,noctx // our own binary; it is ended through its control pipe
	var files []*os.File
	switch b.kind {
	case own:
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
				unix.CLONE_NEWUTS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
			// For mounts, and to take all of them from the bounding set. They count in the new namespaces only.
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
		}
	case bwrap:
		exe, err := os.Open(b.self[0]) //nolint:gosec // our own binary
		if err != nil {
			return nil, nil, err
		}
		files = append(files, exe)
		// In its new root our binary has no path.
		args := slices.Concat(wrapping(s, v), []string{"--", fmt.Sprintf("/proc/self/fd/%d", statusFD+1)}, b.self[1:])
		cmd = exec.Command(b.bwrap, args...) //nolint:gosec,noctx // as above
	case bare, unboxed:
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true // away from our terminal
	cmd.Dir, cmd.Env = "/", []string{}
	return cmd, files, nil
}

// wrapping are the arguments for bubblewrap: a root of what may be seen.
func wrapping(s spec, v view) []string {
	args := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--die-with-parent", "--as-pid-1",
		"--cap-drop", "ALL",
	}
	for _, path := range v.read {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, link := range v.links {
		args = append(args, "--symlink", link[1], link[0])
	}
	return append(args, "--proc", "/proc", "--dev", "/dev", "--bind", s.Temp, ownTemp, "--bind", s.Dir, s.Dir, "--remount-ro", "/")
}

// discard removes a folder that a command has written into.
func discard(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	// Folders that even their owner cannot write. Nothing runs in there any more that could swap one for a link.
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
