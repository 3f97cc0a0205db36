package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// growing holds each level of a value against itself twice.
const growing = `{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}}}`

func TestArguments(t *testing.T) {
	const search = `{"type":"object","required":["query","limit"],"additionalProperties":false,"properties":{
		"query":{"type":"string","minLength":2},"limit":{"type":"integer","minimum":1,"maximum":50},"mode":{"enum":["fast","exact"]},
		"where":{"$ref":"#/definitions/place"},"tags":{"type":"array","maxItems":2,"items":{"type":"string"}},"code":{"type":"string","pattern":"^[a-z]+$"}},
		"definitions":{"place":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}`
	draft := func(d string) string { return `{"$schema":"` + d + `",` + search[1:] }
	const seven = "http://json-schema.org/draft-07/schema#"
	for _, c := range []struct {
		schema, args string
		want         []string // pieces of the error; none: it fits
	}{
		{search, `{"query":"ab","limit":1}`, nil},
		{draft(seven), `{"query":"ab","limit":1,"where":{"city":"x"},"tags":["a"],"mode":"fast","code":"a"}`, nil},
		{draft("http://json-schema.org/draft-07/schema"), `{"query":"ab","limit":1}`, nil},
		{draft("https://json-schema.org/draft/2020-12/schema"), `{"query":"ab","limit":1.0}`, nil},
		{draft("https://json-schema.org/draft/2019-09/schema"), `{"query":"ab","limit":1}`, nil},
		{draft("http://json-schema.org/draft-04/schema#"), `{"query":"ab","limit":1}`, nil},
		{draft("urn:mine"), `{}`, []string{`"query" is missing`, `"limit" is missing`}},
		{search, `{}`, []string{`"query" is missing ({"minLength":2,"type":"string"})`, `"limit" is missing`}},
		{search, `{"query":1,"limit":"5"}`, []string{`"query" must be a string, not an integer`, `"limit" must be an integer, not a string`}},
		{search, `{"query":"ab","limit":1,"qery":"x"}`, []string{`"qery" is no argument of this tool; did you mean query?`}},
		{search, `{"query":"a","limit":51}`, []string{`"query" must have at least 2 characters`, `"limit" must be at most 50`}},
		{search, `{"query":"ab","limit":1.5}`, []string{`"limit" must be an integer, not a number`}},
		{search, `{"query":"ab","limit":1,"mode":"slow"}`, []string{`"mode" must be one of ["fast","exact"]`}},
		{search, `{"query":"ab","limit":1,"where":{}}`, []string{`"where.city" is missing`}},
		{search, `{"query":"ab","limit":1,"tags":["a",1,"b"]}`, []string{`"tags" must have at most 2 elements`, `"tags[1]" must be a string`}},
		{search, `{"query":"ab","limit":1,"code":"A"}`, []string{`"code" must fit {"pattern":"^[a-z]+$","type":"string"}`}},
		{search, `{"query":"ab"`, []string{"no valid JSON object"}},
		{search, `"x"`, []string{"must be one JSON object"}},
		{search, `{"query":"ab","query":"cd","limit":1}`, []string{`"query" stands twice`}},
		{search, "{\"query\":\"\xff\",\"limit\":1}", []string{"UTF-8"}},
		{`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"c":1}`, []string{"they must fit {"}},
		{`{"type":"object"}`, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), []string{"nested more than 64 deep"}},
		{`{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"x":{"x":{}}}`, nil}, // goes down with the value
		{`{"$schema":"` + seven + `","type":"object","properties":{"x":{"items":[{"type":"string"}]}}}`, `{"x":[1]}`, []string{`"x" must fit`}},

		// Schemas that cannot be used.
		{``, `{}`, []string{"cannot be used", "it has none"}},
		{`null`, `{}`, []string{"cannot be used"}},
		{`{"type":`, `{}`, []string{"cannot be used"}},
		{`{"properties":{"a":{"$REF":"#/properties/a"}}}`, `{"a":1}`, nil}, // no keyword, and none to the validator
		{`{"properties":{"a":{"allof":[{"$ref":"#/properties/a"}],"\u017Fchema":1,"TYPE":"string"}}}`, `{"a":1}`, nil},
		{`{"properties":{"Type":{"type":"integer"}},"required":["Type"]}`, `{"Type":"x"}`, []string{`"Type" must be an integer`}},
		{growing, `{"x":` + strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 61), []string{"too much for the tool's schema"}},
		{growing, `{"x":{"a":{"a":{"a":1}}}}`, nil},
		{
			`{"properties":{"x":{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `]}}}}`,
			`{"x":[` + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + `]}`,
			[]string{"too much"},
		},
		{strings.Repeat(`{"not":`, 9000) + `{}` + strings.Repeat("}", 9000), `{}`, []string{"nested more than 200 deep"}},
		{`{"x":"` + strings.Repeat("a", maxSchema) + `"}`, `{}`, []string{"at most 262144"}},
	} {
		for range 5 { // maps have no order; words have
			_, _, err := arguments(compile(json.RawMessage(c.schema)), json.RawMessage(c.args))
			if c.want == nil && err != nil || c.want != nil && err == nil {
				t.Errorf("%.100s %.100s: %v", c.schema, c.args, err)
				break
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%.100s %.100s\n got %v\nwant %s", c.schema, c.args, err, want)
				}
			}
		}
	}
}

// TestOutlines: of a schema that cannot be followed, what stands by itself is checked, and the rest lets everything through.
func TestOutlines(t *testing.T) {
	// with is a schema with a part that spoils it.
	with := func(part string) string {
		return `{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer","minimum":1,"title":"N"},"x":` + part + `}}`
	}
	for _, c := range []struct {
		schema, unread string
		fits, not      []string
	}{
		{with(`{"type":"string","pattern":"^(?!a)"}`), "invalid or unsupported Perl syntax", []string{`{"n":1,"x":"a"}`}, []string{
			`{"n":1,"x":1}`, `{"n":0}`, `{"x":"b"}`, `{"n":1,"y":1}`,
		}},
		{with(`{"not":{"pattern":"(?=a)"}}`), "Perl syntax", []string{`{"n":1,"x":"a"}`, `{"n":1,"x":"b"}`}, []string{`{"n":"1"}`}}, // not {} would fit nothing
		{with(`{"type":"array","items":{"type":"string","format":"email","pattern":"(?<a>"},"maxItems":1}`), "missing closing", []string{`{"n":1,"x":["a"]}`}, []string{
			`{"n":1,"x":["a","b"]}`, `{"n":1,"x":[1]}`,
		}},
		{with(`{"$ref":"https://elsewhere/schema","type":"string"}`), "does not lead to a place in it", []string{`{"n":1,"x":{}}`}, []string{`{}`}},
		{with(`{"$ref":"http://169.254.169.254/","minimum":5}`), "does not lead", []string{`{"n":1,"x":1}`}, nil},
		{with(`{"$ref":"#/$defs/gone"}`), "does not lead", []string{`{"n":1,"x":[]}`}, []string{`{"n":1.5}`}},
		{with(`{"$ref":"#/properties/x"}`), "leads back to itself", []string{`{"n":1,"x":[]}`}, []string{`{}`}},
		{with(`{"not":{"$ref":"#/properties/x"}}`), "leads back to itself", []string{`{"n":1,"x":[]}`}, []string{`{}`}},
		{with(`{"$dynamicRef":"#x"}`), "$dynamicRef is not supported", []string{`{"n":1,"x":[]}`}, []string{`{}`}},
		{with(`{"type":"any"}`), `a type "any", which nothing is of`, []string{`{"n":1,"x":{}}`}, []string{`{}`}},
		{with(`{"type":["string","file"]}`), "which nothing is of", []string{`{"n":1,"x":{}}`}, []string{`{}`}},
		{with(`{"type":"number","minimum":0,"exclusiveMinimum":true}`), "", []string{`{"n":1,"x":0}`}, []string{`{"n":1,"x":-1}`}}, // draft 4
		{with(`{"type":"string","required":true,"minLength":1.5,"enum":[],"maxLength":2}`), "", []string{`{"n":1,"x":"a"}`}, []string{`{"n":1,"x":"abc"}`}},
		{with(`{"additionalProperties":false,"patternProperties":{"(?=a)":{}}}`), "Perl syntax", []string{`{"n":1,"x":{"a":1}}`}, []string{`{}`}},
		{with(`{"$id":"http://x/y","properties":{"b":{"$ref":"#/properties/n"}}}`), "an $id of its own", []string{`{"n":1,"x":{"b":"c"}}`}, []string{
			`{"n":1,"x":{},"y":1}`,
		}},
		{with(`{"properties":{"b":false,"c":true,"d":7},"$ref":7}`), "", []string{`{"n":1,"x":{"c":1,"d":1}}`}, []string{`{"n":1,"x":{"b":1}}`}},
		{`{"$schema":"urn:mine","type":"object","required":["a"]}`, `"urn:mine" is not known`, []string{`{"a":1}`}, []string{`{}`}},
		{`{"$ref":"#","type":"object","required":["a"]}`, "leads back to itself", []string{`{}`}, nil},
		{`{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"anyOf":[{"$ref":"#"}]}}}`, "leads back to itself", []string{`{}`}, nil},
		{`{"$defs":{"a/b":{"$ref":"#/$defs/a~1b"}}}`, "leads back to itself", []string{`{}`}, nil},
		{`{"properties":{"default":{"$ref":"#/properties/default"}}}`, "leads back to itself", []string{`{"default":1}`}, nil}, // a name, no keyword
		{`{"$defs":{"enum":{"properties":{"const":{"not":{"$ref":"#/$defs/enum/properties/const"}}}}}}`, "leads back to itself", []string{`{}`}, nil},
		{doubling(40), "combines too many schemas", []string{`{}`}, nil},
	} {
		s := compile(json.RawMessage(c.schema))
		if s.err != nil || s.unread == nil || !strings.Contains(s.unread.Error(), c.unread) {
			t.Errorf("%.150s: %v, %v", c.schema, s.err, s.unread)
			continue
		}
		for _, args := range c.fits {
			if _, _, err := arguments(s, json.RawMessage(args)); err != nil {
				t.Errorf("%.150s %s: %v", c.schema, args, err)
			}
		}
		for _, args := range c.not {
			if _, _, err := arguments(s, json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), "do not fit") {
				t.Errorf("%.150s %s: %v", c.schema, args, err)
			}
		}
	}
}

