package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/tools/call"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTemplatesAreNotPrivate reads the files that new workspaces begin with where they are.
func TestTemplatesAreNotPrivate(t *testing.T) {
	for _, name := range toolv1.PrivateFiles {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "turns", "internal", "workspace", "defaults", name))
		if err != nil {
			t.Fatal(err)
		}
		if personal(string(text)) {
			t.Errorf("the template of %s counts as private: bring the lines in prompt.go up to date", name)
		}
		if !personal(string(text) + "\n- likes tea\n") {
			t.Errorf("%s: a line more is not seen", name)
		}
	}
}

func TestPromptIsPrivate(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "\n \n": false, "# Title\n\n## More": false, "<!-- fill\nme in -->\n": false, "<!-- never closed": true, "x": true,
		"# Title\nBob": true, "<!-- a --> Bob <!-- b -->": true, "- Name, and how to address them: Bob": true, "\ufeff# T": false,
		strings.Repeat("<!---->", 100_000): false,
	} {
		dir := t.TempDir()
		write(t, dir, "USER.md", text)
		if got := newPrompts().private(dir); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
	dir := t.TempDir()
	p := newPrompts()
	if p.private(dir) || p.private("") || p.private(filepath.Join(dir, "gone")) {
		t.Error("nothing there is private")
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "MEMORY.md")); err != nil {
		t.Fatal(err)
	}
	if !p.private(dir) {
		t.Error("what cannot be read counts as private")
	}
	_ = os.Remove(filepath.Join(dir, "MEMORY.md"))
	write(t, dir, "MEMORY.md/x", "")
	if !p.private(dir) {
		t.Error("a folder in its place counts as private")
	}
}

