package registry

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// text draws what can stand in a setting: words, and all that YAML reads as something else.
var text = rapid.OneOf(
	rapid.StringMatching(`[a-z][a-z0-9/._-]{0,9}`),
	rapid.SampledFrom([]string{
		"", "-y", "true", "No", "null", "~", "1", "0x1f", "1e3", ".5", "-", "---", "...", "a: b", "a #b", "#c", "{a}", "[b]", "a,b", "*", "&x",
		"!t", "|", ">", "%d", "@x", "`", "'", "\"", "it's", "a\nb", "\ttab", " lead", "trail ", "${HOME}/x", "a$$b", "é", "😀", "\u2028", "\u0085",
		"\\n", "2026-11-30", "12:30:00", "=", "<<", "? x", "a:", ":a", "http://h:1/x?y=z#w", "\x7f", "\x1b[0m",
	}),
	rapid.StringN(0, 12, 40).Filter(func(s string) bool { return !strings.ContainsAny(s, "\x00") && !strings.Contains(s, "${") }),
)

var name = rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_-]{0,6}`), rapid.SampledFrom([]string{"true", "null", "123", "1e3", "n"}))

func drawDefinition(t *rapid.T) definition.Definition {
	texts := rapid.SliceOfN(text, 0, 4)
	var d definition.Definition
	if rapid.Bool().Draw(t, "stdio") {
		d.Command = rapid.SampledFrom([]string{"npx", "node", "/usr/bin/x y", "true", "${BIN}"}).Draw(t, "command")
		d.Args = texts.Draw(t, "args")
		d.Env = rapid.MapOfN(rapid.StringMatching(`[A-Z]{1,4}`), text, 0, 3).Draw(t, "env")
		d.Cwd = rapid.SampledFrom([]string{"", "/srv", "./x y"}).Draw(t, "cwd")
	} else {
		d.URL = "https://h/" + rapid.StringMatching(`[a-z?=&]{0,8}`).Draw(t, "url")
		d.Headers = map[string]string{"X-A": rapid.StringMatching(`[ -~]{0,12}`).Draw(t, "header")}
	}
	d.RequestTimeoutMs = rapid.IntRange(0, 3600000).Draw(t, "timeout")
	if rapid.Bool().Draw(t, "filter") {
		d.ToolFilter = &definition.ToolFilter{Include: rapid.SliceOfN(rapid.SampledFrom([]string{"*", "a*", "b", "true"}), 0, 3).Draw(t, "include")}
	}
	if rapid.Bool().Draw(t, "switched") {
		on := rapid.Bool().Draw(t, "on")
		d.Enabled = &on
	}
	return d
}

func drawServers(t *rapid.T, most int) servers {
	all := servers{}
	for range rapid.IntRange(0, most).Draw(t, "servers") {
		d := drawDefinition(t)
		if len(d.Validate()) == 0 {
			all[name.Draw(t, "name")] = d
		}
	}
	return all
}

// drawSection is mcp.servers as a person may write it: over lines with comments and empty lines, in braces, or a mixture.
func drawSection(t *rapid.T, all servers, newline string) string {
	var b strings.Builder
	block := blockStyle{step: rapid.IntRange(1, 5).Draw(t, "step"), newline: newline}
	note := func(indent int) {
		switch rapid.IntRange(0, 3).Draw(t, "note") {
		case 0:
			fmt.Fprintf(&b, "%s# a note: {x}%s", strings.Repeat(" ", indent), newline)
		case 1:
			b.WriteString(newline)
		default:
		}
	}
	sorted := slices.Sorted(maps.Keys(all))
	switch style := rapid.IntRange(0, 3).Draw(t, "style"); {
	case style == 0:
		return "mcp: " + flowStyle{}.value(object{{"servers", sections(all)}}) + " # in braces" + newline
	case style == 1 || len(all) == 0:
		return "mcp:" + newline + strings.Repeat(" ", block.step) + "servers: " + flowStyle{quoteKeys: true}.value(sections(all)) + newline
	}
	b.WriteString("mcp: # servers" + newline + strings.Repeat(" ", block.step) + "servers:" + newline)
	for _, name := range sorted {
		note(2 * block.step)
		section := sectionOf(all[name])
		if rapid.Bool().Draw(t, "braces") {
			fmt.Fprintf(&b, "%s%s: %s # brief%s", strings.Repeat(" ", 2*block.step), flowStyle{}.text(name), flowStyle{}.value(section), newline)
			continue
		}
		fmt.Fprintf(&b, "%s%s:%s", strings.Repeat(" ", 2*block.step), flowStyle{}.text(name), newline)
		for _, e := range section {
			note(3 * block.step)
			b.WriteString(block.pair(e, 3*block.step))
		}
	}
	return b.String()
}

// TestRandomEdits changes random files at random and wants exactly the change: the rest to the byte, the servers to the letter.
func TestRandomEdits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jetclaw.yaml")
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		part := func(label string, texts ...string) string {
			return strings.ReplaceAll(rapid.SampledFrom(append(texts, "")).Draw(t, label), "\n", newline)
		}
		before := part("before", "# head\n\nlog: {level: debug} # é\n", "\uFEFFlog:\n  level: debug\n\n", "---\nagents:\n  main:\n    instructions: |\n      # no comment\n\n      é\n")
		after := part("after", "# about limits\nlimits:\n    rounds: 7\n# end", "\n\nowners:\n- local\n\n\n", "retention:\n  archive: \"a\n    b\"\n")
		old := drawServers(t, 4)
		section := ""
		if rapid.IntRange(0, 4).Draw(t, "absent") > 0 {
			section = drawSection(t, old, newline)
		} else {
			old = servers{}
		}
		whole := before + section + after
		if _, _, err := config.Parse("x", []byte(whole)); err != nil {
			t.Fatalf("%v in\n%s", err, whole)
		}
		if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		wanted := clone(old)
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			switch rapid.IntRange(0, 3).Draw(t, "edit") {
			case 0:
				delete(wanted, name)
			case 1:
				if d := drawDefinition(t); len(d.Validate()) == 0 {
					wanted[name] = d
				}
			case 2:
				d := wanted[name]
				d.IdleTimeoutMs, d.RequestTimeoutMs, d.ToolFilter = 1000, 0, nil
				wanted[name] = d
			default:
			}
		}
		maps.Copy(wanted, drawServers(t, 2))
		err := Edit(t.Context(), file, func(all map[string]definition.Definition) error {
			clear(all)
			maps.Copy(all, wanted)
			return nil
		})
		if err != nil {
			t.Fatalf("%v in\n%s", err, whole)
		}
		out, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Load(file)
		if err != nil || !equal(got, wanted) {
			t.Fatalf("%v: other servers in\n%s\nthat was\n%s", err, out, whole)
		}
		if section == "" {
			before, after = before+after, ""
		}
		if !strings.HasPrefix(string(out), before) || !strings.HasSuffix(string(out), after) {
			t.Fatalf("something else has changed in\n%s\nthat was\n%s", out, whole)
		}
	})
}

// FuzzEdit adds a server to anything that is a configuration.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(commented))
	f.Add([]byte("{\"mcp\": {\"servers\": {\"b\": {\"command\": \"y\",},}, # c\n}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before, _, err := config.Parse("x", data)
		if err != nil || len(before.MCP.Servers) > 0 && before.MCP.Servers["a"].Command != "" {
			return
		}
		wanted := clone(before.MCP.Servers)
		wanted["a"] = npx()
		if out, err := rewritten("x", data, before, wanted); err != nil {
			t.Logf("refused: %v in %q", err, data)
		} else if len(out) <= len(data) {
			t.Errorf("%q became %q", data, out)
		}
	})
}
