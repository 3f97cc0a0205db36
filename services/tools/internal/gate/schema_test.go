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
		{draft("urn:mine"), `{}`, []string{"cannot be used", `"urn:mine"`}},
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
		{`{"$ref":"#"}`, `{}`, []string{"leads back to itself"}},
		{`{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"anyOf":[{"$ref":"#"}]}}}`, `{}`, []string{"leads back to itself"}},
		{`{"properties":{"x":{"not":{"$ref":"#/properties/x"}}}}`, `{}`, []string{"leads back to itself"}},
		{`{"$defs":{"a/b":{"$ref":"#/$defs/a~1b"}}}`, `{}`, []string{"leads back to itself"}},
		{`{"properties":{"default":{"$ref":"#/properties/default"}}}`, `{"default":1}`, []string{"leads back to itself"}}, // a name, no keyword
		{`{"$defs":{"enum":{"properties":{"const":{"not":{"$ref":"#/$defs/enum/properties/const"}}}}}}`, `{}`, []string{"leads back to itself"}},
		{
			`{"properties":{"b":{},"a":{"$id":"http://x/y","properties":{"b":{"$ref":"#/properties/b"}}}}}`, `{"a":{"b":1}}`,
			[]string{"an $id of its own"},
		},
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
		{`{"$ref":"https://elsewhere/schema"}`, `{}`, []string{"does not lead to a place in it"}},
		{`{"properties":{"x":{"pattern":"(?=a)"}}}`, `{}`, []string{"cannot be used"}},
		{strings.Repeat(`{"not":`, 9000) + `{}` + strings.Repeat("}", 9000), `{}`, []string{"nested more than 200 deep"}},
		{doubling(40), `{}`, []string{"combines too many schemas"}},
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
