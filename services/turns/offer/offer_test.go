package offer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

func named(names ...string) []toolv1.Tool {
	var out []toolv1.Tool
	for _, n := range names {
		out = append(out, toolv1.Tool{Name: n})
	}
	return out
}

func TestTools(t *testing.T) {
	all := named("write", "read", "files__read", "files__write", "", "read", "r.x")
	for _, c := range []struct{ allow, deny, want string }{
		{"", "", "files__read files__write r.x read write"},
		{"*", "", "files__read files__write r.x read write"},
		{"read", "", "read"},
		{"files__*", "*write", "files__read"},
		{"r*", "", "r.x read"},
		{"r?x r??d", "", "r.x read"},
		{"*", "*", ""},
		{"*__*d", "", "files__read"},
		{"rea", "", ""},
		{"", "r*d *s*r*e", "files__read r.x write"},
		{"[r]ead", "", ""},
	} {
		var got []string
		for _, tool := range offer.Tools(all, strings.Fields(c.allow), strings.Fields(c.deny)) {
			got = append(got, tool.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("allow %q, deny %q: %v", c.allow, c.deny, got)
		}
	}
	if all[0].Name != "write" {
		t.Error("the list is written to")
	}
}

func TestName(t *testing.T) {
	for original, want := range map[string]string{
		"read": "read", "fs__read": "fs__read", "a-b_C9": "a-b_C9",
		"files.read": "files_read_601e4eb6", "": "__e3b0c442", "9x": "_9x_49c45e82", "ü": "__607474ca",
	} {
		if got := offer.Name(original); got != want {
			t.Errorf("%q is called %q", original, got)
		}
	}
	if got := offer.Name(strings.Repeat("n", 200)); len(got) != 64 {
		t.Errorf("a name of %d bytes", len(got))
	}
	if offer.Name("a.b") == offer.Name("a/b") {
		t.Error("two names are one")
	}
}

// A tool that is called as another one will be takes nothing from it.
func TestAShadowedName(t *testing.T) {
	taken := offer.Name("files.read")
	offered, names := offer.Portable(named("files.read", taken), offer.OpenAI)
	if names.Portable("files.read") == taken || names.Portable(taken) == taken || offered[0].Name == offered[1].Name {
		t.Errorf("got %+v", offered)
	}
	if got, ok := names.Original(taken); !ok || got != taken {
		t.Errorf("its own name leads to %q", got)
	}
}

func TestNamesOfNothing(t *testing.T) {
	var n offer.Names
	if _, ok := n.Original("read"); ok || n.Portable("a.b") != offer.Name("a.b") || n.Close("read") != nil {
		t.Error("it knows something")
	}
}

func TestClose(t *testing.T) {
	_, n := offer.Portable(named("read_file", "write_file", "read_result", "now", "web.get", "x"), offer.OpenAI)
	for name, want := range map[string]string{
		"readfile": "read_file", "Read_File": "read_file", "read": "read_file read_result", "exec": "", "nov": "now", "": "", "time_now": "now",
		"web_get": offer.Name("web.get"), "write_fiel": "write_file", "y": "", strings.Repeat("q", 9999): "",
	} {
		if got := strings.Join(n.Close(name), " "); got != want {
			t.Errorf("like %.20q: %s", name, got)
		}
	}
}

func TestTooMany(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("mcp__t%03d", i))
	}
	names = append(names, "zz", "zy")
	offered, n := offer.Portable(named(names...), offer.Anthropic)
	var got []string
	for _, o := range offered {
		got = append(got, o.Name)
	}
	if len(got) != offer.MaxTools || len(n.LeftOut) != 74 || !slices.Contains(got, "zz") || !slices.IsSorted(got) || n.LeftOut[0] != "mcp__t126" {
		t.Errorf("%d tools, %d left out from %q on", len(got), len(n.LeftOut), n.LeftOut[0])
	}
	again, _ := offer.Portable(append(named(names...), named("zz", "")...), offer.Anthropic)
	if text(again) != text(offered) {
		t.Error("it is another choice")
	}
}

