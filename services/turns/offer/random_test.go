package offer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

var dialects = []offer.Dialect{offer.OpenAI, offer.Anthropic, offer.Gemini, offer.Local}

// drawSchema draws what executors may publish, and what none should.
func drawSchema(t *rapid.T, depth int) any {
	s := map[string]any{}
	inner := func() any {
		if depth <= 0 {
			return rapid.SampledFrom([]any{true, false, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"$ref": "#"}, nil, 7}).Draw(t, "leaf")
		}
		return drawSchema(t, depth-1)
	}
	list := func() []any {
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "branches") {
			out = append(out, inner())
		}
		return out
	}
	fields := func() map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			out[rapid.SampledFrom([]string{"a", "b", "c", "a b", "ü", strings.Repeat("x", 70), "", "$x"}).Draw(t, "field")] = inner()
		}
		return out
	}
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"type", "type", "type", "properties", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "enum", "const",
		"default", "pattern", "format", "minimum", "exclusiveMinimum", "minLength", "maxItems", "multipleOf", "uniqueItems", "nullable",
		"description", "not", "$ref", "$defs", "$schema", "if", "patternProperties", "prefixItems", "x-odd", "title",
	}), 0, 6, rapid.ID).Draw(t, "keywords") {
		switch k {
		case "type":
			s[k] = rapid.SampledFrom([]any{
				"object", "object", "array", "string", "integer", "null", "any",
				[]any{"string", "null"},
				[]any{"object", "array"},
				[]any{"null"},
				[]any{},
				[]any{"string", "number", "array", "null"},
				3,
			}).Draw(t, k)
		case "properties", "$defs", "patternProperties":
			s[k] = fields()
		case "anyOf", "oneOf", "allOf", "prefixItems":
			s[k] = list()
		case "items", "not", "if", "additionalProperties":
			s[k] = inner()
		case "required":
			s[k] = rapid.SampledFrom([]any{[]any{"a"}, []any{"a", "b", "a"}, []any{"a b", "c"}, []any{}, true, []any{1}, []any{"z"}}).Draw(t, k)
		case "enum":
			s[k] = rapid.SampledFrom([]any{[]any{"x", "y"}, []any{1, 2}, []any{}, []any{"x", nil}, []any{"", "x"}, []any{nil}, "x", []any{map[string]any{}}}).Draw(t, k)
		case "pattern":
			s[k] = rapid.SampledFrom([]any{"^a+$", "^(?!x)", "(?<=a)b", `\p{L}`, "(", "[a-", 5, "a{2000}", `^[\w.-]+@x$`}).Draw(t, k)
		case "format", "description", "title":
			s[k] = rapid.SampledFrom([]any{"uri", "date-time", "odd", "", 1, "zero\u200bwidth"}).Draw(t, k)
		case "$ref":
			s[k] = rapid.SampledFrom([]any{"#", "#/properties/a", "#/$defs/a", "#/nowhere", "https://x.y/z", "#anchor", 4, "#/anyOf/0"}).Draw(t, k)
		default:
			s[k] = rapid.SampledFrom([]any{1, 0, -1, true, false, "x", 1.5, nil, map[string]any{"a": 1}, []any{1}, json.Number("1e999"), 5000}).Draw(t, k)
		}
	}
	return s
}

// TestPortable: whatever is published, every provider takes what comes out, and it comes out of itself again.
func TestPortable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tools []toolv1.Tool
		for i := range rapid.IntRange(1, 3).Draw(t, "tools") {
			raw, err := json.Marshal(drawSchema(t, rapid.IntRange(0, 4).Draw(t, "depth")))
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, toolv1.Tool{
				Name:        rapid.SampledFrom([]string{"read", "files.read", "files/read", "a b", "ü", "1x"}).Draw(t, "name") + fmt.Sprint(i),
				Description: strings.Repeat(rapid.StringN(0, 10, 40).Draw(t, "description"), rapid.SampledFrom([]int{1, 1, 300}).Draw(t, "times")),
				Schema:      raw,
			})
		}
		before, _ := json.Marshal(tools)
		for _, d := range dialects {
			offered, names := offer.Portable(tools, d)
			if len(offered) != len(tools) {
				t.Fatalf("%d of %d", len(offered), len(tools))
			}
			var again []toolv1.Tool
			for _, o := range offered {
				if err := checkTool(o, d); err != nil {
					t.Fatalf("%s: %v\n%s\nof %s", d, err, o.Parameters, before)
				}
				if original, ok := names.Original(o.Name); !ok || names.Portable(original) != o.Name {
					t.Fatalf("%q leads to %q", o.Name, original)
				}
				again = append(again, toolv1.Tool{Name: o.Name, Description: o.Description, Schema: o.Parameters})
			}
			if twice, _ := offer.Portable(again, d); !reflect.DeepEqual(twice, offered) {
				t.Fatalf("%s: offered again it is another\n%s\n%s", d, text(offered), text(twice))
			}
		}
		if after, _ := json.Marshal(tools); !bytes.Equal(after, before) {
			t.Fatal("the original is written to")
		}
	})
}

