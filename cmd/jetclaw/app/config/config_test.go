package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func TestDefaultIsValid(t *testing.T) {
	c, warnings, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if c.Bus.Sync != "always" || c.Channels.HTTP.Listen != "127.0.0.1:7450" || c.Agents["main"].Queue != "followup" {
		t.Errorf("%+v", c)
	}
}

// everything is the example of the documentation, and a value in each setting.
const everything = `
models:
  default: local/qwen3
  fallbacks: [claude/sonnet, offline]
  providers:
    local:  {api: openai, base_url: "http://127.0.0.1:8080/v1", api_key: "env:LOCAL_KEY", context: 128000, vision: on}
    claude: {api: anthropic, api_key: "file:keys/claude"}
  prices:
    claude/*: {input: 3, output: 15, cache_read: 0.3, cache_write: "$3.75"}
    local/qwen3: {input: 0, output: 0.00, cache_read: 0}
agents:
  main: {model: local/qwen3, workspace: workspace, queue: followup, tools: {allow: ["*"], deny: []}}
  poet:
    model: claude/opus
    fallbacks: []
    queue: steer
    queues: {telegram: collect, http: interrupt, terminal: followup}
    budget: {tokens: 2_000_000, money: "5.00"}
    instructions: |
      Answer in verse.
tools:
  exec: {enabled: true, sandbox: landlock, timeout: 30s, env: [LC_ALL]}
  web_fetch: {allow: [10.1.0.0/16]}
  web_search: {provider: brave, key: "env:BRAVE_KEY"}
  private: [letters]
policy:
  deny: [{tool: exec, args: {command: "rm *"}, reason: never}]
  ask: [{tool: web_*}]
  allow: [{tool: write_file, args: {path: "notes/*"}, agent: poet}]
approvals: {expire: 2h}
approvers: ["telegram:12345", "http:default"]
channels:
  http: {listen: "127.0.0.1:7450", callback: {url: "https://example.org/hook", token: "env:HOOK"}}
  telegram:
    mybot: {token: "env:TELEGRAM_BOT_TOKEN", access: pairing, streaming: edit, api_root: "https://api.telegram.org"}
    poet_bot:
      token: "file:keys/poet"
      agent: poet
      access: allowlist
      allow: [12345, 67890]
      groups:
        "-1001234567890": {require_mention: false, users: [12345]}
        "-100777":
      streaming: off
      webhook: {url: "https://example.org/poet", listen: "127.0.0.1:8443", secret: "env:POET_HOOK"}
owners: [local, "telegram:12345"]
bus: {sync: always, max_bytes: 2GiB, listen: "127.0.0.1:0", replicas: 3}
log: {level: debug, format: json}
outbox: {on_unknown: resend}
limits:
  {message_bytes: 64KiB, call: 90s, turn: 1h, rounds: 5, calls: 7, tokens: 100_000, money: 0.25, context: 16000, queue: 3,
   queue_full: oldest, debounce: 500ms}
budget: {tokens: 9, money: 10}
retention: {dormant: 180d, max_bytes: 1GiB, archive: old/sessions}
remote: {url: "tls://n1:4222,tls://n2:4222", creds: keys, tls: {ca: ca.pem, cert: c.pem, key: c.key}}
mcp:
  servers:
    files: {command: npx, args: ["-y", "x", "/srv/docs"], toolFilter: {include: ["read_*"]}}
`