// TestOneServerWithMany leaves room for those of others, wherever their names stand in the list.
func TestOneServerWithMany(t *testing.T) {
	list := []toolv1.Tool{{Name: "zz"}}
	for i := range 500 {
		list = append(list, toolv1.Tool{Name: fmt.Sprintf("big__t%03d", i)})
	}
	for i := range 9 {
		list = append(list, toolv1.Tool{Name: fmt.Sprintf("small__t%d", i)})
	}
	tools, n := offer.Portable(list, offer.OpenAI)
	if len(tools) != offer.MaxTools || len(n.LeftOut) != len(list)-offer.MaxTools {
		t.Errorf("%d tools, %d left out", len(tools), len(n.LeftOut))
	}
	for _, name := range n.LeftOut {
		if !strings.HasPrefix(name, "big__") {
			t.Errorf("%s is left out", name)
		}
	}
}

// one is what becomes of a schema.
func one(t *testing.T, schema string, d offer.Dialect) model.Tool {
	t.Helper()
	offered, _ := offer.Portable([]toolv1.Tool{{Name: "x", Description: "Does it.", Schema: json.RawMessage(schema)}}, d)
	if err := checkTool(offered[0], d); err != nil {
		t.Errorf("%s: %v of %s", d, err, offered[0].Parameters)
	}
	return offered[0]
}

func TestSchemas(t *testing.T) {
	const nothing = `{"properties":{},"type":"object"}`
	for _, c := range []struct {
		name, schema string
		dialect      offer.Dialect
		want, about  string
	}{
		{"none", ``, offer.OpenAI, nothing, "Does it."},
		{"no JSON", `{"type":`, offer.OpenAI, nothing, "Does it."},
		{"true", `true`, offer.Gemini, nothing, "Does it."},
		{"of a list", `{"type":"array","items":{}}`, offer.OpenAI, nothing, "Does it."},
		{"empty", `{}`, offer.Local, nothing, "Does it."},
		{"required only", `{"required":["a"]}`, offer.OpenAI, `{"properties":{"a":{}},"required":["a"],"type":"object"}`, "Does it."},
		{
			"of draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`,
			offer.OpenAI, `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`, "Does it.",
		},
		{
			"a pattern of its own", `{"properties":{"a":{"type":"string","pattern":"^(?!x)a"}}}`, offer.OpenAI,
			`{"properties":{"a":{"description":"(must match the pattern \"^(?!x)a\")","type":"string"}},"type":"object"}`, "Does it.",
		},
		{
			"a pattern, locally", `{"properties":{"a":{"type":"string","pattern":"^a$","maxLength":99999,"description":"An a."}}}`, offer.Local,
			`{"properties":{"a":{"description":"An a. (must match the pattern \"^a$\"; characters, at most: 99999)","type":"string"}},"type":"object"}`, "Does it.",
		},
		{
			"a choice at the top", `{"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"properties":{"kind":{"const":"b"},"y":{"type":"string"}},"required":["kind"]}]}`,
			offer.Anthropic, `{"properties":{"kind":{"enum":["a","b"],"type":"string"},"x":{"type":"string"},"y":{"type":"string"}},"required":["kind"],"type":"object"}`,
			`Does it. (give one of these combinations of arguments: (kind = "a", x) or (kind = "b", y?))`,
		},
		{
			"all of several at the top", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"},"a":{"minLength":2}}}]}`,
			offer.OpenAI, `{"properties":{"a":{"minLength":2,"type":"string"},"b":{"type":"number"}},"required":["a"],"type":"object"}`, "Does it.",
		},
		{
			"a reference", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"k":{"$ref":"#/$defs/K%7E1","description":"mine"}}},"K~1":{"type":"string","description":"its"},"K/":{"type":"integer"}}}`,
			offer.OpenAI, `{"properties":{"k":{"description":"mine","type":"integer"}},"type":"object"}`, "Does it.",
		},
		{
			"a reference to elsewhere", `{"properties":{"a":{"$ref":"https://x.y/z"}}}`, offer.OpenAI,
			`{"properties":{"a":{"description":"See https://x.y/z."}},"type":"object"}`, "Does it.",
		},
		{
			"itself", `{"properties":{"up":{"$ref":"#"}}}`, offer.OpenAI,
			`{"properties":{"up":{"properties":{"up":{"description":"(It is made like the one that it is in.)","type":"object"}},"type":"object"}},"type":"object"}`, "Does it.",
		},
		{
			"a name that is none", `{"properties":{"a b":{"type":"string"},"c":{"type":"string"}},"required":["a b","c"],"additionalProperties":false}`, offer.Anthropic,
			`{"description":"(fields: {\"a b\":{\"type\":\"string\"}}; needed: [\"a b\"])","properties":{"c":{"type":"string"}},"required":["c"],"type":"object"}`, "Does it.",
		},
		{
			"for Gemini", `{"properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0},"e":{"enum":[1,2]},"s":{"enum":["a","b",null]},"w":{"format":"uuid","type":"string"},"c":{"const":"x"},"l":{"type":"array"},"o":{"type":"object","additionalProperties":{"type":"string"}},"u":{"type":["string","integer"],"description":"U."}}}`,
			offer.Gemini,
			`{"properties":{"c":{"enum":["x"],"type":"string"},"e":{"description":"(must be one of [1,2])","type":"number"},"l":{"items":{"description":"(any JSON value)","type":"string"},"type":"array"},` +
				`"n":{"description":"(more than 0)","nullable":true,"type":"integer"},"o":{"description":"(other fields: {\"type\":\"string\"})","type":"object"},` +
				`"s":{"enum":["a","b"],"nullable":true,"type":"string"},"u":{"anyOf":[{"description":"(U.)","type":"string"},{"type":"integer"}]},"w":{"description":"(has the format \"uuid\")","type":"string"}},"type":"object"}`,
			"Does it.",
		},
		{
			"of draft 4", `{"properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true},"a":{"type":"string","required":true},"p":{"items":[{"type":"string"},{"type":"string"}]}}}`,
			offer.OpenAI,
			`{"properties":{"a":{"type":"string"},"n":{"exclusiveMinimum":1,"type":"number"},"p":{"description":"(its items are, in this order: [{\"type\":\"string\"},{\"type\":\"string\"}])","items":{"type":"string"},"type":"array"}},"type":"object"}`, "Does it.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := one(t, c.schema, c.dialect)
			if string(got.Parameters) != c.want || got.Description != c.about {
				t.Errorf("got\n%s\nwant\n%s\n%q", got.Parameters, c.want, got.Description)
			}
		})
	}
}

