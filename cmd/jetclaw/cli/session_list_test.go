package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/conversations"
)

func TestSessionsList(t *testing.T) {
	t.Parallel()
	inBoth(t, spoken, func(t *testing.T, u *user) {
		r := u.run("sessions", "list")
		r.want(t, 0)
		rows := lines(r.stdout)
		if len(rows) != 4 || !strings.HasPrefix(rows[1], "main.terminal.local.new ") || !strings.HasPrefix(rows[3], "main.terminal.local.older ") {
			t.Fatalf("%s", r.stdout)
		}
		if !strings.Contains(rows[3], "hi [31mthere") || !strings.Contains(rows[3], "299d ago              4  idle") || strings.Contains(r.stdout, "\x1b") {
			t.Errorf("%q", rows[3])
		}
		for line, want := range map[string][]string{
			"":                         {"new", "old", "older"},
			"--limit 1":                {"new"},
			"--since 250d":             {"new", "old"},
			"--since 2d --limit 9":     {"new"},
			"--search vienna":          {"old"},
			"--agent main":             {"new", "old", "older"},
			"--agent work":             {},
			"--channel telegram":       {},
			"--open":                   {},
			"--limit 600 --search old": {"old", "older"},
		} {
			l := decoded[listed](u, append([]string{"sessions", "list", "--json"}, strings.Fields(line)...)...)
			got := []string{}
			for _, c := range l.Conversations {
				got = append(got, c.Peer)
			}
			if !slices.Equal(got, want) || l.Behind.Events != 0 || l.More != (line == "--limit 1") {
				t.Errorf("%s: %q, want %q, %+v %t", line, got, want, l.Behind, l.More)
			}
		}
		u.run("sessions", "list", "--limit", "1").want(t, 0, "there are more; --limit 4 shows them")
		u.run("sessions", "list", "--open").want(t, 0, "no session fits all of that")
	})
}

func TestSessionsOfAnEmptyHome(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("sessions", "list").want(t, 0, "there is no session yet")
	u.run("sessions", "search", "x").want(t, 0, "nothing was found")
	u.run("sessions", "show", "x").want(t, 1, "there is no session main.terminal.local.x")
	u.run("sessions", "export", "x").want(t, 1, "there is no session main.terminal.local.x")
	u.run("sessions", "delete", "x", "--yes").want(t, 1, "there is no session main.terminal.local.x")
	u.run("sessions", "reindex").want(t, 0)
}

func TestSessionsUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for line, want := range map[string]string{
		"sessions lsit":                      `did you mean "list"?`,
		"sessions list x":                    `does not take "x"`,
		"sessions list --limit 0":            "at least one",
		"sessions list --since 4711":         "not a cursor",
		"sessions list --since never":        "neither a cursor",
		"sessions show":                      "takes one session",
		"sessions show a b":                  "takes one session",
		"sessions show a..b":                 "SESSION",
		"sessions show a --limit -1":         "at least one",
		"sessions show a --all --limit 3":    "give one of the two",
		"sessions search":                    "takes the words to look for",
		"sessions search x --session a..b":   "--session",
		"sessions export a --format markdwn": `did you mean "markdown"?`,
		"sessions export a --force":          "--output",
		"sessions delete a":                  "say --yes",
		"sessions reindex a":                 `does not take "a"`,
	} {
		u.run(strings.Fields(line)...).want(t, 2, want)
	}
	if _, err := os.Stat(filepath.Join(u.home, "data")); !os.IsNotExist(err) {
		t.Errorf("it has made a journal: %v", err)
	}
}

// TestListedState is about what is open.
func TestListedState(t *testing.T) {
	t.Parallel()
	open := func(kinds ...string) (list []conversations.Open) {
		for _, k := range kinds {
			list = append(list, conversations.Open{Kind: k})
		}
		return list
	}
	for want, list := range map[string][][]conversations.Open{
		"idle":                 {nil},
		"delivering":           {open("delivery")},
		"at work":              {open("message"), open("delivery", "turn"), open("turn", "delivery"), open("newer")},
		"waiting for approval": {open("message", "turn", "call", "approval"), open("approval", "delivery")},
	} {
		for _, l := range list {
			if got := stateOf(l); got != want {
				t.Errorf("%+v: %s, want %s", l, got, want)
			}
		}
	}
}

func TestSessionsReindex(t *testing.T) {
	t.Parallel()
	inBoth(t, spoken, func(t *testing.T, u *user) {
		r := decoded[reindexed](u, "sessions", "reindex", "--json")
		if r.Events != 16 || r.Sessions != 3 || r.Messages != 8 || r.Rate <= 0 || r.Bytes == 0 {
			t.Errorf("%+v", r)
		}
		if got := u.run("sessions", "reindex"); !strings.HasPrefix(got.stdout, "16 events in ") || !strings.Contains(got.stdout, ": 3 sessions, 8 messages") {
			t.Errorf("%s", got.stdout)
		}
		u.run("sessions", "search", "vienna").want(t, 0)
	})
	u := spoken(t) // and a file that is none
	u.run("sessions", "list").want(t, 0)
	file := decoded[reindexed](u, "sessions", "reindex", "--json").Path
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := decoded[listed](u, "sessions", "list", "--json"); len(l.Conversations) != 3 {
		t.Errorf("%+v", l)
	}
}

func TestCompletionOfSessions(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	nothing := func() {
		t.Helper()
		if r := u.run("__complete", "sessions", "show", "o"); strings.HasPrefix(r.stdout, "o") || r.code != 0 {
			t.Errorf("%+v", r)
		}
	}
	nothing()
	if _, err := os.Stat(filepath.Join(u.home, "data")); !os.IsNotExist(err) {
		t.Errorf("it has made a journal: %v", err)
	}
	u.run("chat", "--session", "one", "hi\tthere").want(t, 0)
	nothing() // nothing is started for it
	d := u.start()
	for args, want := range map[string]string{
		"show o": "one\thi there\n", "show main.terminal.local.o": "main.terminal.local.one\thi there\n", "delete ": "one\thi there\n",
		"search x --session o": "one\thi there\n", "show x": ":", "show one o": ":",
	} {
		parts := strings.Split("__complete sessions "+args, " ")
		if r := u.run(parts...); !strings.HasPrefix(r.stdout, want) {
			t.Errorf("%s: %q", args, r.stdout)
		}
	}
	d.kill() // what it has left says where it was
	begun := time.Now()
	nothing()
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("it took %s", took)
	}
}

// TestListedJSON: what a list prints has the words of the help.
func TestListedJSON(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	l := decoded[map[string]json.RawMessage](u, "sessions", "list", "--json")
	for _, key := range []string{"conversations", "more", "behind"} {
		if _, ok := l[key]; !ok {
			t.Errorf("no %s in %v", key, l)
		}
	}
}
