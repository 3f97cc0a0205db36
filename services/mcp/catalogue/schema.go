package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

const (
	maxSchema = 64 << 10 // bytes
	maxDepth  = 64       // of JSON
)

// open is the schema of which nothing is known.
const open = `{"properties":{},"type":"object"}`

// objectSchema is a schema in canonical form, or open and why it is no schema of arguments. What it says in detail is not looked at:
// who checks arguments takes of it what can be checked, and the server takes the rest.
func objectSchema(raw json.RawMessage) (json.RawMessage, error) {
	fail := func(format string, args ...any) (json.RawMessage, error) {
		return json.RawMessage(open), fmt.Errorf(format, args...)
	}
	switch {
	case len(raw) == 0:
		return fail("there is none")
	case len(raw) > maxSchema:
		return fail("it has %d bytes, at most %d are taken", len(raw), maxSchema)
	case depth(raw) > maxDepth:
		return fail("it is nested more than %d deep", maxDepth)
	}
	schema, err := canonical.JSON(raw)
	if err != nil {
		return fail("%w", err)
	}
	if schema, err = readable(schema); err != nil {
		return fail("%w", err)
	}
	root, ok := decoded(schema).(map[string]any)
	if !ok {
		return fail("it is no object")
	}
	switch t := root["type"].(type) {
	case string:
		if t != "object" {
			return fail("its type is %.40q", t)
		}
		return schema, nil
	case nil:
	case []any:
		if !slices.Contains(t, any("object")) {
			return fail("its type is none that objects are of")
		}
	default:
		return fail("its type is no name")
	}
	root["type"] = "object" // arguments are one in any case
	if schema, err = json.Marshal(root); err == nil {
		schema, err = canonical.JSON(schema)
	}
	if err != nil {
		return fail("%w", err)
	}
	return schema, nil
}

// readable is a schema without what nobody sees in the texts that are for models; all else in it means what it says.
func readable(schema json.RawMessage) (json.RawMessage, error) {
	root, changed := decoded(schema), false
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, e := range v {
				text, ok := e.(string)
				if !ok || !slices.Contains([]string{"description", "title", "$comment"}, name) {
					walk(e)
				} else if seen := visible(text); seen != text {
					v[name], changed = seen, true
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	if walk(root); !changed {
		return schema, nil
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return canonical.JSON(raw)
}

func decoded(schema json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

// depth is how deep JSON is nested, without decoding it. What is no JSON has some depth, too.
func depth(raw []byte) int {
	most, now, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// elsewhere is the first reference of a schema that leads out of it, or "". Nobody follows it; its owner may wonder.
func elsewhere(schema json.RawMessage) string {
	if !bytes.Contains(schema, []byte(`"$ref"`)) {
		return ""
	}
	var walk func(v any) string
	walk = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
				return ref
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if at := walk(v[name]); at != "" {
					return at
				}
			}
		case []any:
			for _, e := range v {
				if at := walk(e); at != "" {
					return at
				}
			}
		}
		return ""
	}
	return walk(decoded(schema))
}
