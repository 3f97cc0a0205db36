package launch

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a program and all that it has started. The program stays a zombie until reap, and so its number stays its own.
type tree struct {
	cmd  *exec.Cmd
	pid  int // of the program, of its process group and of its session
	mark string
}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// seal keeps descriptors from children that we were started with ourselves, by a shell or a service manager; those that Go opens are
// sealed already.
func seal() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for _, fd := range numbers("/proc/self/fd") { // before Linux 5.11
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// await returns when the program has ended.
func (t *tree) await() {
	for {
		err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap takes the program off the system's list. Nothing may be signalled any more.
func (t *tree) reap() *os.ProcessState {
	_ = t.cmd.Wait() // how it ended is in the state
	return t.cmd.ProcessState
}

// left says whether anything of the tree is alive. It looks twice: a process that is just becoming another program has no
// environment for a moment.
func (t *tree) left() bool {
	for range 2 {
		if len(t.members()) > 0 {
			return true
		}
	}
	return false
}

func (t *tree) terminate() { t.signal(unix.SIGTERM) }

func (t *tree) kill() { t.signal(unix.SIGKILL) }

func (t *tree) signal(sig unix.Signal) {
	// In one step, so that none of the group can start another in between.
	_ = unix.Kill(-t.pid, sig)
	for _, m := range t.members() {
		if m.group != t.pid { // nobody gets a signal twice: some take the second SIGTERM for an order to drop everything
			send(m.pid, sig, func() bool { _, ok := t.member(m.pid); return ok })
		}
	}
}

// members are the living processes of the tree.
func (t *tree) members() []status {
	var list []status
	for _, pid := range numbers("/proc") {
		if st, ok := t.member(pid); ok {
			list = append(list, st)
		}
	}
	return list
}

func (t *tree) member(pid int) (status, bool) {
	st, ok := statusOf(pid)
	if !ok || !st.alive() || pid == os.Getpid() {
		return st, false
	}
	if st.group == t.pid || st.session == t.pid {
		return st, true
	}
	mark, ok := markOf(pid)
	return st, ok && mark == t.mark
}

// send signals a process if it is, when it can no longer turn into another one, still the one that is meant.
func send(pid int, sig unix.Signal, meant func() bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		// An old kernel, or a filter of system calls; or it is gone.
		if !errors.Is(err, unix.ESRCH) && meant() {
			_ = unix.Kill(pid, sig)
		}
		return
	}
	defer unix.Close(fd) //nolint:errcheck // it was only signalled through
	if meant() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