// TestPromptsAreReadAgain changes a file in every way, also without another size or time.
func TestPromptsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	p := newPrompts()
	old := time.Now().Add(-time.Hour)
	put := func(text string, at time.Time) {
		write(t, dir, "USER.md", text)
		if err := os.Chtimes(filepath.Join(dir, "USER.md"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("# a", old)
	first := p.digest(dir)
	if p.digest(dir) != first || p.private(dir) {
		t.Error("nothing has changed")
	}
	put("Bob", old.Add(time.Second))
	if p.digest(dir) == first || !p.private(dir) {
		t.Error("the change is not seen")
	}
	now := time.Now()
	put("# b", now)
	second := p.digest(dir)
	put("Eve", now) // within one tick of the clock
	if p.digest(dir) == second || !p.private(dir) {
		t.Error("a change in the same moment is not seen")
	}
}

func TestTrifectaFromThePrompt(t *testing.T) {
	g, dir := house(t, Policy{})
	if v := judged(t, g, "fetch", `{"url":"https://x/"}`, untrusted); v.Effect != call.Run {
		t.Errorf("nothing private yet: %+v", v)
	}
	write(t, dir, "USER.md", "Bob lives in Rome")
	if v := judged(t, g, "fetch", `{"url":"https://x/"}`, untrusted); v.Rule != "trifecta" {
		t.Errorf("the prompt is private: %+v", v)
	}
	_ = os.Remove(filepath.Join(dir, "USER.md"))
	upload := []toolv1.Catalogue{{Executor: "e", Tools: []toolv1.Tool{{
		Name: "upload", Schema: object(`"file"`, `"file":{"type":"string"}`), Paths: []string{"file"}, Egress: toolv1.Chosen,
	}}}}
	for file, want := range map[string]call.Effect{
		"notes.md": call.Run, "secret/plan.md": call.Ask, "secret/a/b": call.Ask, "x/../secret": call.Ask, "user.md": call.Ask, "later.md": call.Ask,
		dir + "/secret/x": call.Ask, "secretary": call.Run,
	} {
		v := g.Judge(upload)(call.Question{Session: id(t, "main"), Tool: "upload", Arguments: []byte(`{"file":"` + file + `"}`), Taint: untrusted})
		if v.Effect != want {
			t.Errorf("%s: %+v", file, v)
		}
	}
}

// TestVersion changes one thing after the other: the version of a tool's calls changes when it decides, and only then. That of the
// agent's policy as a whole is the same but for the tool.
func TestVersion(t *testing.T) {
	rules := Policy{Deny: []Rule{{Tool: "a", Args: map[string]string{"x": "1", "y": "2"}, Reason: "r"}}, Allow: []Rule{{Tool: "b"}}}
	g, dir := house(t, rules)
	of := func(g *Gate, agent string, all []toolv1.Catalogue) string {
		tool := offered()[0].Tools[0].Name
		version := g.version(agent, g.view(all).offers[tool].version())
		if callv1.PolicyChange(version, g.Version(agent)) != "" {
			t.Errorf("%s: the policy of the agent is %s", version, g.Version(agent))
		}
		return version
	}
	base := of(g, "main", offered())
	if len(base) != len("p1")+3*17 || !strings.HasPrefix(base, "p1-") {
		t.Errorf("version %q", base)
	}
	with := func(p Policy) string {
		o, err := g.With(p)
		if err != nil {
			t.Fatal(err)
		}
		return of(o, "main", offered())
	}
	other := func(change func(*Config)) string {
		c := g.config
		c.Agents = map[string]Agent{"main": c.Agents["main"], "guest": c.Agents["guest"]}
		change(&c)
		o, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return of(o, "main", offered())
	}
	catalogue := func(change func([]toolv1.Catalogue) []toolv1.Catalogue) string {
		return of(g, "main", change(offered()))
	}
	main := func(change func(*Agent)) string {
		return other(func(c *Config) { a := c.Agents["main"]; change(&a); c.Agents["main"] = a })
	}

	reworded := rules
	reworded.Deny = []Rule{{Tool: "a", Args: map[string]string{"y": "2", "x": "1"}, Reason: "other words"}}
	for name, got := range map[string]string{
		"again":                 of(g, "main", offered()),
		"another executor":      catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[1].Endpoint += "y"; return c }),
		"another tool":          catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[0].Tools[1].Level = 1; return c[:1] }),
		"order of executors":    catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { slices.Reverse(c); return c }),
		"order of tools":        catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { slices.Reverse(c[0].Tools); return c }),
		"reason of a rule":      with(reworded),
		"a secret":              other(func(c *Config) { c.Secrets = []string{"another one"} }),
		"another agent's tools": other(func(c *Config) { c.Agents["guest"] = Agent{} }),
	} {
		if got != base {
			t.Errorf("%s: the version changes", name)
		}
	}
	seen := map[string]string{base: "nothing"}
	differs := func(name, got string) {
		if was, ok := seen[got]; ok {
			t.Errorf("%s: the same version as with %s", name, was)
		}
		seen[got] = name
	}
	differs("agent", of(g, "guest", offered()))
	differs("no rules", with(Policy{}))
	differs("rule moved", with(Policy{Ask: rules.Deny, Allow: rules.Allow}))
	differs("tool of a rule", with(Policy{Deny: rules.Deny, Allow: []Rule{{Tool: "c"}}}))
	differs("agent of a rule", with(Policy{Deny: rules.Deny, Allow: []Rule{{Tool: "b", Agent: "x"}}}))
	differs("argument of a rule", with(Policy{Deny: []Rule{{Tool: "a", Args: map[string]string{"x": "1", "y": "3"}}}, Allow: rules.Allow}))
	differs("allow", main(func(a *Agent) { a.Allow = []string{"x"} }))
	differs("deny", main(func(a *Agent) { a.Deny = []string{"x"} }))
	differs("client", main(func(a *Agent) { a.Client = true }))
	differs("workspace", main(func(a *Agent) { a.Workspace = "/nowhere" }))
	differs("private", other(func(c *Config) { c.Private = []string{"x"} }))
	differs("no catalogue", of(g, "main", nil))
	differs("endpoint", catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[0].Endpoint += "y"; return c }))
	differs("executor", catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[0].Executor += "y"; return c }))
	differs("level", catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[0].Tools[0].Level = 1; return c }))
	differs("schema", catalogue(func(c []toolv1.Catalogue) []toolv1.Catalogue { c[0].Tools[0].Schema = []byte(`{}`); return c }))
	inPlace := offered()
	of(g, "main", inPlace)
	copy(inPlace[0].Tools[0].Schema, `{"type":"string"`)
	differs("schema written in place", of(g, "main", inPlace))
	for _, name := range slices.Concat(toolv1.PromptFiles, []string{"skills/a/SKILL.md", "skills/b/SKILL.md"}) {
		write(t, dir, name, "now "+name)
		differs(name, of(g, "main", offered()))
	}
	_ = os.Remove(filepath.Join(dir, "SOUL.md"))
	differs("removed", of(g, "main", offered()))
	write(t, dir, "notes.md", "x")
	if seen[of(g, "main", offered())] != "removed" {
		t.Error("another file changes the version")
	}
}
