package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spec is what a keeper is told on its control pipe.
type spec struct {
	Kind   kind     `json:"kind"`
	Parent int      `json:"parent"` // who tells it
	Text   string   `json:"text"`
	Dir    string   `json:"dir"`
	Temp   string   `json:"temp"` // as the caller sees it
	Env    []string `json:"env"`
	Read   []string `json:"read"`
	Hidden []string `json:"hidden"`
}

// report is what it answers on its status pipe.
type report struct {
	Code   int    `json:"code"`
	Signal int    `json:"signal"`
	Ended  bool   `json:"ended"`
	Failed string `json:"failed"` // nothing was run, and why
}

// The files of a keeper beyond the usual three.
const (
	controlFD = 0
	statusFD  = 3
)

// Main is the keeper: what Options.Self starts. It returns its exit code.
func Main([]string) int {
	if unix.CloseRange(statusFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		return 2 // older than all that follows
	}
	control, status := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	var s spec
	if err := json.NewDecoder(control).Decode(&s); err != nil {
		return 2 // a person typed it
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, control) // an error ends the command as well
	}()
	if json.NewEncoder(status).Encode(keep(s, gone)) != nil {
		return 1
	}
	return 0
}

// keep runs the command until it exits or gone is closed, and returns when all of its processes have ended, or are about to
// because the first process of their namespace, this one, returns.
func keep(s spec, gone <-chan struct{}) report {
	proc, err := prepare(s)
	if err != nil {
		return report{Failed: err.Error()}
	}
	spare()
	begun, end := make(chan error, 1), make(chan struct{})
	exited, empty := make(chan unix.WaitStatus, 1), make(chan struct{})
	killed := make(chan struct{})
	go aside(func() {
		defer close(killed)
		err := restrict(s, proc)
		pid := 0
		if err == nil {
			pid, err = start(s)
		}
		begun <- err
		if err != nil {
			return
		}
		go reap(pid, exited, empty)
		<-end
		if s.Kind == bare {
			// From here -1 is every process behind the same Landlock walls, at one instant: restrict has tried that.
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	})
	if err := <-begun; err != nil {
		return report{Failed: err.Error()}
	}
	var r report
	select {
	case ws := <-exited:
		r.Code = ws.ExitStatus()
		if ws.Signaled() {
			r.Signal = int(ws.Signal())
		}
	case <-gone:
		r.Ended = true
	}
	close(end)
	<-killed
	switch s.Kind {
	case bare:
		<-empty
	case unboxed:
		sweep(empty)
	case own, bwrap: // the namespace ends with us
	}
	return r
}

// spare makes the threads that the rest can need, which the runtime then keeps: when the command has made as many processes as
// it may, there is no room for one more, and a runtime that gets no thread gives up.
func spare() {
	const threads = 12
	var all, held sync.WaitGroup
	held.Add(threads)
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			held.Wait() // each has one of its own
		})
	}
	all.Wait()
}

// aside calls f on a thread that nothing else uses, and that ends with it: walls cannot be taken down. It is not the first
// thread, by which others judge a process: were that behind the walls, the command could signal us.
func aside(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		aside(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// prepare does what concerns the whole process.
func prepare(s spec) (proc bool, err error) {
	// Before a machine without memory kills us it shall kill what we run.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	switch s.Kind {
	case unboxed, bare:
		// Whose parent dies becomes our child, and not init's.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return false, err
		}
	case own:
		if proc, err = enclose(s.Dir, s.Temp, s.Hidden); err != nil {
			return false, err
		}
	case bwrap:
		proc = true
	default:
		return false, errors.New("no such kind of sandbox")
	}
	if s.Kind == unboxed {
		return false, nil
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_NOFILE: 4096}
	if s.Kind != bare {
		limits[unix.RLIMIT_NPROC] = 1024 // counted in the user namespace; outside it would count what the user has anyway
	}
	for what, n := range limits {
		var had syscall.Rlimit
		if err := syscall.Getrlimit(what, &had); err != nil {
			return false, err
		}
		n = min(n, had.Max)
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return false, err
		}
	}
	// Our memory and files are not for the command, which in a PID namespace sees us as process 1.
	return proc, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// start starts the shell on this thread, in a session of its own, with nothing but an empty input and the output.
func start(s spec) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	const out = 1
	//nolint:gosec // that is what it is for
	return syscall.ForkExec("/bin/sh", []string{"sh", "-c", s.Text}, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{null.Fd(), out, out}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// reap waits for every child; of one it tells how it ended.
func reap(pid int, exited chan<- unix.WaitStatus, empty chan<- struct{}) {
	defer close(empty)
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return // no child is left
		case got == pid:
			exited <- ws
		}
	}
}

// sweep kills children, and the children that these leave to us, until there are none. What forks faster than this gets
// away for as long as it does: only a sandbox excludes that.
func sweep(empty <-chan struct{}) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	me := []byte(strconv.Itoa(os.Getpid()))
	for {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
			// "pid (name) state parent …", where the name can hold anything
			fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
			if len(fields) > 1 && bytes.Equal(fields[1], me) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		select {
		case <-empty:
			return
		case <-tick.C:
		}
	}
}
