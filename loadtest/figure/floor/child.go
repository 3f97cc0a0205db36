package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/jetclaw/jetclaw/loadtest/bench/leash"
)

// The commands by which this program runs itself as a child.
const (
	BusCommand = "floor-server" // a Job on stdin, a Result on stdout
	WebCommand = "floor-http"   // the model's URL as argument; prints its own, ends with its stdin
)

// ServeBus is the child's side of Bus.
func ServeBus(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, RunBus)
}

// ServeWeb is the child's side of StartWebChild.
func ServeWeb(ctx context.Context, model string, in io.Reader, out io.Writer) error {
	w, err := StartWeb(model)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := fmt.Fprintln(out, w.URL()); err != nil {
		return err
	}
	leash.Wait(ctx, in)
	return nil
}

// Bus runs a job in a process of its own.
func Bus(ctx context.Context, j Job) (Result, error) { return ask[Result](ctx, BusCommand, j) }

// ask has a child of this program carry out a command: what it is to do on its stdin, what came of it on its stdout.
func ask[Told, Asked any](ctx context.Context, command string, a Asked) (r Told, err error) {
	in, err := json.Marshal(a)
	if err != nil {
		return r, err
	}
	var out, trouble bytes.Buffer
	cmd, err := child(ctx, command)
	if err != nil {
		return r, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &trouble
	if err := onThread(cmd.Run); err != nil {
		return r, fmt.Errorf("floor process: %w: %s", err, bytes.TrimSpace(trouble.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("floor process said %.200q: %w", out.Bytes(), err)
	}
	return r, nil
}

// serve is the child's side of ask.
func serve[Told, Asked any](ctx context.Context, in io.Reader, out io.Writer, do func(context.Context, Asked) (Told, error)) error {
	var a Asked
	if err := json.NewDecoder(in).Decode(&a); err != nil {
		return fmt.Errorf("floor: what to do: %w", err)
	}
	r, err := do(ctx, a)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// WebChild is a server in a process of its own.
type WebChild struct {
	URL   string
	stdin io.Closer
	ended chan error
}

// StartWebChild starts a Web; ctx ends it too.
func StartWebChild(ctx context.Context, model string) (*WebChild, error) {
	return StartChild(ctx, WebCommand, model)
}

// StartChild has this program carry out a command that prints its URL first and ends with its stdin; ctx ends it too.
func StartChild(ctx context.Context, command ...string) (*WebChild, error) {
	cmd, err := child(ctx, command...)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	c := &WebChild{stdin: stdin, ended: make(chan error, 1)}
	first := make(chan string, 1)
	began := make(chan error, 1)
	go func() {
		c.ended <- onThread(func() error {
			err := cmd.Start()
			began <- err
			if err != nil {
				return err
			}
			line, _ := bufio.NewReader(stdout).ReadString('\n')
			first <- strings.TrimSpace(line)
			return cmd.Wait()
		})
	}()
	if err := <-began; err != nil {
		return nil, fmt.Errorf("floor process: %w", err)
	}
	if c.URL = <-first; c.URL == "" {
		return nil, errors.Join(errors.New("floor process ended at once"), <-c.ended)
	}
	return c, nil
}

// Close ends the child and waits for it.
func (c *WebChild) Close() error {
	_ = c.stdin.Close()
	return <-c.ended
}

// child is this program again, in a group of its own; it dies with this process.
func child(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("floor process: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// onThread keeps the thread that forks for as long as its child lives: Pdeathsig watches the thread.
func onThread(f func() error) error {
	ch := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		ch <- f()
	}()
	return <-ch
}
