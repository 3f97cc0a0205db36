package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// following is a running `events --follow`.
type following struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, stderr *watched
}

func (u *user) follow(args ...string) *following {
	u.t.Helper()
	f := &following{t: u.t, cmd: u.command(append([]string{"events", "--follow"}, args...)...), out: newWatched(), stderr: newWatched()}
	f.cmd.Stdout, f.cmd.Stderr = f.out, f.stderr
	if err := f.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = f.cmd.Process.Kill() }) // ended already, as a rule
	return f
}

// interrupt is Ctrl-C; it returns the exit code.
func (f *following) interrupt() int {
	f.t.Helper()
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		f.t.Fatal(err)
	}
	return codeOf(f.t, f.cmd.Wait())
}

// bus is where the home's daemon listens.
func (u *user) bus() string {
	u.t.Helper()
	h, err := home.Find(func(string) (string, bool) { return u.home, true })
	if err != nil {
		u.t.Fatal(err)
	}
	at, err := h.Endpoint()
	if err != nil {
		u.t.Fatal(err)
	}
	return strings.TrimPrefix(at.URL, "nats://")
}

// takePort lets somebody who is no jetclaw listen at an address.
func takePort(t *testing.T, address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
}

// TestFollowOverKills: daemons are killed in the middle of their work, and come back, also at another port. What follows shows
// each event once, in order.
func TestFollowOverKills(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	u := newUser(t, offlineYAML+httpYAML(address))
	d := u.start()
	f := u.follow("--json")
	const kills = 3
	for round := range kills {
		for i := range 10 {
			var got receipt
			u.call("POST", "http://"+address+"/v1/messages", fmt.Sprintf(`{"session":"s%d","text":"hi %d.%d"}`, i%3, round, i), &got)
		}
		f.out.waitFor(t, fmt.Sprintf("hi %d.0", round))
		at := u.bus()
		d.kill()
		f.stderr.waitCount(t, "note: the daemon is away; waiting\n", round+1)
		if round > 0 {
			takePort(t, at)
		}
		d = u.start()
		if now := u.bus(); round > 0 && now == at {
			t.Errorf("it listens at %s again", at)
		}
		f.stderr.waitCount(t, "note: a daemon is there; going on\n", round+1)
	}
	u.run("chat", "bye").want(t, 0)
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	d = u.start("--target", "nats") // nobody writes any more
	all := u.run("events", "--json")
	all.want(t, 0)
	lines := strings.SplitAfter(all.stdout, "\n")
	f.out.waitFor(t, lines[len(lines)-2])
	f.stderr.waitCount(t, "note: a daemon is there; going on\n", kills+1)
	if code := f.interrupt(); code != 0 || f.out.String() != all.stdout {
		t.Errorf("exit %d\n%s", code, firstDifference(f.out.String(), all.stdout))
	}
	if said := f.stderr.String(); strings.Count(said, "\n") != 2*(kills+1) {
		t.Errorf("it says more than once an absence that the daemon is away:\n%s", said)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func firstDifference(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d of %d (%d wanted): %s", i, len(g), len(w), g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestFollowWithoutADaemon shows the past, and leaves the home to who wants it.
func TestFollowWithoutADaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.run("chat", "one").want(t, 0)
	f := u.follow("--last", "2")
	f.stderr.waitFor(t, "note: no daemon runs; waiting for one\n")
	if out := f.out.String(); strings.Count(out, "\n") != 2 || !strings.Contains(out, "delivery.sent") {
		t.Errorf("%s", out)
	}
	u.run("chat", "two").want(t, 0) // in a process of its own
	d := u.start()
	u.run("chat", "three").want(t, 0)
	f.out.waitCount(t, "delivery.sent", 3)
	if out := f.out.String(); strings.Count(out, "\n") != 10 || strings.Count(out, "local: t") != 2 {
		t.Errorf("%s", out)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	f.stderr.waitFor(t, "note: the daemon is away; waiting\n")
	if code := f.interrupt(); code != 0 {
		t.Errorf("left while it waits: exit %d\n%s", code, f.stderr)
	}
	f = u.follow("--type", "trun.*", "--agent", "maim", "--channel", "telegarm")
	f.stderr.waitFor(t, "waiting")
	for _, want := range []string{`did you mean "turn.*"?`, `did you mean "main"?`, `did you mean "telegram"?`} {
		if !strings.Contains(f.stderr.String(), want) {
			t.Errorf("nothing says %s:\n%s", want, f.stderr)
		}
	}
	if code := f.interrupt(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestFollowFilters: what follows shows what fits, and ends when it has enough.
func TestFollowFilters(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	d := u.start()
	u.run("chat", "--session", "a", "one").want(t, 0)
	f := u.follow("--json", "--type", "message.received", "--session", "*.local.?", "--limit", "2")
	f.out.waitFor(t, `"one"`)
	u.run("chat", "--session", "other", "two").want(t, 0)
	u.run("chat", "--session", "b", "three").want(t, 0)
	if code := codeOf(t, f.cmd.Wait()); code != 0 {
		t.Errorf("exit %d\n%s", code, f.stderr)
	}
	var texts []string
	for line := range strings.Lines(f.out.String()) {
		var e struct{ Data struct{ Text string } }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, e.Data.Text)
	}
	if got := strings.Join(texts, " "); got != "one three" {
		t.Errorf("it shows %q", got)
	}
	d.stop()
}

// TestFollowAnotherJournal: cursors of one journal say nothing about another.
func TestFollowAnotherJournal(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	u.lived(past{"a", time.Now(), "hi", "m", turnv1.Usage{}})
	d := u.start()
	f := u.follow()
	f.out.waitFor(t, "delivery.sent")
	d.kill()
	f.stderr.waitFor(t, "away")
	if err := os.RemoveAll(filepath.Join(u.home, "data")); err != nil {
		t.Fatal(err)
	}
	u.start()
	if code := codeOf(t, f.cmd.Wait()); code != 1 || !strings.Contains(f.stderr.String(), "ends at cursor 0 now, and was shown up to 4") {
		t.Errorf("exit %d\n%s", code, f.stderr)
	}
}
