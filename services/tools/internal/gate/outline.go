package gate

import (
	"math"
	"slices"
)

// outline is what of a schema can always be checked: keywords each of which narrows down what fits by itself, so that to
// leave out all others lets more arguments through and never fewer. It has no references, no patterns and no choices.
func outline(m map[string]any) map[string]any {
	out := map[string]any{}
	if _, ok := m["$ref"].(string); ok {
		return out // in draft 7 nothing that stands beside it counts
	}
	for k, v := range m {
		switch kept := outlined(k, v); {
		case kept == nil:
		case k == "additionalProperties" && m["patternProperties"] != nil:
		default:
			out[k] = kept
		}
	}
	return out
}

// outlined is the value of a keyword in an outline, or nil when it has no place there.
func outlined(keyword string, v any) any {
	switch keyword {
	case "type":
		if typed(v) {
			return v
		}
	case "properties":
		if in, ok := v.(map[string]any); ok {
			out := make(map[string]any, len(in))
			for name, e := range in {
				out[name] = outlineOf(e)
			}
			return out
		}
	case "items":
		if in, ok := v.(map[string]any); ok {
			return outline(in)
		}
	case "additionalProperties":
		if v == false {
			return v
		}
	case "required":
		if list, ok := v.([]any); ok && !slices.ContainsFunc(list, func(e any) bool { _, is := e.(string); return !is }) {
			return v
		}
	case "enum":
		if list, ok := v.([]any); ok && len(list) > 0 {
			return v
		}
	case "minimum", "maximum":
		if n, ok := v.(float64); ok {
			return n
		}
	case "minLength", "maxLength", "minItems", "maxItems":
		if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32 {
			return n
		}
	case "description":
		if text, ok := v.(string); ok {
			return text
		}
	}
	return nil
}

// outlineOf is the outline of what stands where a schema is expected.
func outlineOf(v any) any {
	if m, ok := v.(map[string]any); ok {
		return outline(m)
	}
	return v != false
}

// typed says whether v names one of JSON's types, or some of them.
func typed(v any) bool {
	known := func(e any) bool {
		name, ok := e.(string)
		return ok && slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name)
	}
	if list, ok := v.([]any); ok {
		return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool { return !known(e) })
	}
	return known(v)
}
