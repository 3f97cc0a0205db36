package daemon

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of utime and stime in /proc/<pid>/stat: USER_HZ, 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// CPU is the processor time that the process has used so far, in steps of 10 ms.
func (p *Process) CPU() (time.Duration, error) { return cpuOf(p.PID()) }

func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	_, rest, ok := strings.Cut(string(b), ") ") // the name before it may hold anything
	f := strings.Fields(rest)
	if !ok || len(f) < 13 {
		return 0, fmt.Errorf("processor time: cannot read %q", b)
	}
	var sum int64
	for _, v := range f[11:13] { // fields 14 and 15 of proc(5): utime, stime
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// RSS is the resident memory of the process in bytes, now.
func (p *Process) RSS() (int64, error) {
	n, err := p.status("VmRSS")
	return n * 1024, err
}

// Threads is how many threads of the system the process has, now.
func (p *Process) Threads() (int, error) {
	n, err := p.status("Threads")
	return int(n), err
}

// status is a number of /proc/<pid>/status.
func (p *Process) status(name string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("status of the process: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		v, ok := strings.CutPrefix(line, name+":")
		if f := strings.Fields(v); ok && len(f) > 0 {
			n, err := strconv.ParseInt(f[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("status of the process: %s: %w", name, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("status of the process: no %s of process %d", name, p.PID())
}

// Descendants are the ids of the processes that the process has started, and of those that these have, now.
func (p *Process) Descendants() ([]int, error) { return DescendantsOf(p.PID()) }

// DescendantsOf is the same of any process.
func DescendantsOf(ancestor int) ([]int, error) {
	parents, err := parents()
	if err != nil {
		return nil, err
	}
	var out []int
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == ancestor {
				out = append(out, pid)
				break
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// parents has the parent of each process of this machine that is no zombie.
func parents() (map[int]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	out := map[int]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			return nil, fmt.Errorf("processes: %w", err)
		}
		_, rest, _ := strings.Cut(string(b), ") ") // the name before it may hold anything
		if v := strings.Fields(rest); len(v) > 1 && v[0] != "Z" {
			if out[pid], err = strconv.Atoi(v[1]); err != nil {
				return nil, fmt.Errorf("processes: %w", err)
			}
		}
	}
	return out, nil
}

// Holding counts the processes of this machine that have a text in their arguments.
func Holding(text string) (n int, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			n++
		}
	}
	return n, nil
}

// Command runs one short command of the binary, on an empty home, and returns what it cost.
func Command(ctx context.Context, bin string, args ...string) (wall, cpu time.Duration, err error) {
	home, err := os.MkdirTemp("", "jetclaw-command-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	return CommandOn(ctx, bin, home, args...)
}

// CommandOn is Command on a home that is there.
func CommandOn(ctx context.Context, bin, home string, args ...string) (wall, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), "JETCLAW_HOME="+home)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%s %s: %w\n%s", bin, strings.Join(args, " "), err, out)
	}
	return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// Spent is the processor time that the process has used when it has ended.
func (p *Process) Spent() time.Duration {
	<-p.done
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Files is how many file descriptors the process has open, now.
func (p *Process) Files() (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("descriptors of the process: %w", err)
	}
	return len(all), nil
}