func TestEverything(t *testing.T) {
	c, warnings, err := Parse("jetclaw.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	if c.Models.Providers["local"].Vision != "on" || c.Models.Providers["claude"].Vision != "" || c.Models.Providers["local"].APIKey.String() != "env:LOCAL_KEY" || c.Bus.MaxBytes != 2<<30 ||
		c.Limits.Call != Duration(90*time.Second) || c.Agents["poet"].Instructions != "Answer in verse.\n" ||
		c.Agents["poet"].Workspace != "workspace" || len(c.Owners) != 2 || c.MCP.Servers["files"].Command != "npx" ||
		c.Policy.Deny[0].Args["command"] != "rm *" || c.Policy.Allow[0].Agent != "poet" || len(c.ApproversOr()) != 2 ||
		c.Tools.Exec.Timeout != Duration(30*time.Second) || c.Tools.WebSearch.Key.String() != "env:BRAVE_KEY" {
		t.Errorf("%+v", c)
	}
	var texts []string
	for _, w := range warnings {
		if w.Line == 0 {
			t.Errorf("no place: %s", w)
		}
		texts = append(texts, w.Path)
	}
	if got := strings.Join(texts, " "); got != "channels.telegram.poet_bot.groups.-100777" {
		t.Errorf("warnings for %s", got)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"unknown key":        {"modles:\n  default: x/y\n", `c.yaml:1:1: modles: unknown key; did you mean "models"?`},
		"unknown below":      {"channels:\n  http:\n    lsiten: x\n", `c.yaml:3:5: channels.http.lsiten: unknown key; did you mean "listen"?`},
		"unknown in flow":    {"bus: {sync: always, maxbytes: 1}\n", `c.yaml:1:21: bus.maxbytes: unknown key; did you mean "max_bytes"?`},
		"far from all":       {"bus: {zzzzzz: 1}\n", "c.yaml:1:7: bus.zzzzzz: unknown key; known here: listen, max_bytes, replicas, sync"},
		"vision":             {"models: {providers: {p: {api: openai, vision: perhaps}}}\n", "c.yaml:1:47: models.providers.p.vision: must be one of auto, on, off"},
		"wrong type":         {"bus: always\n", "c.yaml:1:6: bus: this is text, but a section (key: value) is expected"},
		"number for text":    {"log:\n  level: 3\n", "c.yaml:2:10: log.level: this is a number, but text is expected; put it in quotes"},
		"text for number":    {"limits: {rounds: many}\n", "c.yaml:1:18: limits.rounds: this is text, but a whole number is expected"},
		"text for flag":      {"tools: {exec: {enabled: yes please}}", "c.yaml:1:25: tools.exec.enabled: this is text, but true or false is expected"},
		"text for list":      {"owners: local\n", "c.yaml:1:9: owners: this is text, but a list ([a, b]) is expected"},
		"number in list":     {"owners:\n- 12345\n", "c.yaml:2:3: owners[0]: this is a number, but text is expected; put it in quotes"},
		"list at the top":    {"- a\n", "c.yaml:1:1: this is a list, but a section (key: value) is expected"},
		"twice":              {"bus: {}\nlog: {}\nbus: {}\n", `c.yaml:3:1: mapping key "bus" already defined at [1:1]`},
		"syntax":             {"bus: {sync: always\n", "c.yaml:1:6: could not find flow mapping end token '}'"},
		"tab":                {"bus:\n\tsync: always\n", "c.yaml:2:1: a tab begins a line or stands where it must not; use spaces"},
		"two documents":      {"log: {}\n---\nbus: {}\n", "c.yaml:3:1: a second document in the file; keep one, without ---"},
		"anchor":             {"bus: &b {sync: always}\n", "c.yaml:1:6: bus: anchors, aliases and tags are not read here; write the value out"},
		"anchor in mcp":      {"mcp: {servers: {a: {command: x, args: &a [x, x]}}}\n", "c.yaml:1:39: mcp.servers.a.args: anchors, aliases and tags are not read here; write the value out"},
		"merge in mcp":       {"mcp:\n  servers:\n    b:\n      command: x\n      <<: *a\n", "c.yaml:5:7: mcp.servers.b: merge keys are not read here; write the keys out"},
		"key in a base url":  {"models: {providers: {a: {base_url: \"https://h/v1?key=hunter22\"}}}\n", "c.yaml:1:36: models.providers.a.base_url: holds a query or a fragment; a key is written as env:NAME or file:PATH in api_key"},
		"byte order mark":    {"\uFEFFbus: {snyc: x}\n", `c.yaml:1:7: bus.snyc: unknown key; did you mean "sync"?`},
		"size":               {"bus: {max_bytes: 10 apples}\n", "c.yaml:1:18: bus.max_bytes: a size is written as 1048576, 512KiB or 10GiB"},
		"small":              {"bus: {max_bytes: 1}\n", "c.yaml:1:18: bus.max_bytes: must be at least 16MiB, or 0 for a share of the disk"},
		"overflow":           {"bus: {max_bytes: 99999999TiB}\n", "c.yaml:1:18: bus.max_bytes: this size is too large"},
		"duration":           {"limits: {call: 10}\n", "c.yaml:1:16: limits.call: a duration is written as 30s, 5m, 1h30m or 180d"},
		"short turn":         {"limits: {call: 1m, turn: 10s}\n", "c.yaml:1:26: limits.turn: must not be shorter than limits.call (1m)"},
		"enum":               {"bus: {sync: allways}\n", `c.yaml:1:13: bus.sync: must be one of always, interval; did you mean "always"?`},
		"listen":             {"channels: {http: {listen: 7450}}\n", "c.yaml:1:27: channels.http.listen: this is a number, but text is expected; put it in quotes"},
		"port":               {"channels: {http: {listen: \"127.0.0.1:0\"}}\n", "c.yaml:1:27: channels.http.listen: the port must be a number from 1 to 65535"},
		"open to all":        {"channels: {http: {listen: \":7450\"}}\n", "c.yaml:1:27: channels.http.listen: not a loopback address: the token and all messages would cross the network unencrypted; listen on 127.0.0.1 and put a proxy with TLS before it"},
		"unknown provider":   {"models: {default: locl/x, providers: {local: {}}}\n", `c.yaml:1:19: models.default: no provider "locl" under models.providers; did you mean "local"?`},
		"model":              {"agents: {main: {model: gpt}}\n", "c.yaml:1:24: agents.main.model: a model is written as provider/model"},
		"provider's name":    {"models: {providers: {offline: {}}}\n", "c.yaml:1:31: models.providers.offline: this name belongs to the built-in offline model; choose another"},
		"url":                {"channels: {http: {callback: {url: example.org}}}\n", "c.yaml:1:35: channels.http.callback.url: must be a URL as https://host/path"},
		"owner":              {"owners: [me]\n", `c.yaml:1:10: owners[0]: an identity is local or channel:id; as in "telegram:12345"`},
		"owner by name":      {"owners: [\"telegram:ada\"]\n", `c.yaml:1:10: owners[0]: must be the number of a person: names can be taken by others; as in "telegram:12345"`},
		"approver elsewhere": {"approvers: [\"fax:1\"]\n", `c.yaml:1:13: approvers[0]: there is no channel fax`},
		"rule without tool":  {"policy: {deny: [{agent: x}]}\n", `c.yaml:1:17: policy.deny[0]: a rule needs a tool; as in tool: "web_*"`},
		"sandbox":            {"tools: {exec: {sandbox: jail}}\n", "c.yaml:1:25: tools.exec.sandbox: must be one of auto, bwrap, landlock, none"},
		"search without key": {"tools: {web_search: {provider: exa}}\n", `c.yaml:1:21: tools.web_search: key is missing; as in key: "env:SEARCH_KEY"`},
		"search engine":      {"tools: {web_search: {url: \"http://x\"}}\n", `c.yaml:1:21: tools.web_search: provider is missing; brave, exa or searxng`},
		"private outside":    {"tools: {private: [../x]}\n", `c.yaml:1:19: tools.private[0]: must be a file or a folder inside of the workspace; as in letters`},
		"short expiry":       {"approvals: {expire: 5s}\n", `c.yaml:1:21: approvals.expire: must be at least 1m: nobody answers that fast; as in 24h`},
		"bot without token":  {"channels: {telegram: {b: {access: pairing}}}\n", `c.yaml:1:26: channels.telegram.b: token is missing; token: "env:TELEGRAM_BOT_TOKEN"`},
		"password in a url":  {"remote: {url: \"nats://u:hunter22@h\"}\n", "c.yaml:1:15: remote.url: holds credentials; put them into a file and name it in remote.creds, or by --creds"},
		"secret in the file": {"models: {providers: {a: {api_key: sk-hunter22hunter22}}}\n", "c.yaml:1:35: models.providers.a.api_key: a secret is never written into the file itself: write env:NAME or file:PATH"},
		"not utf-8":          {"log: {level: \"\xff\"}\n", "c.yaml: not UTF-8 text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Parse("c.yaml", []byte(c.in))
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter22") {
				t.Error("a secret is in the error")
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, _, err := Parse("c.yaml", []byte("buss: {}\nlog: {level: loud, fromat: x}\nlimits: {rounds: 0}\n"))
	want := "c.yaml:1:1: buss: unknown key; did you mean \"bus\"?\n" +
		"c.yaml:2:14: log.level: must be one of debug, info, warn, error\n" +
		"c.yaml:2:20: log.fromat: unknown key; did you mean \"format\"?\n" +
		"c.yaml:3:18: limits.rounds: must be at least 1"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestWarningsTellTheConsequence(t *testing.T) {
	for in, want := range map[string]string{
		"bus: {sync: interval}":                              "power failure can lose",
		"bus: {listen: \"0.0.0.0:4222\"}":                    "other machines can reach the bus",
		"outbox: {on_unknown: hold}":                         "is not sent again",
		"owners: []":                                         "nobody can approve",
		"models: {prices: {opnai/*: {input: 1, output: 1}}}": "the price of nothing",

		"bus: {max_bytes: 1GiB}\nretention: {max_bytes: 1GiB}": "nothing is archived for its size",

		"channels: {http: {callback: {url: \"http://example.org\"}}}": "unencrypted",

		"models: {providers: {a: {base_url: \"http://10.0.0.1/v1\", api_key: \"env:X\"}}}": "unencrypted",
	} {
		_, warnings, err := Parse("c.yaml", []byte(in))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), want) {
			t.Errorf("%s: %v %v, want one warning with %q", in, err, warnings, want)
		}
	}
}

func TestEmptySectionsKeepDefaults(t *testing.T) {
	c, _, err := Parse("c.yaml", []byte("# all of it later\nbus:\nchannels:\n  http:\nagents:\n  main:\n"))
	if err != nil || c.Bus != Default().Bus || c.Channels.HTTP.Listen != Default().Channels.HTTP.Listen ||
		c.Agents["main"].Workspace != "workspace" {
		t.Errorf("%v %+v", err, c)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	_, _, err := Load(dir)
	var ce *Error
	if !errors.As(err, &ce) || !strings.Contains(err.Error(), dir+": not a regular file") {
		t.Errorf("got %v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(big); err == nil || !strings.Contains(err.Error(), "larger than 256KiB") {
		t.Errorf("got %v", err)
	}
}

func TestSecrets(t *testing.T) {
	const canary = "canary-7f3a"
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "open"), []byte(canary+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "shut"), []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "big"), make([]byte, maxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var known []string
	r := Resolver{
		Home:  home,
		Known: func(v ...string) { known = append(known, v...) },
		Lookup: func(name string) (string, bool) {
			return map[string]string{"KEY": canary, "HOME": home, "LINES": canary + "\n" + canary}[name], true
		},
	}
	for ref, want := range map[string]struct{ warning, err string }{
		"env:KEY":      {},
		"env:MISSING":  {err: "c.yaml:1:36: models.providers.p.api_key: env:MISSING: the environment variable is not set; export MISSING=…"},
		"file:shut":    {},
		"file:~/shut":  {},
		"file:open":    {warning: "has permissions 0644: other users of this machine can read the secret"},
		"file:missing": {err: "missing: no such file or directory; write the secret into that file"},
		"file:empty":   {err: "empty is empty"},
		"file:" + home: {err: "not a regular file"},
		"file:pipe":    {err: "not a regular file"},
		"file:big":     {err: "larger than 16KiB"},
		"env:LINES":    {err: "holds a line break, a space or another character that no key has"},
	} {
		t.Run(ref, func(t *testing.T) {
			c, _, err := Parse("c.yaml", []byte(`models: {providers: {p: {api_key: "`+ref+`"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			key := c.Models.Providers["p"].APIKey
			known = nil
			warnings, err := c.Resolve(r, "c.yaml", "models.providers.p.api_key", &key)
			if want.err != "" {
				var se *SecretError
				if !errors.As(err, &se) || !strings.Contains(err.Error(), want.err[len("c.yaml:1:36:"):]) && !strings.Contains(err.Error(), want.err) {
					t.Fatalf("got %v, want %s", err, want.err)
				}
				return
			}
			if err != nil || key.Value() != canary {
				t.Fatal(err, key.Value())
			}
			if len(known) != 1 || known[0] != canary {
				t.Error("the redactor was not told")
			}
			if want.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Text, want.warning)) || want.warning == "" && warnings != nil {
				t.Errorf("warnings %v", warnings)
			}
			j, err := json.Marshal(struct{ K Secret }{key})
			if err != nil {
				t.Fatal(err)
			}
			y, err := yaml.Marshal(struct{ K Secret }{key})
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range []string{
				key.String(), fmt.Sprintf("%v %+v %#v %s %q", key, key, key, key, key), fmt.Sprintf("%+v", struct{ K Secret }{key}),
				string(j), string(y), key.LogValue().String(),
			} {
				if strings.Contains(out, canary) || !strings.Contains(out, ref[:4]) {
					t.Errorf("prints as %s", out)
				}
			}
		})
	}
}

func TestShowReadsBack(t *testing.T) {
	for _, in := range []string{"", everything, "limits: {calls: 0, queue: 0, debounce: 0}\n"} {
		c, _, err := Parse("c.yaml", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Parse("shown.yaml", out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		c.at, again.at = nil, nil
		if !reflect.DeepEqual(c, again) {
			t.Errorf("shown and read again it is another:\n%s\n%+v\n%+v", out, c, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("bus: [1, {a: b}]\nlog: |\n  x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := Parse("c.yaml", data); err != nil {
			var ce *Error
			if !errors.As(err, &ce) || len(ce.Problems) == 0 {
				t.Errorf("%T: %v", err, err)
			}
		}
	})
}
