package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestFirstMessageWhileAway leaves a new session before its first answer, and finds it later.
func TestFirstMessageWhileAway(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	u.start()
	term := u.open("chat", "--session", "miss")
	term.shown.waitFor(t, "> ")
	term.press("hold on\n")
	<-model.began
	term.press("\x04") // Ctrl-D
	if code := term.end(); code != 0 || !strings.Contains(term.shown.String(), "it will be here when you come back") {
		t.Errorf("exit %d\n%s", code, term.shown)
	}
	close(model.hold)
	u.run("chat", "--session", "miss", "waits for the first").want(t, 0) // and takes nothing away
	term = u.open("chat", "--session", "miss")
	term.shown.waitFor(t, "re: hold on\n")
	term.press("/quit\n")
	if code := term.end(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestDaemonIsKilledUnderAQuestion: the next daemon's answer comes at once, alone on stdout.
func TestDaemonIsKilledUnderAQuestion(t *testing.T) {
	t.Parallel()
	model, address := newFakeModel(t), freeAddress(t)
	u := newUser(t, httpYAML(address), model.env()...)
	d := u.start()
	chat := u.command("chat", "hold on")
	var out bytes.Buffer
	told := newWatched()
	chat.Stdout, chat.Stderr = &out, told
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	<-model.began
	d.kill()
	close(model.hold)
	u.start()
	began := time.Now()
	if code := codeOf(t, chat.Wait()); code != 0 || out.String() != "re: hold on\n" || strings.Contains(told.String(), "does not answer") {
		t.Errorf("exit %d\n%s\n%s", code, &out, told)
	}
	if d := time.Since(began); d > askWait {
		t.Errorf("it took %s", d)
	}
}

func TestStdoutIsFull(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	c := u.command("chat", "hi")
	var told bytes.Buffer
	c.Stdout, c.Stderr = full, &told
	if code := codeOf(t, c.Run()); code != 1 || !strings.Contains(told.String(), "write the output") {
		t.Errorf("exit %d\n%s", code, &told)
	}
}

// TestNoWorker: who waits for nobody is told so.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	d := u.start("--target", "nats,intake,outbox")
	if !strings.Contains(d.stderr.String(), "target") {
		t.Errorf("%s", d.stderr)
	}
	chat := u.command("chat", "hi")
	told := newWatched()
	chat.Stderr = told
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	told.waitFor(t, noWorker)
	worker := u.start("--target", "turns")
	if !strings.Contains(worker.stderr.String(), "acknowledged is on disk") {
		t.Errorf("%s", worker.stderr)
	}
	if code := codeOf(t, chat.Wait()); code != 0 {
		t.Errorf("exit %d\n%s", code, told)
	}
}
