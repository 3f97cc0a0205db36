package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// Process is a program that was started. Its methods can be called at any time, from several goroutines.
type Process struct {
	tree  tree
	pipe  pipes
	grace time.Duration
	log   *slog.Logger

	stdout *messages
	stderr tail

	closeOnce, hurryOnce sync.Once

	closing chan struct{} // closed: somebody wants it to end
	hurry   chan struct{} // closed: and has no time
	killed  chan struct{} // closed: SIGKILL was sent to all that was there
	done    chan struct{} // closed: nothing is left

	mu   sync.Mutex
	exit string
}

// Reader is stdout: lines that are JSON objects, each with its newline. One goroutine may read. It ends with io.EOF, also after
// Close, or with ErrLine.
func (p *Process) Reader() io.ReadCloser { return p.stdout }

// Writer is stdin. A write waits for as long as the child does not read; Close of the writer or of the process ends it.
func (p *Process) Writer() io.WriteCloser { return stdin{p.pipe.in} }

// Stderr are the last lines of stderr, without secrets and without what a terminal would take for commands.
func (p *Process) Stderr() string { return p.stderr.text() }

// Dropped counts lines of stdout that were no JSON objects; empty ones do not count.
func (p *Process) Dropped() int { return int(p.stdout.dropped.Load()) }

// PID is the program's number. After Done it may be another's.
func (p *Process) PID() int { return p.tree.pid }

// Done is closed when the program has ended, and with it all that it had started.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the program ended: "exited with status 1", "killed by signal: terminated". It is empty until Done.
func (p *Process) Exit() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Close ends the program as the package comment says and returns when nothing is left of it. If ctx ends before that, it skips
// what patience is left, and returns an error when SIGKILL has been sent; the rest goes on without it.
func (p *Process) Close(ctx context.Context) error {
	p.closeOnce.Do(func() { close(p.closing) })
	select {
	case <-p.done:
	case <-ctx.Done():
		p.hurryOnce.Do(func() { close(p.hurry) })
		select {
		case <-p.done:
		case <-p.killed:
		}
	}
	select {
	case <-p.done:
		p.pipe.out.Close()
		return nil
	default:
		return fmt.Errorf("process %d was killed and has not ended yet: %w", p.tree.pid, context.Cause(ctx))
	}
}

const (
	drain      = 250 * time.Millisecond // for what stderr still holds, if somebody else holds it too
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	complain   = 5 * time.Second // a killed process ends at once, unless the kernel is in its way
)

// live is the life of the program, from its start until nothing is left. It owns the goroutines that it starts.
func (p *Process) live() {
	exited, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(exited)
		p.tree.await()
	}()
	go func() {
		defer close(drained)
		_, _ = io.Copy(&p.stderr, p.pipe.err)
	}()
	grace := p.grace
	select {
	case <-p.closing:
	case <-exited:
		grace = 0
	}
	p.pipe.in.Close()
	if !p.over(exited, grace, p.hurry) {
		p.tree.terminate()
		if !p.over(exited, p.grace, p.hurry) {
			p.kill(exited)
		}
	}
	state := p.tree.reap()
	_ = p.pipe.err.SetReadDeadline(time.Now().Add(drain))
	<-drained
	p.pipe.err.Close()
	p.stderr.end()
	p.mu.Lock()
	p.exit = ending(state)
	p.mu.Unlock()
	select {
	case <-p.closing:
		p.pipe.out.Close() // Close may have returned already
	default: // the last messages can still be read
	}
	close(p.done)
}

// kill does not give up: a process that started another while it was being killed is found in the next round.
func (p *Process) kill(exited <-chan struct{}) {
	begun, told := time.Now(), false
	for p.tree.kill(); ; p.tree.kill() {
		select {
		case <-p.killed:
		default:
			close(p.killed)
		}
		if p.over(exited, 10*lastPause, nil) {
			return
		}
		if !told && time.Since(begun) > complain {
			told = true
			p.log.Warn("processes of the server do not end though they were killed", "pid", p.tree.pid)
		}
	}
}

// over waits until the program has ended and nothing else is left of it, for so long at most.
func (p *Process) over(exited <-chan struct{}, limit time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-exited:
	default:
		select {
		case <-exited:
		case <-timer.C:
			return false
		case <-hurry:
			return false
		}
	}
	for pause := firstPause; p.tree.left(); pause = min(2*pause, lastPause) {
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-timer.C:
			wait.Stop()
			return false
		case <-hurry:
			wait.Stop()
			return false
		}
	}
	return true
}

func ending(state *os.ProcessState) string {
	if state == nil {
		return "ended in an unknown way"
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "killed by signal: " + ws.Signal().String()
	}
	return fmt.Sprintf("exited with status %d", state.ExitCode())
}

// stdin can be closed twice.
type stdin struct{ file *os.File }

func (s stdin) Write(b []byte) (int, error) { return s.file.Write(b) }

func (s stdin) Close() error {
	if err := s.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
