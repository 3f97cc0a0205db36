//go:build unix && !linux

package launch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a program and its process group. What has left the group is not found on this system.
type tree struct {
	cmd  *exec.Cmd
	pid  int
	mark string
}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// seal keeps descriptors from children that we were started with ourselves.
func seal() {
	d, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// await returns when the program has ended. Its number is free then; that of its group is not while others are in it.
func (t *tree) await() { _ = t.cmd.Wait() }

func (t *tree) reap() *os.ProcessState { return t.cmd.ProcessState }

func (t *tree) left() bool {
	err := syscall.Kill(-t.pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func (t *tree) terminate() { _ = syscall.Kill(-t.pid, syscall.SIGTERM) }

func (t *tree) kill() { _ = syscall.Kill(-t.pid, syscall.SIGKILL) }

func owner() string { return strconv.Itoa(os.Getpid()) }

// Sweep does nothing on this system: it does not show the environment of processes, by which what is left of a server would be
// found.
func Sweep(context.Context, string, *slog.Logger) (int, error) { return 0, nil }
