package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func TestSessionsShow(t *testing.T) {
	t.Parallel()
	inBoth(t, spoken, shows)
}

func shows(t *testing.T, u *user) {
	r := u.run("sessions", "show", "older")
	r.want(t, 0)
	var heads []string
	for _, l := range lines(r.stdout) {
		if head, ok := strings.CutPrefix(l, "--- "); ok {
			who, _, _ := strings.Cut(head, ",")
			heads = append(heads, who)
		}
	}
	if strings.Join(heads, " ") != "local assistant local assistant" || !strings.Contains(r.stdout, "and the café?\n\n--- assistant") ||
		strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%s", r.stdout)
	}
	all := decoded[shownSession](u, "sessions", "show", "older", "--json", "--all")
	if len(all.Messages) != 4 || all.More || all.Session != atTerminal("older") {
		t.Fatalf("%+v", all)
	}
	for line, want := range map[string]string{
		"--limit 1": "so it was", "--limit 2": "and the café?|so it was", "--limit 600": "hi \x1b[31mthere|so it was|and the café?|so it was",
	} {
		x := decoded[shownSession](u, append([]string{"sessions", "show", "older", "--json"}, strings.Fields(line)...)...)
		var texts []string
		for _, m := range x.Messages {
			texts = append(texts, m.Text)
		}
		if got := strings.Join(texts, "|"); got != want || x.More != (len(texts) < 4) {
			t.Errorf("%s: %q %t", line, got, x.More)
		}
	}
	before := u.run("sessions", "show", "older", "--before", "5", "--limit", "1")
	before.want(t, 0, "--before 3")
	if n := strings.Count(before.stdout, "--- "); n != 1 || !strings.Contains(before.stdout, "cursor 3") {
		t.Errorf("%s", before.stdout)
	}
	u.run("sessions", "show", "main.http.default.older").want(t, 1, "did you mean main.terminal.local.older?")
}

// TestShownWithoutAReadModel comes from the journal.
func TestShownWithoutAReadModel(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	u.start("--target", "nats")
	u.run("sessions", "show", "older").want(t, 0, "the read model does not answer")
	shows(t, u)
	u.run("sessions", "list").want(t, 1)
}

func TestSessionsSearch(t *testing.T) {
	t.Parallel()
	inBoth(t, spoken, func(t *testing.T, u *user) {
		r := u.run("sessions", "search", "CAFE")
		r.want(t, 0)
		if got := lines(r.stdout); len(got) != 2 || !strings.HasPrefix(got[0], "main.terminal.local.older  ") || got[1] != "  and the [café]?" {
			t.Errorf("%q", got)
		}
		for line, want := range map[string]int{
			"so": 4, "so --limit 3": 3, "so --session older": 2, "so --channel http": 0, "so --agent main": 4, "train vienn": 1, "vienna --session older": 0,
			`"AND" OR (`: 0,
		} {
			f := decoded[found](u, append([]string{"sessions", "search", "--json"}, strings.Fields(line)...)...)
			if len(f.Hits) != want || f.More != (line == "so --limit 3") {
				t.Errorf("%s: %+v", line, f)
			}
		}
		u.run("sessions", "search", "so", "--limit", "2").want(t, 0, "there is more; --limit 8")
		u.run("sessions", "search", "so", "--session", "main.http.default.older").want(t, 1, "did you mean main.terminal.local.older?")
		u.run("sessions", "search", "?!").want(t, 1, "at least one word")
	})
}

func TestSessionsExport(t *testing.T) {
	t.Parallel()
	inBoth(t, spoken, func(t *testing.T, u *user) {
		want := u.run("events", "--json", "--session", "older").stdout
		r := u.run("sessions", "export", "older")
		r.want(t, 0)
		if r.stdout != want || len(lines(want)) != 8 {
			t.Errorf("%s\nwant %s", r.stdout, want)
		}
		file := filepath.Join(t.TempDir(), "older.md")
		args := []string{"sessions", "export", "older", "--format", "markdown", "--output", file}
		u.run(args...).want(t, 0, "8 events to "+file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"# hi [31mthere\n", "Session `main.terminal.local.older`, ", "2 messages and 2 answers", "\n## local, ", "\nand the café?\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("no %q in %s", part, text)
			}
		}
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st.Mode(), err)
		}
		u.run(args...).want(t, 1, "is there already: say --force")
		u.run("sessions", "export", "older", "--output", file, "--force").want(t, 0)
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s %v", text, err)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
			t.Errorf("%v %v", left, err)
		}
		u.run("sessions", "export", "older", "--output", filepath.Join(file, "x")).want(t, 1, file)
		u.run("sessions", "export", "older", "--force", "--output", filepath.Dir(file)).want(t, 1, "is a folder")
	})
}

// TestExportWithAHole writes what there is.
func TestExportWithAHole(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	u.owns(func(ctx context.Context, owner *bus.Conn) error {
		stream, err := owner.JetStream().Stream(ctx, subject.Journal)
		if err != nil {
			return err
		}
		return stream.DeleteMsg(ctx, 3)
	})
	r := u.run("sessions", "export", "older")
	r.want(t, 1, "the journal has a hole: event 4 of main.terminal.local.older follows on event 3", "what there is was written")
	if len(lines(r.stdout)) != 7 {
		t.Errorf("%s", r.stdout)
	}
	file := filepath.Join(t.TempDir(), "x.md")
	u.run("sessions", "export", "older", "--format", "markdown", "-o", file).want(t, 1, "has a hole")
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "**the journal has a hole") {
		t.Errorf("%s %v", text, err)
	}
}
