package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// adder is set where this binary is started as a process of its own that adds servers in its folder.
const adder = "JETCLAW_TEST_ADDER"

func TestMain(m *testing.M) {
	if name := os.Getenv(adder); name != "" {
		os.Exit(add(name))
	}
	os.Exit(m.Run())
}

// add is what each of several processes does at once: a server for each of ten edits, and a count in one that all change.
func add(name string) int {
	for i := range 10 {
		err := Edit(context.Background(), "jetclaw.yaml", func(all map[string]definition.Definition) error {
			all[fmt.Sprintf("%s-%d", name, i)] = definition.Definition{Command: name}
			all["count"] = definition.Definition{Command: "x", RequestTimeoutMs: all["count"].RequestTimeoutMs + 1}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

type servers = map[string]definition.Definition

func editText(t *testing.T, text string, change func(servers)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jetclaw.yaml")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	err := Edit(t.Context(), file, func(all map[string]definition.Definition) error {
		change(all)
		return nil
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func npx() definition.Definition {
	return definition.Definition{Command: "npx", Args: []string{"-y", "mcp-x"}, Env: map[string]string{"LOG": "debug", "TRUE": "true"}}
}

func set(name string, d definition.Definition) func(servers) {
	return func(all servers) { all[name] = d }
}

func change(name string, f func(d *definition.Definition)) func(servers) {
	return func(all servers) { d := all[name]; f(&d); all[name] = d }
}

func unset(names ...string) func(servers) {
	return func(all servers) {
		maps.DeleteFunc(all, func(name string, _ definition.Definition) bool { return slices.Contains(names, name) })
	}
}

const commented = `# mine
log: {level: debug}   # loud

mcp: # all of them
  servers:
    # reads files
    files:
      command: npx   # the runner
      # the folder is the last one
      args: ["-y", server-filesystem, /srv]  # keep it small
      toolFilter:
        include: [read_file] # nothing else

    # remembers
    memory: {command: npx, args: [memory]} # flow
    # the end
owners: [local]
# last words
`

func TestEdits(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		in     string
		change func(servers)
		out    string
	}{
		"missing parts": {"", set("a", npx()), "mcp:\n  servers:\n    a:\n      command: npx\n      args: [\"-y\", mcp-x]\n      env:\n        LOG: debug\n        \"TRUE\": \"true\"\n"},
		"only comments": {"# x", set("a", definition.Definition{Command: "x"}), "# x\nmcp:\n  servers:\n    a:\n      command: x\n"},
		"no newline":    {"log: {level: info}", set("a", definition.Definition{Command: "x"}), "log: {level: info}\nmcp:\n  servers:\n    a:\n      command: x\n"},
		"text without an end": {
			"# top\n\n# a\nagents:\n  main:\n    instructions: |\n      verse", set("a", definition.Definition{Command: "x"}),
			"# top\n\nmcp:\n  servers:\n    a:\n      command: x\n# a\nagents:\n  main:\n    instructions: |\n      verse",
		},
		"CRLF": {
			"log:\r\n    level: info\r\nmcp:\r\n", set("a", definition.Definition{Command: "x", Args: []string{"z"}}),
			"log:\r\n    level: info\r\nmcp:\r\n    servers:\r\n        a:\r\n            command: x\r\n            args: [z]\r\n",
		},
		"BOM":             {"\uFEFFlog: {level: info}\n", set("a", definition.Definition{Command: "x"}), "\uFEFFlog: {level: info}\nmcp:\n  servers:\n    a:\n      command: x\n"},
		"empty braces":    {"mcp: {} # here\nlog: {level: info}\n", set("a", definition.Definition{Command: "x"}), "mcp: # here\n  servers:\n    a:\n      command: x\nlog: {level: info}\n"},
		"null":            {"mcp: ~\n", set("a", definition.Definition{Command: "x"}), "mcp:\n  servers:\n    a:\n      command: x\n"},
		"empty servers":   {"mcp:\n  servers: # none\n    # yet\n# log\nlog: {level: info}\n", set("a", definition.Definition{Command: "x"}), "mcp:\n  servers: # none\n    # yet\n    a:\n      command: x\n# log\nlog: {level: info}\n"},
		"servers {}":      {"mcp:\n  servers: {}\n", set("a", definition.Definition{Command: "x"}), "mcp:\n  servers:\n    a:\n      command: x\n"},
		"all in braces":   {"mcp: {servers: {b: {command: y}}} # z\n", set("a", definition.Definition{Command: "x"}), "mcp: {servers: {b: {command: y}, a: {command: x}}} # z\n"},
		"JSON":            {"{\n  \"log\": {\"level\": \"info\"}\n}\n", set("a", definition.Definition{Command: "x"}), "{\n  \"log\": {\"level\": \"info\"},\n  \"mcp\": {\"servers\": {\"a\": {\"command\": \"x\"}}}\n}\n"},
		"document marks":  {"---\nlog: {level: info}\n...\n", set("a", definition.Definition{Command: "x"}), "---\nlog: {level: info}\nmcp:\n  servers:\n    a:\n      command: x\n...\n"},
		"remove in JSON":  {"{\"mcp\": {\"servers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"y\"}}}}", unset("a"), "{\"mcp\": {\"servers\": {\"b\": {\"command\": \"y\"}}}}"},
		"remove the last": {"mcp:\n  servers:\n    a:\n      command: x\n\n# log\nlog: {level: info}\n", unset("a"), "mcp:\n  servers:\n\n# log\nlog: {level: info}\n"},
		"add":             {commented, set("a", definition.Definition{Command: "x"}), strings.Replace(commented, "# flow\n", "# flow\n    a:\n      command: x\n", 1)},
		"remove":          {commented, unset("files"), strings.Replace(commented, commented[strings.Index(commented, "    # reads"):strings.Index(commented, "    # remembers")], "", 1)},
		"remove another":  {commented, unset("memory"), strings.Replace(commented, "\n    # remembers\n    memory: {command: npx, args: [memory]} # flow\n", "", 1)},
		"remove all":      {commented, unset("memory", "files"), strings.Replace(commented, commented[strings.Index(commented, "    # reads"):strings.Index(commented, "    # the end")], "", 1)},
		"a value": {
			commented, change("files", func(d *definition.Definition) { d.Command = "bun x" }),
			strings.Replace(commented, "command: npx   # the", "command: \"bun x\"   # the", 1),
		},
		"a list": {
			commented, change("files", func(d *definition.Definition) { d.Args = []string{"a b", "${HOME}"} }),
			strings.Replace(commented, "[\"-y\", server-filesystem, /srv]", "[\"a b\", \"${HOME}\"]", 1),
		},
		"in a filter": {
			commented, change("files", func(d *definition.Definition) {
				d.ToolFilter.Include, d.ToolFilter.Exclude = append(d.ToolFilter.Include, "list_*"), []string{"x"}
			}),
			strings.Replace(commented, "[read_file] # nothing else\n", "[read_file, \"list_*\"] # nothing else\n        exclude: [x]\n", 1),
		},
		"a setting more": {
			commented, change("files", func(d *definition.Definition) { d.Enabled = &no; d.RequestTimeoutMs = 5000 }),
			strings.Replace(commented, "# nothing else\n", "# nothing else\n      requestTimeoutMs: 5000\n      enabled: false\n", 1),
		},
		"a setting less": {
			commented, change("files", func(d *definition.Definition) { d.ToolFilter = nil }),
			strings.Replace(commented, "      toolFilter:\n        include: [read_file] # nothing else\n", "", 1),
		},
		"in braces": {
			commented, change("memory", func(d *definition.Definition) { d.Args = nil; d.Scope = "session" }),
			strings.Replace(commented, "{command: npx, args: [memory]}", "{command: npx, scope: session}", 1),
		},
		"list of lines": {
			"mcp:\n  servers:\n    a:\n      command: x\n      args:\n      - a\n      # b\n      - \"b\"\n      cwd: /x # y\n", change("a", func(d *definition.Definition) { d.Args = []string{"c"} }),
			"mcp:\n  servers:\n    a:\n      command: x\n      args: [c]\n      cwd: /x # y\n",
		},
		"nothing": {commented, func(servers) {}, commented},
	} {
		t.Run(name, func(t *testing.T) {
			if got := editText(t, c.in, c.change); got != c.out {
				t.Errorf("got\n%s\nwant\n%s", got, c.out)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		change func(servers)
		want   string
	}{
		"not YAML":     {"mcp:\n\tservers: {}\n", set("a", npx()), ":2:1: a tab begins a line"},
		"unknown key":  {"mpc: {}\n", set("a", npx()), `:1:1: mpc: unknown key; did you mean "mcp"?`},
		"anchor":       {"mcp: {servers: &s {}}\n", set("a", npx()), "anchors, aliases and tags are not read here"},
		"bad name":     {"", set("a b", npx()), `server "a b": a name has`},
		"bad server":   {"", set("a", definition.Definition{}), `server "a": needs command or url`},
		"zero byte":    {"", set("a", definition.Definition{Command: "x\x00"}), `command holds a zero byte`},
		"no UTF-8":     {"", set("a", definition.Definition{Command: "\xff"}), `command is no UTF-8 text`},
		"change fails": {"", func(servers) { panic("no") }, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "jetclaw.yaml")
			if err := os.WriteFile(file, []byte(c.in), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Edit(t.Context(), file, func(all map[string]definition.Definition) (err error) {
				defer func() {
					if text, ok := recover().(string); ok {
						err = errors.New(text)
					}
				}()
				c.change(all)
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if after, _ := os.ReadFile(file); string(after) != c.in {
				t.Errorf("the file has changed:\n%s", after)
			}
		})
	}
}

func TestFileOnDisk(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real", "jetclaw.yaml"), filepath.Join(dir, "jetclaw.yaml")
	if err := os.Symlink(filepath.Join("real", "jetclaw.yaml"), link); err != nil {
		t.Fatal(err)
	}
	put := func(d definition.Definition) {
		t.Helper()
		if err := Edit(t.Context(), link, func(all map[string]definition.Definition) error { all["a"] = d; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	put(npx())
	mode := func() os.FileMode {
		st, err := os.Lstat(target)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode()
	}
	if mode() != 0o600 {
		t.Errorf("a new file has mode %v", mode())
	}
	if err := os.Chmod(target, 0o644); err != nil {
		t.Fatal(err)
	}
	put(definition.Definition{URL: "https://mcp.example.org"})
	if mode() != 0o644 {
		t.Errorf("the file has mode %v now", mode())
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	all, err := Load(link)
	if err != nil || all["a"].URL != "https://mcp.example.org" {
		t.Error(all, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "real", "*"))
	if err != nil || len(files) != 2 { // the file and its lock
		t.Error("left behind:", files, err)
	}
}

func TestSomebodyElseWrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jetclaw.yaml")
	times := 0
	err := Edit(t.Context(), file, func(all map[string]definition.Definition) error {
		if times++; times < 3 { // an editor takes no lock
			if err := os.WriteFile(file, fmt.Appendf(nil, "limits: {rounds: %d}\n", times), 0o600); err != nil {
				return err
			}
		}
		all["a"] = npx()
		return nil
	})
	c, _, lerr := config.Load(file)
	if err != nil || lerr != nil || c.Limits.Rounds != 2 || c.MCP.Servers["a"].Command != "npx" || times != 3 {
		t.Error(err, lerr, times, c)
	}
}

func TestLockedByAnother(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jetclaw.yaml")
	err := Edit(t.Context(), file, func(map[string]definition.Definition) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return Edit(ctx, file, func(map[string]definition.Definition) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProcessesLoseNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jetclaw.yaml")
	const head = "# by hand\nlog: {level: info} # x\n"
	if err := os.WriteFile(file, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	const processes = 4
	var started []*exec.Cmd
	var outputs []*strings.Builder
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		out := &strings.Builder{}
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=p%d", adder, i))
		cmd.Dir = filepath.Dir(file)
		cmd.Stderr = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started, outputs = append(started, cmd), append(outputs, out)
	}
	for i, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Error(err, outputs[i])
		}
	}
	all, err := Load(file)
	if err != nil || len(all) != processes*10+1 || all["count"].RequestTimeoutMs != processes*10 {
		t.Error(err, len(all), all["count"])
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), head) {
		t.Errorf("%v\n%s", err, text)
	}
}