// What is too large, too deep, or grows without end is bounded.
func TestBounds(t *testing.T) {
	large := `{"type":"object","properties":{"a":{"description":"` + strings.Repeat("x", 70<<10) + `"}}}`
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{"type":"string"}` + strings.Repeat("}}", 200)
	bomb := `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 30 {
		bomb += fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"},"c":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1, i+1)
	}
	bomb += `"d30":{"type":"string"}}}`
	for name, schema := range map[string]string{"large": large, "deep": deep, "bomb": bomb} {
		for _, d := range dialects {
			got := one(t, schema, d)
			if tooLarge := strings.Contains(got.Description, "too large to be shown"); tooLarge != (name != "deep") {
				t.Errorf("%s: %q, %d bytes", name, got.Description, len(got.Parameters))
			}
		}
	}
	long := strings.Repeat("ü", 9000) + "\u202e"
	for d, most := range map[offer.Dialect]int{offer.OpenAI: 1024, offer.Gemini: 8 << 10} {
		offered, _ := offer.Portable([]toolv1.Tool{{Name: "x", Description: long, Schema: []byte(`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`)}}, d)
		if got := offered[0].Description; len(got) > most || len(got) < most-4 || !strings.HasSuffix(got, "… (give one of these combinations of arguments: (a) or (b))") {
			t.Errorf("%s: %d bytes, ending in %q", d, len(got), got[len(got)-80:])
		}
	}
}