// TestHostileSchemas: whatever an executor publishes, every schema that is a small object gives an answer, and an outline lets
// through what the whole does.
func TestHostileSchemas(t *testing.T) {
	keys := []string{
		"type", "properties", "items", "required", "enum", "const", "minimum", "maxLength", "pattern", "patternProperties", "additionalProperties",
		"$ref", "$id", "$defs", "definitions", "allOf", "anyOf", "oneOf", "not", "if", "then", "contains", "dependencies", "$anchor", "$dynamicRef",
		"prefixItems", "unevaluatedProperties", "propertyNames", "minContains", "a", "b",
	}
	texts := rapid.SampledFrom([]string{"object", "string", "any", "#", "#/properties/a", "#/$defs/b", "#a", "http://x/y", "(?=a)", "^a", "", "a", "b"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kind := rapid.IntRange(0, 9).Draw(t, "kind")
			switch {
			case kind < 5 && depth > 0:
				m := map[string]any{}
				for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID).Draw(t, "keys") {
					m[k] = value(depth-1).Draw(t, k)
				}
				return m
			case kind < 7 && depth > 0:
				return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")
			case kind < 8:
				return rapid.SampledFrom([]any{true, false, nil, 0.0, 1.0, -1.0, 1.5, 1e300}).Draw(t, "plain")
			}
			return texts.Draw(t, "text")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		published, ok := value(5).Draw(t, "schema").(map[string]any)
		if !ok {
			published = map[string]any{}
		}
		raw, err := json.Marshal(published)
		if err != nil {
			t.Fatal(err)
		}
		s := compile(raw)
		if s.err != nil {
			t.Fatalf("%s: %v", raw, s.err)
		}
		args, err := json.Marshal(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "type"}), value(3), 0, 3).Draw(t, "arguments"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := arguments(s, args); err != nil || s.unread != nil {
			return
		}
		loose := &schema{raw: outline(published)}
		if loose.resolved, err = resolve(loose.raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if _, _, err := arguments(loose, args); err != nil {
			t.Fatalf("%s fits %s, and not its outline: %v", args, raw, err)
		}
	})
}

// doubling is a schema that holds one value against 2^n others.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/0","definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/definitions/%d"},{"$ref":"#/definitions/%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"%d":{}}}`, n)
	return b.String()
}

// TestComplaintsAreStable checks that the same wrong arguments get the same words, and never none.
func TestComplaintsAreStable(t *testing.T) {
	raw := object(`"a","b"`, `"a":{"type":"string"},"b":{"type":"object","required":["x","y"],"properties":{"x":{"type":"integer"},"y":{"type":"array"}}}`)
	value := rapid.SampledFrom([]string{`1`, `"s"`, `null`, `{}`, `{"x":"1","y":2}`, `{"x":1,"y":[]}`, `[1]`, `true`, `1.5`})
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "aa"}), rapid.ID).Draw(t, "names") {
			members = append(members, `"`+name+`":`+value.Draw(t, name))
		}
		args := json.RawMessage("{" + strings.Join(members, ",") + "}")
		_, _, first := arguments(compile(raw), args)
		_, _, second := arguments(compile(raw), args)
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Fatalf("%v\n%v", first, second)
		}
	})
}
