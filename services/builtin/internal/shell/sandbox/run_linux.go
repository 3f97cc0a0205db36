package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// endTimeout is what a keeper has to end a command. Then it is killed itself, and its namespace with it.
	endTimeout = 10 * time.Second
	// restTimeout is what output that is still in the pipe has to be read.
	restTimeout = 5 * time.Second
)

// Run runs a command and writes what it prints to out, standard output and errors in their order. It returns when no process
// of the command is left.
func (b *Box) Run(ctx context.Context, c Command, out io.Writer) (Status, error) {
	if ctx.Err() != nil {
		return Status{Ended: true}, nil
	}
	temp, err := os.MkdirTemp("", "jetclaw-exec-")
	if err != nil {
		return Status{}, err
	}
	defer discard(temp)
	s, v, err := b.spec(c, unlinked(temp))
	if err != nil {
		return Status{}, err
	}
	told, err := json.Marshal(s)
	if err != nil {
		return Status{}, err
	}
	cmd, files, err := b.command(s, v)
	if err != nil {
		return Status{}, err
	}
	k, err := begin(cmd, files)
	if err != nil {
		return Status{}, fmt.Errorf("start the keeper: %w", err)
	}
	defer k.close()
	return k.see(ctx, told, out)
}

// spec is what the keeper is told about a command.
func (b *Box) spec(c Command, temp string) (spec, view, error) {
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil || !filepath.IsAbs(dir) {
		return spec{}, view{}, fmt.Errorf("%w: it is no folder", ErrPlace)
	}
	s := spec{Kind: b.kind, Parent: os.Getpid(), Text: c.Text, Dir: dir, Temp: temp, Env: slices.Clone(c.Env)}
	seen := temp
	if b.kind == own || b.kind == bwrap {
		seen = ownTemp
	}
	s.Env = append(s.Env, "TMPDIR="+seen)
	if b.kind == unboxed {
		return s, view{}, nil
	}
	for _, h := range b.hidden {
		s.Hidden = append(s.Hidden, unlinked(h))
	}
	// Landlock grants a folder whole. The system is no workspace either.
	for _, h := range append([]string{"/etc", "/usr", "/proc", "/dev", temp}, s.Hidden...) {
		if within(h, dir) {
			return spec{}, view{}, ErrPlace
		}
	}
	v := look(s.Hidden)
	s.Read = v.read
	return s, v, nil
}

// process is a keeper that has been started.
type process struct {
	cmd     *exec.Cmd
	control *os.File
	status  *os.File
	output  *os.File
	note    note // what bubblewrap says about itself
}

func begin(cmd *exec.Cmd, files []*os.File) (k *process, err error) {
	k = &process{cmd: cmd}
	theirs := files
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			k.close()
		}
	}()
	pipe := func(mine **os.File, writes bool) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if writes {
			r, w = w, r
		}
		*mine, theirs = r, append(theirs, w)
		return w, nil
	}
	control, err := pipe(&k.control, true)
	if err != nil {
		return nil, err
	}
	status, err := pipe(&k.status, false)
	if err != nil {
		return nil, err
	}
	output, err := pipe(&k.output, false)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = control, output, &k.note
	cmd.ExtraFiles = append([]*os.File{status}, files...)
	cmd.WaitDelay = restTimeout
	return k, cmd.Start()
}

func (k *process) close() {
	for _, f := range []*os.File{k.control, k.status, k.output} {
		if f != nil {
			f.Close()
		}
	}
}

// see sees the command through to its end.
func (k *process) see(ctx context.Context, told []byte, out io.Writer) (Status, error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(writer{out}, k.output)
	}()
	ended := make(chan error, 1)
	go func() { ended <- k.cmd.Wait() }()

	// A keeper that does not listen has failed, and says so below.
	_ = k.control.SetWriteDeadline(time.Now().Add(endTimeout))
	_, _ = k.control.Write(told)

	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		k.control.Close()
		err = k.end(ended)
	}
	_ = k.output.SetReadDeadline(time.Now().Add(restTimeout))
	<-read
	_ = k.status.SetReadDeadline(time.Now().Add(restTimeout))
	var r report
	if json.NewDecoder(k.status).Decode(&r) != nil {
		r.Ended = ctx.Err() != nil
		if r.Ended {
			return Status{Ended: true}, nil
		}
		return Status{}, fmt.Errorf("%w: its keeper is gone (%w): %s", ErrUnknown, errors.Join(err, io.ErrUnexpectedEOF), k.note.text)
	}
	if r.Failed != "" {
		return Status{}, errors.New(r.Failed)
	}
	st := Status{Code: r.Code, Ended: r.Ended}
	if r.Signal != 0 {
		st.Code, st.Signal = 0, unix.SignalName(syscall.Signal(r.Signal))
	}
	return st, nil
}

// end waits for a keeper that was told to end, for a while.
func (k *process) end(ended <-chan error) error {
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	_ = k.cmd.Process.Kill()
	return <-ended
}

// writer hides that out may have other methods; a pipe is read until its end, whatever out thinks of it.
type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	_, _ = w.Writer.Write(p)
	return len(p), nil
}

// note keeps the beginning of what is written.
type note struct{ text []byte }

func (n *note) Write(p []byte) (int, error) {
	if room := 1<<10 - len(n.text); room > 0 {
		n.text = append(n.text, bytes.ToValidUTF8(p[:min(room, len(p))], nil)...)
	}
	return len(p), nil
}
