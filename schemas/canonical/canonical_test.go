package canonical_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , false , null ] } `: `{"a":[true,false,null],"b":1}`,
		// RFC 8785, 3.2.2 and 3.2.3.
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`:                                        `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		// Appendix B, as far as JSON can write it.
		`[0,-0,-0.0,5e-324,1.7976931348623157e308,9007199254740992,295147905179352830000,9.999999999999997e22,1e23,1e21,1e-7,1e-6,123456.789,1424953923781206.2]`: `[0,0,0,5e-324,1.7976931348623157e+308,9007199254740992,295147905179352830000,9.999999999999997e+22,1e+23,1e+21,1e-7,0.000001,123456.789,1424953923781206.2]`,
		// What a double cannot hold stays what it is.
		`[9007199254740993,-12345678901234567890]`: `[9007199254740993,-12345678901234567890]`,
		`"\u2028<>&\u007f"`:                        "\"\u2028<>&\u007f\"",
		`{}`:                                       `{}`,
		`[]`:                                       `[]`,
		`"\ud800"`:                                 "\"\ufffd\"",
	} {
		got, err := canonical.JSON([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s %v\nwant %s", in, got, err, want)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``: "unexpected EOF", `{`: "unexpected EOF", `{}{}`: "behind", `{} x`: "behind", "\"\xff\"": "UTF-8", `{"a":1,"a":2}`: "twice",
		`{"a":1,"\u0061":2}`: "twice", `[1e999]`: "finite", `nul`: "", `{a:1}`: "", `[1,]`: "",
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "deep",
	} {
		got, err := canonical.JSON([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %s %v", in, got, err)
		}
	}
}

// The form is a fixed point, means the same, and does not depend on how the value was written.
func TestOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		indented, err := json.MarshalIndent(v, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		one, err1 := canonical.JSON(plain)
		two, err2 := canonical.JSON(indented)
		three, err3 := canonical.JSON(one)
		if err1 != nil || err2 != nil || err3 != nil || !bytes.Equal(one, two) || !bytes.Equal(one, three) {
			t.Fatalf("%s\n%s %v\n%s %v\n%s %v", plain, one, err1, two, err2, three, err3)
		}
		var was, is any
		if json.Unmarshal(plain, &was) != nil || json.Unmarshal(one, &is) != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%s means something else than %s", one, plain)
		}
	})
}

func value(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	}
	if depth > 0 {
		leaves = append(leaves, rapid.Custom(func(t *rapid.T) any {
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
		}), rapid.Custom(func(t *rapid.T) any {
			return rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).Draw(t, "object")
		}))
	}
	return rapid.OneOf(leaves...)
}
