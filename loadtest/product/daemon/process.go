package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// Process is one running jetclaw.
type Process struct {
	Started time.Time // just before it was executed
	cmd     *exec.Cmd
	done    chan struct{}
	err     error // of Wait; read after done
	log     *os.File
}

// readyPoll is how often a starting daemon is asked; start-to-ready is known to this precision.
const readyPoll = 2 * time.Millisecond

// modelKey is a secret to the daemon, which takes it out of whatever it shows: it must be in no text of a load test.
const modelKey = "key-of-no-model"

// Start executes `jetclaw run` with flags on a home. Its output is appended to daemon.log beside the home.
func Start(bin string, h Home, flags ...string) (*Process, error) {
	if h.Monitor != "" {
		flags = append([]string{"--monitor", h.Monitor}, flags...)
	}
	cmd := exec.CommandContext(context.Background(), bin, append([]string{"run"}, flags...)...) // ended by Kill or Stop only, and with this process
	cmd.Env = h.environ()
	return Launch(cmd, h.LogFile())
}

// Launch executes a command whose output is appended to a file. Like a daemon it lives until it ends, is stopped or killed, or this
// process ends.
func Launch(cmd *exec.Cmd, logFile string) (*Process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	p, err := start(cmd)
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	p.log = log
	return p, nil
}

// LogFile is where the daemon's output goes.
func (h Home) LogFile() string { return filepath.Clean(h.Dir) + ".log" }

// start runs cmd in its own process group. The thread that forks must live as long as the child: Pdeathsig watches it.
func start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	began := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		p.Started = time.Now()
		err := cmd.Start()
		began <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ready waits until the HTTP channel of h answers and returns when that was.
func (p *Process) Ready(ctx context.Context, h Home) (time.Time, error) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if answers(ctx, client, h.URL()) {
			return time.Now(), nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return time.Time{}, fmt.Errorf("jetclaw ended before it was ready: %w\n%s", p.exit(), Tail(h.LogFile(), 2000))
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("jetclaw is not ready: %w\n%s", context.Cause(ctx), Tail(h.LogFile(), 2000))
		}
	}
}

// answers tells whether the daemon serves: any answer but a 5xx counts.
func answers(ctx context.Context, c *http.Client, base string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return false
	}
	res, err := c.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode < 500
}

// Kill sends SIGKILL to the process and everything that it started, and waits.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	<-p.done
	p.closeLog()
}

// Pause has the process and what it has started stand still, as they are.
func (p *Process) Pause() { _ = syscall.Kill(-p.PID(), syscall.SIGSTOP) }

// Resume has them go on.
func (p *Process) Resume() { _ = syscall.Kill(-p.PID(), syscall.SIGCONT) }

// Err is how the process has ended: nil for exit code 0. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Stop sends SIGTERM and waits; after patience it kills and returns an error.
func (p *Process) Stop(patience time.Duration) error {
	defer p.closeLog()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("jetclaw after SIGTERM: %w", p.err)
		}
		return nil
	case <-t.C:
		p.Kill()
		return fmt.Errorf("jetclaw did not end within %s of SIGTERM", patience)
	}
}

// Quit has the process die with a list of its goroutines in its log, and counts them. No other way tells from outside.
func (p *Process) Quit(h Home, patience time.Duration) (goroutines int, err error) {
	defer p.closeLog()
	before, err := os.Stat(h.LogFile())
	if err != nil {
		return 0, fmt.Errorf("log of the daemon: %w", err)
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Kill()
		return 0, fmt.Errorf("jetclaw did not end within %s of SIGQUIT", patience)
	}
	b, err := os.ReadFile(h.LogFile())
	if err != nil {
		return 0, fmt.Errorf("log of the daemon: %w", err)
	}
	if goroutines = Goroutines(b[before.Size():]); goroutines == 0 {
		return 0, fmt.Errorf("jetclaw left no list of its goroutines:\n%s", Tail(h.LogFile(), 2000))
	}
	return goroutines, nil
}

// goroutineHead begins each of the list, as in "goroutine 7 [select, 2 minutes]:".
var goroutineHead = regexp.MustCompile(`(?m)^goroutine \d+ [^\n]*\[[^\n]*\]:$`)

// Goroutines counts those of a list that the Go runtime has written.
func Goroutines(dump []byte) int { return len(goroutineHead.FindAllIndex(dump, -1)) }

func (p *Process) exit() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

func (p *Process) closeLog() {
	if p.log != nil {
		_ = p.log.Close()
	}
}

// Tail is the end of a file, for an error message.
func Tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(b) > n {
		b = b[len(b)-n:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return string(b)
}
