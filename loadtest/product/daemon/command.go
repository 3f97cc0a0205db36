package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Output is what a command has said and cost.
type Output struct {
	Stdout []byte
	Stderr []byte
	Code   int // of its exit
	Took   time.Duration
	CPU    time.Duration
	// Peak is the most memory that it had at a time, in bytes. The system counts what its parent had when it was started: no less
	// than the resident memory of this process.
	Peak int64
}

// Run has the binary carry out one command on a home, as its user would. Another exit code than 0 is no error here; a command
// that was killed is one.
func (h Home) Run(ctx context.Context, bin string, args ...string) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.environ(), &stdout, &stderr
	p, err := start(cmd)
	if err != nil {
		return Output{}, err
	}
	<-p.done
	o := Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Took: time.Since(p.Started)}
	var exit *exec.ExitError
	if p.err != nil && (!errors.As(p.err, &exit) || !exit.Exited()) {
		return o, fmt.Errorf("jetclaw %s: %w\n%s", strings.Join(args, " "), errors.Join(p.err, context.Cause(ctx)), bytes.TrimSpace(o.Stderr))
	}
	o.Code, o.CPU = cmd.ProcessState.ExitCode(), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.Peak = u.Maxrss * 1024
	}
	return o, nil
}

// environ is what the commands of a home are given.
func (h Home) environ() []string {
	env := append(os.Environ(), "JETCLAW_HOME="+h.Dir, "LOADTEST_MODEL_KEY="+modelKey, "GOTRACEBACK=all")
	env = append(env, h.Env...)
	if h.Telegram != nil {
		env = append(env, "LOADTEST_TELEGRAM_TOKEN="+h.Telegram.Token)
	}
	return env
}

// TakeData gives the home a copy of another one's store. Nobody may be using that meanwhile; it is not changed.
func (h Home) TakeData(from string) error {
	other := Home{Dir: from}
	if _, err := os.Stat(other.Data()); err != nil {
		return fmt.Errorf("store of %s: %w", from, err)
	}
	lock, err := os.Open(other.lock())
	switch {
	case errors.Is(err, os.ErrNotExist): // nobody has ever used it here
	case err != nil:
		return fmt.Errorf("lock of %s: %w", from, err)
	default:
		defer func() { _ = lock.Close() }()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
			return fmt.Errorf("a jetclaw is using %s: stop it first (%w)", from, err)
		}
	}
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		return fmt.Errorf("make the store: %w", err)
	}
	if err := os.CopyFS(h.Data(), os.DirFS(other.Data())); err != nil {
		return fmt.Errorf("copy the store of %s: %w", from, err)
	}
	return nil
}
