package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

const (
	maxComplaints = 8
	maxDepth      = 64  // of arguments; deeper ones are nobody's
	maxHint       = 300 // bytes of a schema that a complaint shows
)

// arguments are the canonical form of what a model wrote, and its values. The error tells a model what to change.
func arguments(s *schema, raw json.RawMessage) (json.RawMessage, map[string]any, error) {
	if len(strings.TrimSpace(string(raw))) == 0 {
		raw = json.RawMessage("{}") // that is how some models call a tool without arguments
	}
	text, err := canonical.JSON(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the arguments are no valid JSON object: %w", err)
	}
	switch {
	case s.err != nil && s.foreign:
		return nil, nil, fmt.Errorf("this tool cannot be used, as its schema is not understood")
	case s.err != nil:
		return nil, nil, fmt.Errorf("this tool cannot be used, as its schema is not understood: %w", s.err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, nil, fmt.Errorf("the arguments are no valid JSON object: %w", err)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("the arguments must be one JSON object, with the names of arguments as its keys")
	}
	if depth(v) > maxDepth {
		return nil, nil, fmt.Errorf("the arguments are nested more than %d deep", maxDepth)
	}
	if !s.affordable(args) {
		return nil, nil, fmt.Errorf("the arguments are too much for the tool's schema: use less of them, or nest them less")
	}
	if err := s.resolved.Validate(args); err != nil {
		return nil, nil, fmt.Errorf("the arguments do not fit: %s. Nothing was done; correct them and call the tool again", s.complaints(args))
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	args = nil
	if err := d.Decode(&args); err != nil {
		return nil, nil, fmt.Errorf("the arguments are no valid JSON object: %w", err)
	}
	return text, args, nil
}

func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			most = max(most, depth(e))
		}
	case []any:
		for _, e := range v {
			most = max(most, depth(e))
		}
	default:
		return 0
	}
	return most + 1
}

// complaints say what is wrong with arguments that do not fit, in the same words each time. They are found by a simple look
// at the schema; where that sees nothing, the property that does not fit is named with what is expected.
func (s *schema) complaints(args map[string]any) string {
	c, raw := complainer{s: s}, s.raw
	if s.foreign {
		raw = bare(raw)
	}
	c.check(raw, args, "", 0)
	seen := strings.Join(c.found, "\n")
	properties, _ := raw["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if sub, ok := properties[name]; ok && !strings.Contains(seen, quote(name)) && !s.property(name, args[name]) {
			c.say("%s must fit %s", quote(name), hint(sub))
		}
	}
	if len(c.found) == 0 {
		c.say("they must fit %s", hint(raw))
	}
	if n := len(c.found); n > maxComplaints {
		c.found = append(c.found[:maxComplaints], fmt.Sprintf("and %d more", n-maxComplaints))
	}
	return strings.Join(c.found, "; ")
}

type complainer struct {
	s     *schema
	found []string
}

func (c *complainer) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func quote(path string) string {
	if len(path) > 100 {
		path = path[:100] + "…"
	}
	return `"` + visible(path, false) + `"`
}

func hint(schema any) string { return cut(compact(schema), maxHint) }

// cut is the beginning of a text, with a mark when something is left out.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

func (c *complainer) check(schema, v any, path string, refs int) {
	m, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := m["$ref"].(string); ok && refs < maxDepth {
		if to, ok := c.s.at(ref); ok {
			c.check(to, v, path, refs+1)
		}
	}
	name := quote(path)
	if path == "" {
		name = "the object"
	}
	if want := types(m["type"]); len(want) > 0 && !slices.Contains(want, kind(v)) && (kind(v) != "integer" || !slices.Contains(want, "number")) {
		c.say("%s must be %s, not %s", name, article(strings.Join(want, " or ")), article(kind(v)))
		return
	}
	if enum, ok := m["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return compact(e) == compact(v) }) {
		c.say("%s must be one of %s", name, hint(enum))
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(m, v, path, refs)
	case []any:
		if items, ok := m["items"]; ok {
			for i, e := range v {
				c.check(items, e, fmt.Sprintf("%s[%d]", path, i), refs)
			}
		}
		c.between(m, "minItems", "maxItems", float64(len(v)), name, "%s must have %s %v elements")
	case string:
		c.between(m, "minLength", "maxLength", float64(utf8.RuneCountInString(v)), name, "%s must have %s %v characters")
	case float64:
		c.between(m, "minimum", "maximum", v, name, "%s must be %s %v")
	}
}

func (c *complainer) between(m map[string]any, low, high string, n float64, name, format string) {
	if least, ok := m[low].(float64); ok && n < least {
		c.say(format, name, "at least", least)
	}
	if most, ok := m[high].(float64); ok && n > most {
		c.say(format, name, "at most", most)
	}
}

func (c *complainer) object(m, v map[string]any, path string, refs int) {
	properties, _ := m["properties"].(map[string]any)
	if required, ok := m["required"].([]any); ok {
		for _, r := range required {
			if name, ok := r.(string); ok {
				if _, has := v[name]; !has {
					c.say("%s is missing%s", quote(join(path, name)), expected(properties[name]))
				}
			}
		}
	}
	_, patterns := m["patternProperties"]
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if sub, ok := properties[name]; ok {
			c.check(sub, v[name], join(path, name), refs)
		} else if m["additionalProperties"] == false && !patterns {
			c.say("%s is no argument of this tool%s", quote(join(path, name)), closest(name, slices.Sorted(maps.Keys(properties)), true))
		}
	}
}

func expected(schema any) string {
	if schema == nil {
		return ""
	}
	return " (" + hint(schema) + ")"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func types(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func kind(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func article(word string) string {
	switch {
	case word == "null" || word == "":
		return word
	case strings.ContainsAny(word[:1], "aeio"):
		return "an " + word
	}
	return "a " + word
}
