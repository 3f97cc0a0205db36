package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	for line, want := range map[string]string{
		"chta":                         `there is no command "jetclaw chta"; did you mean "chat"?`,
		"completion foo":               `there is no command "jetclaw completion foo"`,
		"config chekc":                 `there is no command "jetclaw config chekc"; did you mean "check"?`,
		"events --sesion x":            "unknown flag: --sesion; did you mean --session?",
		"events extra":                 `does not take "extra"`,
		"events --since yesterday":     "neither a cursor (4711) nor a duration",
		"version --jsn":                "did you mean --json?",
		"run --target truns":           `there is no target "truns"; did you mean "turns"?`,
		"run --creds x":                "go with --nats",
		"chat --session ../../etc hi":  "--session",
		"events --session main.x.y=.z": "--session",

		"approvals lsit":                              `did you mean "list"?`,
		"approvals show":                              "takes the id of one approval",
		"approvals approve":                           "takes the id of one approval",
		"approvals approve x --edit /no/one":          "--edit: open /no/one",
		"approvals deny x y":                          "takes the id of one approval",
		"approvals list --session a.b":                "four tokens",
		"tools lst":                                   `did you mean "list"?`,
		"policy explain":                              "takes a tool",
		"policy explain now {bad":                     "is no JSON",
		"policy explain now --agent maim":             `did you mean "main"?`,
		"policy explain now --taint privat":           `did you mean "private"?`,
		"policy explain now --session a.b":            "four tokens",
		"policy explain now --session x --agent main": "give one of the two",
		"policy explain now --config /no/such":        "--config /no/such: there is no such file",
		"policy test":                                 "takes one file",
		"policy test /no/such":                        "no such file",
		"policy dry-run --since never":                "neither a cursor (4711) nor a duration",
		"policy dry-run --config /no/such":            "there is no such file",
	} {
		u.run(strings.Fields(line)...).want(t, 2, want)
	}
	if _, err := os.Stat(u.home); !os.IsNotExist(err) {
		t.Errorf("a wrong call has made the home: %v", err)
	}
}

func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	for _, c := range []string{
		"", "run", "chat", "events", "config", "config check", "config show", "version", "tools", "tools list", "policy", "policy explain",
		"policy test", "policy dry-run", "approvals", "approvals list", "approvals show", "approvals approve", "approvals deny",
	} {
		r := u.run(append(strings.Fields(c), "--help")...)
		if r.code != 0 || !strings.Contains(r.stdout, "Examples:") {
			t.Errorf("jetclaw %s --help: %+v", c, r)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := u.run("completion", shell); r.code != 0 || !strings.Contains(r.stdout, "jetclaw") {
			t.Errorf("completion %s: exit %d", shell, r.code)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	u := newUser(t, "modles: {}\n") // a wrong configuration is not even read
	var b build
	r := u.run("version", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &b); err != nil || b.Version == "" || b.Go == "" {
		t.Errorf("%+v %v", r, err)
	}
	if a, b := u.run("version"), u.run("--version"); a.stdout != b.stdout {
		t.Errorf("%+v %+v", a, b)
	}
	if r := u.run("version"); !strings.HasPrefix(r.stdout, "jetclaw ") {
		t.Errorf("%+v", r)
	}
}

func TestConfigCommands(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	u.run("config", "check").want(t, 0)
	if _, err := os.Stat(u.home); !os.IsNotExist(err) {
		t.Errorf("config check has made the home: %v", err)
	}
	shown := u.run("config", "show")
	shown.want(t, 0)
	u.write("jetclaw.yaml", shown.stdout)
	u.run("config", "check").want(t, 0)

	file := filepath.Join(u.home, "jetclaw.yaml")
	u.write("jetclaw.yaml", "bus:\n  snyc: always\n")
	for _, args := range [][]string{{"config", "check"}, {"config", "show"}, {"run"}, {"chat", "x"}, {"events"}} {
		u.run(args...).want(t, 10, file+`:2:3: bus.snyc: unknown key; did you mean "sync"?`)
	}
	var c checked
	r := u.run("config", "check", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &c); err != nil || r.code != 10 || c.OK || len(c.Problems) != 1 || c.Problems[0].Line != 2 {
		t.Errorf("%+v %v", r, err)
	}

	u.write("jetclaw.yaml", "models: {default: p/m, providers: {p: {api_key: \"env:NO_SUCH_KEY\"}}}\n")
	for _, args := range [][]string{{"config", "check"}, {"run"}, {"chat", "x"}} {
		u.run(args...).want(t, 11, file+":1:49: models.providers.p.api_key: env:NO_SUCH_KEY", "export NO_SUCH_KEY=")
	}
	u.run("config", "show").want(t, 0)

	u.write("jetclaw.yaml", "bus: {sync: interval}\n")
	u.run("config", "check").want(t, 0, "warning: "+file+":1:13: bus.sync: a power failure can lose")
}

func TestUnreadableConfig(t *testing.T) {
	t.Parallel()
	u := newUser(t, "")
	if err := os.MkdirAll(filepath.Join(u.home, "jetclaw.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.run("config", "check").want(t, 10, "jetclaw.yaml: not a regular file")
}

func TestKeysThatOthersCanRead(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("chat", "x").want(t, 0)
	if err := os.Chmod(filepath.Join(u.home, "keys", "turns.nk"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.run("chat", "x").want(t, 11, "turns.nk", "chmod 0600")
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.write("data/jetstream", "not a folder")
	u.run("chat", "x").want(t, 13, filepath.Join(u.home, "data"))
}
