//go:build unix && !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Box runs commands without a sandbox: there is none for this system yet.
type Box struct{}

// New refuses all modes but None.
func New(o Options) (*Box, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Mode != None {
		return nil, unavailable(errors.New("it takes Linux"))
	}
	return &Box{}, nil
}

// Kind says what the sandbox is made of.
func (b *Box) Kind() string { return string(None) }

// Main is not used on this system.
func Main([]string) int { return 2 }

// Run runs a command and writes what it prints to out. Only the process group of the command is killed at its end: what
// has left the group gets away.
func (b *Box) Run(ctx context.Context, c Command, out io.Writer) (Status, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Text) //nolint:gosec // that is what it is for
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, append([]string{}, c.Env...), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	group := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = group, 2*time.Second
	if err := cmd.Start(); err != nil {
		return Status{}, err
	}
	// What still holds the output after the shell has exited is cut off after WaitDelay.
	err := cmd.Wait()
	_ = group()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return Status{Ended: true}, nil
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return Status{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return Status{Signal: unix.SignalName(ws.Signal())}, nil
	}
	return Status{Code: cmd.ProcessState.ExitCode()}, nil
}
