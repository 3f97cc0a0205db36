package launch

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// tree is the program alone: what it has started is not found on this system.
type tree struct {
	cmd  *exec.Cmd
	pid  int
	mark string
}

func attributes() *syscall.SysProcAttr { return nil }

func seal() {} // only what a child is given is inherited here

func (t *tree) await() { _ = t.cmd.Wait() }

func (t *tree) reap() *os.ProcessState { return t.cmd.ProcessState }

func (t *tree) left() bool { return false }

func (t *tree) terminate() {} // there is no such request here

func (t *tree) kill() { _ = t.cmd.Process.Kill() }

func owner() string { return strconv.Itoa(os.Getpid()) }

// Sweep does nothing on this system: what is left of a server would not be found.
func Sweep(context.Context, string, *slog.Logger) (int, error) { return 0, nil }
