package offer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
)

var (
	goodName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	goodField = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	allTypes  = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	wide      = []string{
		"type", "title", "description", "format", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
		"maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "const", "default",
		"enum", "properties", "required", "additionalProperties", "items", "anyOf",
	}
	gemini = []string{
		"type", "title", "description", "format", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
		"maxProperties", "minimum", "maximum", "enum", "properties", "required", "items", "anyOf", "nullable",
	}
)

// checkTool says what a provider would refuse.
func checkTool(t model.Tool, d offer.Dialect) error {
	most := 8 << 10
	if d == offer.OpenAI {
		most = 1024
	}
	switch {
	case !goodName.MatchString(t.Name):
		return fmt.Errorf("the name %q", t.Name)
	case len(t.Description) > most:
		return fmt.Errorf("a description of %d bytes", len(t.Description))
	case len(t.Parameters) > 64<<10:
		return fmt.Errorf("a schema of %d bytes", len(t.Parameters))
	case slices.ContainsFunc([]string{`"$ref"`, `"$defs"`, `"$schema"`}, func(k string) bool { return bytes.Contains(t.Parameters, []byte(k+":")) }):
		return fmt.Errorf("a reference in %s", t.Parameters)
	}
	var s map[string]any
	if err := json.Unmarshal(t.Parameters, &s); err != nil {
		return err
	}
	if _, ok := s["properties"].(map[string]any); s["type"] != "object" || !ok {
		return fmt.Errorf("no object: %s", t.Parameters)
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "enum", "const", "not"} {
		if s[k] != nil {
			return fmt.Errorf("%s at the top", k)
		}
	}
	return checkSchema(s, d, 0)
}

func checkSchema(v any, d offer.Dialect, depth int) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("a schema that is %T", v)
	}
	if depth > 32 {
		return fmt.Errorf("%d deep", depth)
	}
	known := wide
	if d == offer.Gemini {
		known = gemini
	}
	for k := range s {
		if !slices.Contains(known, k) {
			return fmt.Errorf("the keyword %s", k)
		}
	}
	if p, ok := s["pattern"].(string); ok {
		if _, err := regexp.Compile(p); err != nil || d == offer.Local {
			return fmt.Errorf("the pattern %q: %w", p, err)
		}
	}
	if t, ok := s["type"].(string); s["type"] != nil && !(ok && slices.Contains(allTypes, t)) {
		list, _ := s["type"].([]any)
		if len(list) < 2 || d == offer.Gemini || slices.ContainsFunc(list, func(t any) bool { name, _ := t.(string); return !slices.Contains(allTypes, name) }) {
			return fmt.Errorf("the type %v", s["type"])
		}
	}
	if list, ok := s["enum"].([]any); s["enum"] != nil && (!ok || len(list) == 0) {
		return fmt.Errorf("the enum %v", s["enum"])
	}
	if s["type"] == "array" && s["items"] == nil {
		return fmt.Errorf("an array without items: %v", s)
	}
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	if s["required"] != nil && len(required) == 0 {
		return fmt.Errorf("required %v", s["required"])
	}
	for _, r := range required {
		name, ok := r.(string)
		if !ok || (d == offer.Gemini || depth == 0) && props[name] == nil {
			return fmt.Errorf("required %v of %v", r, props)
		}
	}
	if d == offer.Gemini {
		if err := checkGemini(s); err != nil {
			return err
		}
	}
	for name, p := range props {
		if (d == offer.Anthropic || d == offer.Gemini) && !goodField.MatchString(name) {
			return fmt.Errorf("the property %q", name)
		}
		if err := checkSchema(p, d, depth+1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	inner := []any{}
	if s["items"] != nil {
		inner = append(inner, s["items"])
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		inner = append(inner, more)
	}
	if list, ok := s["anyOf"].([]any); s["anyOf"] != nil {
		if !ok || len(list) < 2 {
			return fmt.Errorf("anyOf %v", s["anyOf"])
		}
		inner = append(inner, list...)
	}
	for _, i := range inner {
		if err := checkSchema(i, d, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkGemini(s map[string]any) error {
	if s["anyOf"] != nil {
		if len(s) > 1 {
			return fmt.Errorf("something beside anyOf: %v", s)
		}
		return nil
	}
	if t, ok := s["type"].(string); !ok || t == "null" {
		return fmt.Errorf("no type: %v", s)
	}
	if f := s["format"]; f != nil && f != "date-time" {
		return fmt.Errorf("the format %v", f)
	}
	if list, ok := s["enum"].([]any); ok {
		for _, v := range list {
			if text, ok := v.(string); !ok || text == "" || s["type"] != "string" {
				return fmt.Errorf("the enum %v of %v", list, s["type"])
			}
		}
	}
	return nil
}
