package catalogue_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/services/mcp/catalogue"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

var portable = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// names that are likely to become the same.
var names = rapid.OneOf(
	rapid.StringMatching(`[ab._/]{0,5}`), rapid.String(), rapid.StringMatching(`a[._]{60,70}b`),
	rapid.SampledFrom([]string{"resources_list", "prompts_get", "a_b", "a.b", "a_b_1234abcd"}),
)

func anyTool() *rapid.Generator[catalogue.Tool] {
	return rapid.Custom(func(t *rapid.T) catalogue.Tool {
		hint := func(name string) *bool {
			return rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, name)
		}
		return catalogue.Tool{
			Name: names.Draw(t, "name"), Title: rapid.String().Draw(t, "title"), Description: rapid.String().Draw(t, "description"),
			Schema: rapid.OneOf(
				rapid.SliceOfN(rapid.Byte(), 0, 20),
				rapid.SampledFrom([][]byte{nil, []byte(schema), []byte(`{"type":"object"}`), []byte(`{"type":[]}`), []byte(`{"$ref":"x"}`), []byte(`{"type":"a"}`)}),
			).Draw(t, "schema"),
			ReadOnly: hint("read-only"), Destructive: hint("destructive"), Idempotent: hint("idempotent"), OpenWorld: hint("open world"),
			TaskRequired: rapid.IntRange(0, 9).Draw(t, "task") == 0,
		}
	})
}

// TestRandomListings builds catalogues of lists that no server should have.
func TestRandomListings(t *testing.T) {
	servers := rapid.OneOf(rapid.StringMatching(`[ab_]{1,4}`), rapid.StringMatching(`[a-z_-]{20,64}`))
	globs := rapid.SliceOfN(rapid.StringMatching(`[ab._*]{1,4}`), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		server := servers.Draw(t, "server")
		l := catalogue.Listing{
			Tools: rapid.SliceOfN(anyTool(), 0, 12).Draw(t, "tools"), Resources: rapid.Bool().Draw(t, "resources"), Prompts: rapid.Bool().Draw(t, "prompts"),
		}
		if len(l.Tools) > 0 { // a server that makes up a name which another of its tools will get
			b := catalogue.Build(server, definition.Definition{}, catalogue.Listing{Tools: l.Tools[:1]})
			for name := range b.Targets {
				l.Tools = append(l.Tools, catalogue.Tool{Name: name[min(len(name), len(server)+2):]})
			}
		}
		d := definition.Definition{Command: "x", Approval: rapid.SampledFrom([]definition.Approval{"", definition.Auto, definition.Approve}).Draw(t, "approval")}
		all := catalogue.Build(server, d, l)
		check(t, server, all)

		l.Tools = rapid.Permutation(l.Tools).Draw(t, "order")
		if again := catalogue.Build(server, d, l); !reflect.DeepEqual(again, all) {
			t.Fatalf("in another order\n%+v\n%+v", again, all)
		}

		d.ToolFilter = &definition.ToolFilter{Include: globs.Draw(t, "include"), Exclude: globs.Draw(t, "exclude")}
		some := catalogue.Build(server, d, l)
		check(t, server, some)
		for name, target := range some.Targets {
			if all.Targets[name] != target {
				t.Fatalf("%s is %+v, and %+v where nothing is filtered", name, target, all.Targets[name])
			}
		}

		if other := servers.Draw(t, "other server"); other != server {
			for name := range catalogue.Build(other, definition.Definition{}, l).Targets {
				if _, both := all.Targets[name]; both {
					t.Fatalf("%s and %s both have a tool %s", server, other, name)
				}
			}
		}
	})
}

// check says what holds for every catalogue.
func check(t *rapid.T, server string, b catalogue.Built) {
	seen, targets, tools, last := map[string]bool{}, map[catalogue.Target]bool{}, 0, ""
	for _, x := range b.Catalogue.Tools {
		target, ok := b.Targets[x.Name]
		if !portable.MatchString(x.Name) || seen[x.Name] || x.Name <= last || !ok || targets[target] {
			t.Fatalf("%q stands for %+v in %+v", x.Name, target, b)
		}
		seen[x.Name], targets[target], last = true, true, x.Name
		if target.Kind == catalogue.KindTool {
			tools++
		}
		var schema struct{ Type any }
		if err := json.Unmarshal(x.Schema, &schema); err != nil || schema.Type != "object" {
			t.Fatalf("%s has the schema %s", x.Name, x.Schema)
		}
		if len(x.Description) > 4096 || !x.Untrusted || !x.AnyArgs || x.Timeout < catalogue.MaxCall || !x.Level.Known() {
			t.Fatalf("%+v", x)
		}
	}
	if len(b.Targets) != len(seen) || b.Listed != tools+b.Filtered+b.Dropped || b.ReadOnly > b.Annotated || b.Annotated > tools {
		t.Fatalf("the counts of %s do not match: %+v", server, b)
	}
}
