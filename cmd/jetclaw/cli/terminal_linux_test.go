package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a command in a pseudo-terminal of its own.
type terminal struct {
	t     *testing.T
	keys  *os.File
	shown *watched // without carriage returns
	bytes *watched
	ended chan error
	pid   int
}

// screen is what a person sees on a terminal so wide.
func (t *terminal) screen(columns int) string { return screenOf(t.bytes.String(), columns) }

// open runs a command in a terminal that does not say how large it is.
func (u *user) open(args ...string) *terminal {
	u.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		u.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		u.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	c := u.command(args...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		u.t.Fatal(err)
	}
	term := &terminal{t: u.t, keys: master, shown: newWatched(), bytes: newWatched(), ended: make(chan error, 1), pid: c.Process.Pid}
	go term.read(master, c)
	return term
}

// read copies what is shown, without carriage returns, until the process has ended.
func (t *terminal) read(master *os.File, c *exec.Cmd) {
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		if n > 0 {
			_, _ = t.bytes.Write(buf[:n])                                      // never fails
			_, _ = t.shown.Write(bytes.ReplaceAll(buf[:n], []byte("\r"), nil)) // never fails
		}
		if err != nil { // EIO: nobody has it open any more
			break
		}
	}
	t.ended <- c.Wait()
	t.shown.close()
}

func (t *terminal) press(keys string) {
	t.t.Helper()
	if _, err := t.keys.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

func (t *terminal) end() (code int) {
	t.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case err := <-t.ended:
		return codeOf(t.t, err)
	case <-limit.C:
		t.t.Fatalf("it does not end:\n%s", t.shown)
		return -1
	}
}

func TestAnswerStreamsToATerminal(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "", model.env()...)
	term := u.open("chat", "hold the line, \x1b[31mplease")
	<-model.began
	term.shown.waitFor(t, "re: ") // before the answer is whole
	close(model.hold)
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	shown := term.shown.String()
	if n := strings.Count(shown, "re: hold the line, [31mplease\n"); n != 1 {
		t.Errorf("shown %d times, without control characters:\n%q", n, shown)
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "", model.env()...)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("one\n")
	term.shown.waitFor(t, "re: one\n> ")
	term.press("hold two\n")
	<-model.began
	term.press(string(ctrlC))
	term.shown.waitFor(t, "Stopped.\n> ")
	term.press("/new\n")
	term.shown.waitFor(t, "A new beginning.\n> ")
	term.press("hold three\n")
	<-model.began
	term.press("/stop\n")
	term.press("four\n")
	if shown := term.shown.waitFor(t, "re: four\n> "); strings.Count(shown, "Stopped.\n") != 2 {
		t.Errorf("%s", shown)
	}
	term.press(string(ctrlC)) // nothing to stop: leaves
	if code := term.end(); code != 0 {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
	if shown := term.shown.String(); strings.Count(shown, "re: one\n") != 1 {
		t.Errorf("the answer is shown twice or not at all:\n%s", shown)
	}
}

// TestWhileAway leaves before the answer comes, and finds it later.
func TestWhileAway(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	u.start()
	u.run("chat", "before").want(t, 0)
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("hold on\n")
	<-model.began
	term.press("/quit\n")
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "1 without an answer yet") {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
	term = u.open("chat")
	term.shown.waitFor(t, "1 sent earlier, without an answer yet")
	close(model.hold)
	term.shown.waitFor(t, "re: hold on\n> ") // it came while the next one was looking
	term.press("/quit\n")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	term = u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("/quit\n")
	if term.end(); strings.Contains(term.shown.String(), "re: ") {
		t.Errorf("old answers are news again:\n%s", term.shown)
	}
}

// TestDaemonIsKilledUnderAConversation: the person waits, and is answered by the next daemon.
func TestDaemonIsKilledUnderAConversation(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("hold on\n")
	<-model.began
	d.kill()
	term.shown.waitFor(t, "The daemon is gone.")
	close(model.hold)
	u.start()
	term.shown.waitFor(t, "It is back.")
	term.shown.waitFor(t, "re: hold on\n> ")
	term.press("/quit\n")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestCtrlCWhileNobodyAnswers: a daemon that hangs, or never gets ready, does not hold the person.
func TestCtrlCWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	asking := u.open("chat", "hold on")
	asking.shown.waitFor(t, "re: ")
	if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	asking.press(string(ctrlC))
	asking.shown.waitFor(t, "stopping")
	asking.press(string(ctrlC))
	if code := asking.end(); code != 1 || !strings.Contains(asking.shown.String(), "without knowing whether") {
		t.Errorf("exit %d\n%s", code, asking.shown)
	}
	d.kill()

	lock, err := os.OpenFile(filepath.Join(u.home, "run", "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock.Name(), []byte(`{"pid":1,"serves":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(u.home, "run", "endpoint.json")); err != nil {
		t.Fatal(err)
	}
	waiting := u.open("chat", "x")
	waiting.shown.waitFor(t, "starting")
	waiting.press(string(ctrlC))
	if code := waiting.end(); code != 1 || !strings.Contains(waiting.shown.String(), "nothing was sent") {
		t.Errorf("exit %d\n%s", code, waiting.shown)
	}
}

// TestSeenInAnotherJournal: what a person saw in a journal that was removed says nothing about the next one.
func TestSeenInAnotherJournal(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for range 2 {
		u.run("chat", "x").want(t, 0)
	}
	if err := os.RemoveAll(filepath.Join(u.home, "data")); err != nil {
		t.Fatal(err)
	}
	term := u.open("chat")
	term.shown.waitFor(t, "> ")
	term.press("hello\n")
	term.shown.waitFor(t, "\"value\"}\n> ")
	term.press("/quit\n")
	if code := term.end(); code != 0 || strings.Contains(term.shown.String(), "without an answer") {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
}
