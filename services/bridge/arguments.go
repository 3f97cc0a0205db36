package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// arguments reads those of a call. An error says which is wrong and what is wanted: a model that reads it can do better.
func arguments(name string, schema *jsonschema.Resolved, raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	var given map[string]any
	if err := json.Unmarshal(raw, &given); err != nil {
		return fault.New(fault.Invalid, "the arguments of %s have to be a JSON object: %w", name, err)
	}
	if err := schema.Validate(given); err != nil {
		return fault.New(fault.Invalid, "%s", wrong(name, schema.Schema(), given, err))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.Invalid, "the arguments of %s cannot be read: %w", name, err)
	}
	return nil
}

// wrong says what is wrong with arguments that a schema does not take, as err has it.
func wrong(name string, s *jsonschema.Schema, given map[string]any, err error) string {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		p, ok := s.Properties[key]
		if !ok {
			takes := "none"
			if len(s.Properties) > 0 {
				takes = strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
			}
			return fmt.Sprintf("%s has no argument %.80q; it takes: %s", name, key, takes)
		}
		if text := unfit(p, given[key]); text != "" {
			return key + " " + text
		}
	}
	for _, key := range s.Required {
		if _, ok := given[key]; !ok {
			return key + " is missing"
		}
	}
	return strings.TrimPrefix(err.Error(), "validating root: ")
}

// unfit says what is wrong with one value; "" when nothing is that is known here.
func unfit(p *jsonschema.Schema, v any) string {
	switch v := v.(type) {
	case float64:
		number := strconv.FormatFloat(v, 'f', -1, 64)
		switch {
		case p.Type != "integer":
			return "is a number, want " + kindOf(p)
		case v != float64(int64(v)) || p.Minimum != nil && v < *p.Minimum || p.Maximum != nil && v > *p.Maximum:
			return "is " + number + ", want " + kindOf(p)
		}
	case string:
		switch {
		case p.Type != "string":
			return "is a string, want " + kindOf(p)
		case p.MinLength != nil && len(v) < *p.MinLength:
			return "is empty"
		case len(p.Enum) > 0 && !slices.Contains(p.Enum, any(v)):
			return fmt.Sprintf("is %.80q, want %s", v, kindOf(p))
		}
	case bool:
		if p.Type != "boolean" {
			return "is a boolean, want " + kindOf(p)
		}
	case []any:
		if p.Type != "array" {
			return "is a list, want " + kindOf(p)
		}
		for _, one := range v {
			if text := unfit(p.Items, one); text != "" {
				return "has one that " + text
			}
		}
	default:
		return "is null or an object, want " + kindOf(p)
	}
	return ""
}

// kindOf says what a property takes.
func kindOf(p *jsonschema.Schema) string {
	switch {
	case len(p.Enum) > 0:
		texts := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			texts[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(texts, ", ")
	case p.Type == "integer" && p.Minimum != nil && p.Maximum != nil:
		return fmt.Sprintf("a whole number from %.0f to %.0f", *p.Minimum, *p.Maximum)
	case p.Type == "array":
		return "a list"
	case p.Type == "string":
		return "a string"
	}
	return "a " + p.Type
}