func text(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// TestNames: any names, and those that somebody made to meet.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tools []toolv1.Tool
		for range rapid.IntRange(1, 12).Draw(t, "tools") {
			name := rapid.OneOf(rapid.StringN(1, 3, 10), rapid.SampledFrom([]string{"a.b", "a/b", "a_b", strings.Repeat("n", 80), strings.Repeat("n", 81)})).Draw(t, "name")
			tools = append(tools, toolv1.Tool{Name: name})
			if rapid.Bool().Draw(t, "shadowed") {
				tools = append(tools, toolv1.Tool{Name: offer.Name(name)})
			}
		}
		offered, names := offer.Portable(tools, offer.OpenAI)
		seen := map[string]bool{}
		for _, o := range offered {
			if !goodName.MatchString(o.Name) || seen[o.Name] {
				t.Fatalf("%q of %s", o.Name, text(tools))
			}
			seen[o.Name] = true
		}
		for _, tool := range tools {
			shown := names.Portable(tool.Name)
			if got, ok := names.Original(shown); !ok || got != tool.Name {
				t.Fatalf("%q is shown as %q, which is %q", tool.Name, shown, got)
			}
			if once := offer.Name(tool.Name); offer.Name(once) != once || !goodName.MatchString(once) {
				t.Fatalf("%q is called %q", tool.Name, once)
			}
		}
	})
}

// TestPatterns: what is kept is a pattern for RE2 too.
func TestPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{
			"a", "b", "(", ")", "(?:", "(?=", "(?<n>", "[", "]", "[^", "-", "z", `\d`, `\w`, `\.`, `\1`, `\p{L}`, `\b`, "*", "+", "?", "{2}", "{2,}", "{,2}",
			"{1000}", "{3,1}", "|", "^", "$", ".", "ü", "\\", "{", "}", "0-9", "a-z", "&&",
		})
		p := strings.Join(rapid.SliceOfN(piece, 0, 10).Draw(t, "pieces"), "")
		raw, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "pattern": p}}})
		offered, _ := offer.Portable([]toolv1.Tool{{Name: "x", Schema: raw}}, offer.OpenAI)
		if err := checkTool(offered[0], offer.OpenAI); err != nil {
			t.Fatal(err)
		}
	})
	for p, kept := range map[string]bool{
		`^[a-z0-9._%+-]+@[a-z0-9.-]+$`: true, `^\d{4}-\d{2}-\d{2}$`: true, `^(?:a|b)+$`: true, `[\w-]*?`: true, `^https?:\/\/`: true, "": true, `(ab){2,3}`: true,
		`^(?!\.)(?!.*\.\.)x`: false, `(?<=a)b`: false, `(a)\1`: false, `(?i)a`: false, `a++`: false, `[]a]`: false, `(a{2}){3}`: false, `\u0041`: false,
		`[z-a]`: false, `a{1001}`: false, `(`: false, `a)`: false, strings.Repeat("a", 600): false,
	} {
		raw, _ := json.Marshal(map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string", "pattern": p}}})
		offered, _ := offer.Portable([]toolv1.Tool{{Name: "x", Schema: raw}}, offer.OpenAI)
		if got := strings.Contains(string(offered[0].Parameters), `"pattern":`); got != kept {
			t.Errorf("%q is kept: %v", p, got)
		}
		if _, err := regexp.Compile(p); kept && err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}
