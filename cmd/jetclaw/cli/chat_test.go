package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
)

const offlineYAML = "models: {default: offline}\n"

// journal reads what a home's journal holds.
func (u *user) journal(args ...string) (events []envelope.Line) {
	u.t.Helper()
	r := u.run(append([]string{"events", "--json"}, args...)...)
	r.want(u.t, 0)
	for line := range strings.Lines(r.stdout) {
		var e envelope.Line
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			u.t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func types(events []envelope.Line) (names []string) {
	for _, e := range events {
		names = append(names, e.Type)
	}
	return names
}

// aTurn is what one message leaves in the journal.
func aTurn() []string {
	return []string{"message.received.v1", "turn.started.v1", "turn.completed.v1", "delivery.sent.v1"}
}

func TestChatOnAnEmptyHome(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "", model.env()...)
	r := u.run("chat", "hello", "there")
	r.want(t, 0, "model: openai/fake at "+model.URL+"/v1 (OPENAI_API_KEY)")
	if r.stdout != "re: hello there\n" {
		t.Errorf("stdout %q", r.stdout)
	}
	// Nothing is left for the next start: no doorbell un-acked, no delivery open.
	u.run("chat", "again").want(t, 0)
	events := u.journal()
	if want := append(aTurn(), aTurn()...); !slices.Equal(types(events), want) {
		t.Errorf("journal %q, want %q", types(events), want)
	}
	if calls := model.calls.Load(); calls != 2 {
		t.Errorf("%d model calls", calls)
	}
	for i, e := range events {
		if e.Cursor != uint64(i+1) || e.Prev != uint64(i) || e.Session != "main.terminal.local.default" || e.ID == "" || e.Time.IsZero() || e.Data == nil {
			t.Errorf("%+v", e)
		}
		if i%4 != 0 && e.Cause == "" {
			t.Errorf("event %d has no cause", e.Cursor)
		}
	}
}

func TestChatOffline(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	r := u.run("chat", "hello")
	r.want(t, 0, "model: offline/echo (built in: it only repeats what it is told)")
	if !strings.HasPrefix(r.stdout, "You said: \"hello\"") {
		t.Errorf("stdout %q", r.stdout)
	}
}

func TestChatReadsStdin(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for _, args := range [][]string{{"chat"}, {"chat", "-"}} {
		if r := u.runIn("from a pipe\n", args...); r.code != 0 || !strings.HasPrefix(r.stdout, "You said: \"from a pipe\"") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestChatSessions(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("chat", "--session", "work", "a").want(t, 0)
	u.run("chat", "--session", "main.terminal.local.work", "b").want(t, 0)
	u.run("chat", "c").want(t, 0)
	if n := len(u.journal("--session", "work")); n != 8 {
		t.Errorf("%d events in the session", n)
	}
	u.run("chat", "--session", "a.b", "x").want(t, 2, "four tokens")
}

func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"limits: {message_bytes: 100}\n")
	u.run("chat", "").want(t, 1, "empty")
	u.runIn("bad \xff", "chat").want(t, 1, "not UTF-8: byte 4 is 0xff")
	u.run("chat", strings.Repeat("x", 101)).want(t, 1, "101 bytes, at most 100")
	want := []string{"message.refused.v1", "message.refused.v1", "message.refused.v1"}
	if got := types(u.journal()); !slices.Equal(got, want) {
		t.Errorf("journal %q", got)
	}
}

// TestFailedTurn also looks for the key in everything that was written: by the commands, with the debug log on, and to
// the home.
func TestFailedTurn(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "log: {level: debug}\n", model.env()...)
	r := u.run("chat", "fail please")
	r.want(t, 1, "HTTP 401")
	if r.stdout != "" {
		t.Errorf("stdout %q", r.stdout)
	}
	if got := types(u.journal()); len(got) != 4 || got[2] != "turn.failed.v1" {
		t.Errorf("journal %q", got)
	}
	out := r.stdout + r.stderr + u.run("events", "--json").stdout + u.run("config", "show").stdout
	err := filepath.WalkDir(u.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		out += string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "canary") {
		t.Error("the key has leaked")
	}
}
