package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

var _, offered = offer.Portable([]toolv1.Tool{{Name: "read"}, {Name: "web.get"}}, offer.OpenAI)

// nested is an object of n within each other.
func nested(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }

// flat is an object that is not deep, whatever it looks like.
var flat = `{"a":"` + strings.Repeat(`\"[{`, 200) + `","b":[` + strings.Repeat("{},", 200) + `{}]}`

func TestParse(t *testing.T) {
	running := &turn.Turn{Claim: turn.Claim{Round: 2}, Entries: []turn.Entry{{Role: turn.Assistant, Calls: []turn.Call{{ID: "call_0"}}}}}
	for _, c := range []struct {
		name    string
		raw     model.RawCall
		cut     bool
		id      string
		args    string
		refusal string
	}{
		{"plain", model.RawCall{ID: "a1", Tool: "read", Arguments: ` {"path": "x"} `}, false, "a1", `{"path": "x"}`, ""},
		{"no arguments", model.RawCall{ID: "a1", Tool: "read"}, false, "a1", `{}`, ""},
		{"no id", model.RawCall{Tool: "read"}, false, "call_2_1", `{}`, ""},
		{"an id of an earlier round", model.RawCall{ID: "call_0", Tool: "read"}, false, "call_2_1", `{}`, ""},
		{"an odd id", model.RawCall{ID: "a.b>", Tool: "read"}, false, "call_2_1", `{}`, ""},
		{"a long id", model.RawCall{ID: strings.Repeat("a", 65), Tool: "read"}, false, "call_2_1", `{}`, ""},
		{"malformed", model.RawCall{ID: "a1", Tool: "read", Arguments: `{"path": "x`}, false, "a1", `{}`, "the arguments are not a JSON object: unexpected end of JSON input"},
		{"cut", model.RawCall{ID: "a1", Tool: "read", Arguments: `{"path": "x`}, true, "a1", `{}`, "the arguments are incomplete: the answer reached its length limit. Use shorter arguments."},
		{"a list", model.RawCall{ID: "a1", Tool: "read", Arguments: `[]`}, false, "a1", `{}`, "the arguments are not a JSON object: json: cannot unmarshal array"},
		{"null", model.RawCall{ID: "a1", Tool: "read", Arguments: `null`}, false, "a1", `{}`, "the arguments are not a JSON object: null"},
		{"two objects", model.RawCall{ID: "a1", Tool: "read", Arguments: `{}{}`}, false, "a1", `{}`, "the arguments are not a JSON object: invalid character"},
		{"deep", model.RawCall{ID: "a1", Tool: "read", Arguments: nested(100)}, false, "a1", nested(100), ""},
		{"too deep", model.RawCall{ID: "a1", Tool: "read", Arguments: nested(101)}, false, "a1", `{}`, "the arguments are nested more than 100 deep"},
		{"brackets in a text", model.RawCall{ID: "a1", Tool: "read", Arguments: flat}, false, "a1", flat, ""},
		{"a name without end", model.RawCall{ID: "a1", Tool: strings.Repeat("n", 9999)}, false, "a1", `{}`, `there is no tool "` + strings.Repeat("n", 128) + `" here`},
		{"not offered", model.RawCall{ID: "a1", Tool: "rm", Arguments: `{"a":1}`}, false, "a1", `{"a":1}`, `there is no tool "rm" here`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := model.Parse(model.Answer{Calls: []model.RawCall{c.raw}, Cut: c.cut}, offered, running)
			if err != nil {
				t.Fatal(err)
			}
			if got[0].ID != c.id || string(got[0].Arguments) != c.args || !strings.HasPrefix(got[0].Refusal, c.refusal) || (got[0].Refusal == "") != (c.refusal == "") {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

// What a model calls is the tool, whatever it was told that it is called.
func TestParseFindsTools(t *testing.T) {
	for name, want := range map[string]string{"read": "read", offer.Name("web.get"): "web.get", "web.get": "web.get"} {
		got, err := model.Parse(model.Answer{Calls: []model.RawCall{{Tool: name}}}, offered, &turn.Turn{})
		if err != nil || got[0].Tool != want || got[0].Refusal != "" {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	got, err := model.Parse(model.Answer{Calls: []model.RawCall{{Tool: "reed"}}}, offered, &turn.Turn{})
	if want := `there is no tool "reed" here; there is read`; err != nil || got[0].Tool != "reed" || got[0].Refusal != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseMakesIdsUnique(t *testing.T) {
	running := &turn.Turn{Claim: turn.Claim{Round: 1}}
	raw := []model.RawCall{{ID: "call_1_3"}, {ID: "x"}, {ID: "x"}, {}, {ID: "call_1_4"}}
	got, err := model.Parse(model.Answer{Calls: raw}, offer.Names{}, running)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range got {
		if seen[c.ID] || c.ID == "" {
			t.Fatalf("id %q is used twice in %+v", c.ID, got)
		}
		seen[c.ID] = true
	}
}

func TestParseRefusesAFlood(t *testing.T) {
	_, err := model.Parse(model.Answer{Calls: make([]model.RawCall, 65)}, offer.Names{}, &turn.Turn{})
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Cause != turnv1.ModelGarbage {
		t.Errorf("got %v", err)
	}
}
