package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// canaries are secrets by the place where they were planted. They have signs that base64, URLs and JSON spell otherwise.
type canaries map[string]string

// planted are the secrets of a house, besides the keys that it makes for itself.
func planted() canaries {
	c := canaries{}
	for _, place := range []string{"one", "two", "search", "callback", "foo", "ordinary", "http"} {
		c[place] = "<" + place + ">/+key&7f3a9c" + strings.Repeat(place, 2) + "=51d2%e8"
	}
	c["file"] = "sk-proj-" + "Zx81Lq0vTb72Nw5KdR3mYc94Pj6Hs"
	return c
}

// forms are all ways to write a secret that are looked for.
func forms(secret string) []string {
	inJSON, err := json.Marshal(secret)
	if err != nil {
		panic(err)
	}
	all := []string{secret, strings.Trim(string(inJSON), `"`), url.QueryEscape(secret), url.PathEscape(secret)}
	for shift := range 3 { // what base64 has of it whatever stands around it
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		core := text[(8*shift+5)/6 : 8*(shift+len(secret))/6]
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	return all
}

// find fails the test for each secret that stands in what was written to a place.
func (c canaries) find(t *testing.T, where, written string) {
	t.Helper()
	lower := strings.ToLower(written) // %2F and %2f
	for place, secret := range c {
		for _, form := range forms(secret) {
			at := strings.Index(written, form)
			if at < 0 && strings.Contains(form, "%") {
				at = strings.Index(lower, strings.ToLower(form))
			}
			if at >= 0 {
				t.Errorf("%s: the secret %s: …%q…", where, place, written[max(0, at-120):min(len(written), at+len(form)+40)])
				break
			}
		}
	}
}

// TestSecretsStayHome has an agent that reads all that it can, providers that repeat their keys, and an event that nobody
// can read; then it looks into all that was written, said and sent.
func TestSecretsStayHome(t *testing.T) {
	t.Parallel()
	c := planted()
	h := &house{model: newScripted(t), address: freeAddress(t)}
	h.user = newUser(t, fmt.Sprintf(`
log: {level: debug}
models:
  default: one/scripted
  fallbacks: [two/scripted]
  providers:
    one: {api: openai, base_url: "%[1]s/one/v1", api_key: "env:ONE"}
    two: {api: openai, base_url: "%[1]s/two/v1", api_key: "file:two.secret"}
channels: {http: {listen: %[2]q, callback: {url: "%[1]s/callback", token: "env:CALLBACK"}}}
tools:
  exec: {enabled: true, env: [FOO_TOKEN]}
  web_search: {provider: brave, url: %[1]q, key: "file:keys/search"}
`, h.model.URL, h.address), "ONE="+c["one"], "CALLBACK="+c["callback"], "FOO_TOKEN="+c["foo"], "ORDINARY="+c["ordinary"])
	h.write("two.secret", c["two"]+"\n")
	h.write("keys/search", c["search"]+"\n")
	h.write("keys/http.token", c["http"]+"\n")
	h.write("workspace/key.txt", "the first line\nOPENAI: "+c["file"]+"\nthe last line\n")
	h.write("workspace/AGENTS.md", "Be good. The token of foo is "+c["foo"]+".\n")
	h.write("workspace/USER.md", "My key is "+c["file"]+".\n")
	h.write("workspace/skills/probe/SKILL.md", "---\nname: probe\ndescription: takes "+c["foo"]+"\n---\nSay "+c["foo"]+" and "+c["http"]+".\n")
	h.write("workspace/env.txt", "of foo: "+c["foo"]+", "+url.QueryEscape(c["foo"])+", "+
		base64.StdEncoding.EncodeToString([]byte("x"+c["foo"]))+"\nof http: "+c["http"]+"\nthe last of env\n")
	d := h.start()
	out := &spy{house: h}
	c.add(t, h.home)
	out.read()
	out.trouble()
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	h.poison()
	again := h.start()
	again.stderr.waitFor(t, "doorbell quarantined")
	out.run(0, "events")
	out.run(0, "events", "--json")
	out.run(0, "approvals", "list", "--all", "--json")
	out.run(0, "usage")
	out.run(0, "context", theSession, "--json")
	if code := again.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}

	asked := h.model.asked()
	for _, part := range []string{"the first line", "the last line", "the last of env", "https://example.org/", "exit code", "FOO_TOKEN", "rather not"} {
		if !strings.Contains(asked, part) {
			t.Errorf("the model was not told %q", part)
		}
	}
	stored := written(t, filepath.Join(h.home, "data"))
	for _, part := range []string{"the last of env", "advisory.v1.terminated", "approval.decided.v1", "turn.failed.v1", "delivery.failed.v1"} {
		if !strings.Contains(stored, part) {
			t.Errorf("the store has no %q", part)
		}
	}
	c.find(t, "requests to the model", asked)
	c.find(t, "the store", stored)
	c.find(t, "run/", written(t, filepath.Join(h.home, "run")))
	c.find(t, "log", d.stderr.String()+again.stderr.String())
	c.find(t, "what was told", out.text.String())
}

// add learns the keys that a home has made for itself.
func (c canaries) add(t *testing.T, home string) {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(home, "keys", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range keys {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, ".pub") {
			c[filepath.Base(path)] = strings.TrimSpace(string(data))
		}
	}
	if len(keys) < 8 {
		t.Errorf("these are few keys: %v", keys)
	}
}

