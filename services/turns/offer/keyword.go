package offer

import (
	"encoding/json"
	"math"
	"slices"
)

// The types that a value can have.
const (
	object  = "object"
	array   = "array"
	text    = "string"
	number  = "number"
	integer = "integer"
	boolean = "boolean"
	null    = "null"
)

var (
	types   = []string{object, array, text, number, integer, boolean, null}                                //nolint:gochecknoglobals // a constant
	counts  = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} //nolint:gochecknoglobals // a constant
	numbers = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}         //nolint:gochecknoglobals // a constant
)

// typeOf is a type, a list of several, or nil.
func typeOf(v any) any {
	if one, ok := v.(string); ok && slices.Contains(types, one) {
		return one
	}
	list, _ := v.([]any)
	var out []any
	for _, x := range list {
		if one, ok := x.(string); ok && slices.Contains(types, one) && !slices.Contains(out, any(one)) {
			out = append(out, one)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

// hasType says whether a type is t, or one of several that are.
func hasType(v any, t string) bool {
	list, _ := v.([]any)
	return v == t || slices.Contains(list, any(t))
}

// scalars takes over the keywords that say something of a value as a whole.
func (r *reader) scalars(in map[string]any, n node) {
	if t := typeOf(in["type"]); t != nil {
		n["type"] = t
	}
	for _, k := range []string{"title", "description"} {
		if s, ok := in[k].(string); ok {
			if s = short(visible(s), maxAbout); s != "" {
				n[k] = s
			}
		}
	}
	for _, k := range []string{"format", "pattern"} {
		if s, ok := in[k].(string); ok {
			n[k] = s
		}
	}
	for _, k := range counts {
		if c, ok := whole(in[k]); ok {
			n[k] = c
		}
	}
	for _, k := range numbers {
		if x, ok := in[k].(json.Number); ok && finite(x) && (k != "multipleOf" || positive(x)) {
			n[k] = x
		}
	}
	for limit, k := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if in[k] == true && n[limit] != nil { // draft 4
			n[k] = n[limit]
			delete(n, limit)
		}
	}
	if in["uniqueItems"] == true {
		n["uniqueItems"] = true
	}
	for _, k := range []string{"const", "default"} {
		if v, ok := in[k]; ok && plain(v, 0) {
			n[k] = v
		}
	}
	if list, ok := in["enum"].([]any); ok {
		if list = unique(list); len(list) > 0 && plain(list, 0) {
			n["enum"] = list
		}
	}
	if in["nullable"] == true { // OpenAPI
		nullable(n)
	}
}

// nullable lets n be null too.
func nullable(n node) {
	if list, ok := n["enum"].([]any); ok && !slices.Contains(list, nil) {
		n["enum"] = append(slices.Clip(list), nil)
	}
	switch t := n["type"].(type) {
	case string:
		if t != null {
			n["type"] = []any{t, null}
		}
	case []any:
		if !slices.Contains(t, any(null)) {
			n["type"] = append(slices.Clip(t), null)
		}
	}
}

// unique is list without repeats.
func unique(list []any) []any {
	var out []any
	seen := map[string]bool{}
	for _, v := range list {
		if key := string(encode(v)); !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

const maxValue = 8 // values within each other

// plain says whether every reader takes v for what it is: no number without a finite value, nothing deep.
func plain(v any, depth int) bool {
	if depth > maxValue {
		return false
	}
	switch v := v.(type) {
	case json.Number:
		return finite(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !plain(x, depth+1) })
	case map[string]any:
		for _, x := range v {
			if !plain(x, depth+1) {
				return false
			}
		}
	}
	return true
}

func finite(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && !math.IsInf(f, 0)
}

func positive(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f > 0
}

// kindOf is the type of a value.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return text
	case json.Number:
		return number
	case bool:
		return boolean
	case []any:
		return array
	case map[string]any:
		return object
	}
	return null
}

// infer gives n a type where its keywords leave no doubt which one is meant, and a list its items.
func infer(n node) {
	if _, choice := n["anyOf"]; n["type"] == nil && !choice {
		if t := meant(n); t != "" {
			n["type"] = t
		}
	}
	if _, ok := n["items"]; !ok && hasType(n["type"], array) {
		n["items"] = node{}
	}
}

func meant(n node) string {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := n[k]; return ok })
	}
	switch {
	case has("properties", "required", "additionalProperties", "minProperties", "maxProperties"):
		return object
	case has("items", "minItems", "maxItems", "uniqueItems"):
		return array
	case has("pattern", "minLength", "maxLength"):
		return text
	case has("const"):
		return kindOf(n["const"])
	case has("enum"):
		list, _ := n["enum"].([]any)
		kind := kindOf(list[0])
		for _, v := range list {
			if kindOf(v) != kind {
				return ""
			}
		}
		return kind
	case has(numbers...):
		return number
	}
	return ""
}
