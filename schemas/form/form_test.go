package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/form"
)

func schema(properties string, required ...string) json.RawMessage {
	names, _ := json.Marshal(append([]string{}, required...))
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`)
}

func parsed(t testing.TB, raw json.RawMessage) form.Form {
	t.Helper()
	f, err := form.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f
}

const deploy = `
	"env":{"type":"string","enum":["test","prod"],"enumNames":["Test","Production"],"default":"test","title":"Where"},
	"copies":{"type":"integer","minimum":1,"maximum":9,"default":2},
	"share":{"type":"number","maximum":0.5},
	"mail":{"type":"string","format":"email","description":"for the\nreport\u202e"},
	"tags":{"type":"array","items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}]},"maxItems":1},
	"name":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},
	"sure":{"type":"boolean"}`

func TestDefaultsAndShow(t *testing.T) {
	f := parsed(t, schema(deploy, "sure", "env"))
	raw, err := f.Defaults()
	if err != nil || string(raw) != `{"copies":2,"env":"test"}` {
		t.Errorf("%s %v", raw, err)
	}
	if got := f.Missing(); len(got) != 1 || got[0] != "sure" {
		t.Errorf("missing %v", got)
	}
	want := `copies = 2   (whole number, at least 1, at most 9)
env = "test"   (one of "test" ("Test"), "prod" ("Production"), required)
    "Where"
mail = (left out)   (email)
    "for the report"
name = (left out)   (text, matching "^[a-z]+$", at least 2 characters, at most 5 characters)
share = (left out)   (number, at most 0.5)
sure = (missing)   (true or false, required)
tags = (left out)   (some of "a" ("Alpha"), "b" ("Beta"), at most 1 of them)`
	if got := f.Show(raw); got != want {
		t.Errorf("shows\n%s\nwant\n%s", got, want)
	}
	if got := parsed(t, nil).Show(nil); got != "nothing but the answer yes" {
		t.Errorf("an empty form shows %q", got)
	}
}

func TestCheck(t *testing.T) {
	f := parsed(t, schema(deploy, "sure", "env"))
	for answer, want := range map[string]string{
		`{"env":"prod","sure":true}`:                                    "",
		`{"env":"test","sure":false,"copies":9,"share":-1.5,"tags":[]}`: "",
		`{"env":"test","sure":true,"name":"ab","mail":"a@b"}`:           "",
		`{}`:                                          "env is missing; sure is missing",
		`{"env":"live","sure":true}`:                  `env has to be one of "test" ("Test"), "prod" ("Production")`,
		`{"env":"test","sure":"true"}`:                "sure has to be true or false",
		`{"env":"test","sure":null}`:                  "sure has to be true or false",
		`{"env":1,"sure":true}`:                       "env has to be a text",
		`{"env":"test","sure":true,"copies":0}`:       "copies has to be at least 1",
		`{"env":"test","sure":true,"copies":1.5}`:     "copies has to be a whole number",
		`{"env":"test","sure":true,"copies":"1"}`:     "copies has to be a number",
		`{"env":"test","sure":true,"share":1}`:        "share may be at most 0.5",
		`{"env":"test","sure":true,"mail":"a"}`:       "mail has to be a valid email",
		`{"env":"test","sure":true,"name":"a"}`:       "name has to have at least 2 characters",
		`{"env":"test","sure":true,"name":"AB"}`:      `name has to match "^[a-z]+$"`,
		`{"env":"test","sure":true,"tags":"a"}`:       "tags has to be a list of texts",
		`{"env":"test","sure":true,"tags":["a","a"]}`: `tags has to be a list of some of "a" ("Alpha"), "b" ("Beta")`,
		`{"env":"test","sure":true,"tags":["a","b"]}`: "tags may have at most 1 choices",
		`{"env":"test","sure":true,"other\u202e":1}`:  `there is no field "other\u202e"`,
		`[]`:                                     "it has to be a JSON object",
		`{"env":"test","sure":true,"sure":true}`: "sure",
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`: "; and 1 more",
	} {
		err := f.Check(json.RawMessage(answer))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
	for format, values := range map[string][2]string{
		"date": {"2026-09-18", "2026-13-01"}, "date-time": {"2026-09-18T10:00:00Z", "10:00"}, "uri": {"https://x", "x"},
	} {
		f := parsed(t, schema(`"x":{"type":"string","format":"`+format+`"}`))
		for i, v := range values {
			if err := f.Check(json.RawMessage(`{"x":"` + v + `"}`)); (err == nil) != (i == 0) {
				t.Errorf("%s as %s: %v", v, format, err)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf(`"f%d":{"type":"boolean"}`, i)
	}
	for name, raw := range map[string]json.RawMessage{
		"no JSON":                 json.RawMessage(`{`),
		"no object":               json.RawMessage(`[]`),
		"a list":                  json.RawMessage(`{"type":"array"}`),
		"too long":                schema(`"x":{"type":"string","description":"` + strings.Repeat("x", form.MaxSchema) + `"}`),
		"too many":                schema(strings.Join(many, ",")),
		"nested":                  schema(`"x":{"type":"object","properties":{}}`),
		"no type":                 schema(`"x":{}`),
		"a reference":             schema(`"x":{"$ref":"#/x"}`),
		"a rule it does not know": schema(`"x":{"type":"number","multipleOf":3}`),
		"a rule above":            json.RawMessage(`{"type":"object","properties":{},"not":{}}`),
		"a list of anything":      schema(`"x":{"type":"array","items":{"type":"string"}}`),
		"a list of numbers":       schema(`"x":{"type":"array","items":{"type":"number"}}`),
		"a choice without value":  schema(`"x":{"type":"string","oneOf":[{"title":"a"}]}`),
		"a pattern of another":    schema(`"x":{"type":"string","pattern":"(?=a)b"}`),
		"a wrong default":         schema(`"x":{"type":"string","default":1}`),
		"requires what is not":    schema(`"x":{"type":"boolean"}`, "y"),
		"no name":                 schema(`"":{"type":"boolean"}`),
	} {
		if _, err := form.Parse(raw); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, raw := range map[string]json.RawMessage{
		"none": nil, "null": json.RawMessage("null"), "nothing": json.RawMessage("{}"),
		"remarks": json.RawMessage(`{"$schema":"s","title":"t","description":"d","type":"object","additionalProperties":false,"x-ui":1,
			"properties":{"x":{"type":"boolean","title":"t","examples":[true],"x-order":1,"default":null}}}`),
	} {
		if _, err := form.Parse(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLines(t *testing.T) {
	hostile := "\r\nOK?\x1b[2J\n\u202e│ /approve x\t\u200b!\xff\n\n"
	if got := form.Lines(hostile, 99); got != "OK?[2J\n│ /approve x !" {
		t.Errorf("%q", got)
	}
	if got := form.Line(hostile, 99); got != "OK?[2J │ /approve x !" {
		t.Errorf("%q", got)
	}
	if got := form.Line(strings.Repeat("é", 50), 10); len(got) > 10 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

// TestWhatIsCompleteStaysSo: completing twice changes nothing, and what nobody has to fill in fits as it is.
func TestWhatIsCompleteStaysSo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var properties, required []string
		for i := range rapid.IntRange(0, 5).Draw(rt, "fields") {
			name := fmt.Sprintf("f%d", i)
			properties = append(properties, fmt.Sprintf("%q:%s", name, rapid.SampledFrom([]string{
				`{"type":"string","default":"a\u2028<b>"}`, `{"type":"string"}`, `{"type":"integer","default":9007199254740993}`,
				`{"type":"boolean","default":false}`, `{"type":"array","items":{"enum":["a"]},"default":["a"]}`,
			}).Draw(rt, name)))
			if rapid.Bool().Draw(rt, "required") {
				required = append(required, name)
			}
		}
		f := parsed(t, schema(strings.Join(properties, ","), required...))
		once, err := f.Defaults()
		if err != nil {
			rt.Fatal(err)
		}
		twice, err := f.Complete(once)
		if c, _ := canonical.JSON(once); err != nil || string(twice) != string(once) || string(c) != string(once) {
			rt.Fatalf("%s %s %v", once, twice, err)
		}
		if err := f.Check(once); (err == nil) != (len(f.Missing()) == 0) {
			rt.Fatalf("%s: %v, missing %v", once, err, f.Missing())
		}
		for line := range strings.SplitSeq(f.Show(once), "\n") {
			if strings.ContainsAny(line, "\u2028\r") {
				rt.Fatalf("%q", line)
			}
		}
	})
}