// spy is a person at a house, and all that this person was told.
type spy struct {
	*house
	text strings.Builder
}

// run is a command that ends with a code.
func (s *spy) run(code int, args ...string) {
	s.t.Helper()
	r := s.user.run(args...)
	r.want(s.t, code)
	s.text.WriteString(r.stdout + r.stderr)
}

// ask asks the HTTP API.
func (s *spy) ask(path string) {
	s.t.Helper()
	var got json.RawMessage
	s.api("GET", path, "", &got)
	s.text.Write(got)
}

// read has the agent read all that it can, with approvals where they are needed.
func (s *spy) read() {
	s.t.Helper()
	message := s.say(strings.Join([]string{
		`read_file {"path":"key.txt"}`,
		`read_skill {"name":"probe"}`,
		`read_file {"path":"env.txt"}`,
		`search_files {"pattern":"foo|OPENAI"}`,
		`read_file {"path":"../keys/http.token"}`,
		`web_search {"query":"a page"}`,
		execLine(`env; cat ../keys/* ../two.secret ../data/*; cat /proc/$PPID/environ /proc/1/environ; printf %s "$FOO_TOKEN" | base64; cat *.txt; exit 3`),
		`write_file {"path":"AGENTS.md","content":"obey"}`,
		`no_such_tool {}`,
	}, "\n"))
	id := s.parked(message)
	s.ask("/v1/approvals/" + id)
	s.run(0, "approvals", "show", id)
	s.run(0, "approvals", "approve", id)
	id = s.parked(message)
	s.run(0, "approvals", "deny", id, "--reason", "rather not")
	s.run(1, "approvals", "approve", id)
	s.run(1, "approvals", "show", "aaaaaaaaaaa")
	s.reply(message).want(s.t, "completed", "rather not", "no_such_tool")
	s.ask("/v1/messages/" + message + "/reply")
}

// trouble has providers that repeat their keys, in answers and in errors.
func (s *spy) trouble() {
	s.t.Helper()
	message := s.say("what is the key")
	s.reply(message).want(s.t, "completed", "it is Bearer [key]")
	s.ask("/v1/messages/" + message + "/reply")
	message = s.say("fail")
	s.reply(message).want(s.t, "failed")
	s.ask("/v1/messages/" + message + "/reply")
	s.run(1, "chat", "fail")
	s.run(0, "config", "show")
	s.run(0, "config", "check")
	s.ask("/v1/sessions/a/nothing")
}

// poison puts an event into the journal that nobody can read. Nobody else may have the home.
func (h *house) poison() {
	h.t.Helper()
	at, err := home.Find(func(string) (string, bool) { return h.home, true })
	if err != nil {
		h.t.Fatal(err)
	}
	e := app.Env{
		Home: at, Config: config.Default(), Lookup: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		Secrets: &logs.Redactor{}, Log: slog.New(slog.DiscardHandler), Command: "test", Notice: func(string) {},
	}
	err = e.WithJournal(h.t.Context(), func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		m := nats.NewMsg(subject.OfEvent(session.ID("main.http.default.poison"), "message.received", ""))
		m.Data = []byte("this is no event")
		if _, err := owner.JetStream().PublishMsg(ctx, m); err != nil {
			return err
		}
		return owner.Close(ctx)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// written is all that the files of a folder hold.
func written(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestSecretsWithoutASandbox: a command can read the keys then, and what it prints of them is still kept back, at the very
// first start, too.
func TestSecretsWithoutASandbox(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	h.write("jetclaw.yaml", strings.Replace(h.config(""), "exec: {", "exec: {sandbox: none, ", 1))
	d := h.start()
	message := h.say(execLine("cat ../keys/*; echo that was all"))
	h.run("approvals", "approve", h.parked(message)).want(t, 0)
	o := h.reply(message)
	o.want(t, "completed", "that was all", "exit code 0")
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	c := canaries{"model": modelKey}
	c.add(t, h.home)
	c.find(t, "the reply", o.Text)
	c.find(t, "requests to the model", h.model.asked())
	c.find(t, "the store", written(t, filepath.Join(h.home, "data")))
}

// TestSecretInTheConfiguration: one that was pasted there, or lies where others may read it, is not repeated by what
// complains about it.
func TestSecretInTheConfiguration(t *testing.T) {
	t.Parallel()
	c := canaries{"pasted": "sk-ant-Zx81Lq0vTb72Nw5KdR3mYc94", "other": "hunter2hunter2+hunter2"}
	for name, yaml := range map[string]string{
		"a key":           `models: {default: one/x, providers: {one: {api: openai, api_key: "%s"}}}`,
		"a key in a URL":  `models: {default: one/x, providers: {one: {api: openai, base_url: "https://me:%s@example.org/v1"}}}`,
		"a broken file":   "models: {default: one/x, providers: {one: {api_key: \"%s\"",
		"a wrong setting": `channels: {http: {callback: {url: "http://127.0.0.1:1/", token: "%s"}}}`,
	} {
		for _, secret := range c {
			u := newUser(t, fmt.Sprintf(yaml, secret)+"\n")
			for _, args := range [][]string{{"config", "check"}, {"run"}} {
				r := u.run(args...)
				if !slices.Contains([]int{exitConfig, exitSecrets}, r.code) {
					t.Errorf("%s, %v: exit %d\n%s", name, args, r.code, r.stderr)
				}
				c.find(t, fmt.Sprint(name, ", ", args), r.stdout+r.stderr)
			}
		}
	}
}
