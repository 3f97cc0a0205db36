package gate

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// holds says what stands behind a keyword that holds schemas: 's' a schema, 'l' a list of them, 'm' a map of names to them,
// 'e' a schema or a list. What stands behind all others is a value, whatever it looks like.
var holds = map[string]byte{
	"properties": 'm', "patternProperties": 'm', "$defs": 'm', "definitions": 'm', "dependentSchemas": 'm', "dependencies": 'm',
	"allOf": 'l', "anyOf": 'l', "oneOf": 'l', "prefixItems": 'l', "items": 'e',
	"additionalItems": 's', "additionalProperties": 's', "unevaluatedItems": 's', "unevaluatedProperties": 's', "contains": 's',
	"contentSchema": 's', "propertyNames": 's', "not": 's', "if": 's', "then": 's', "else": 's',
}

// below are the schemas that stand behind a keyword, and where: "" or "/name".
func below(keyword string, v any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch in := v.(type) {
		case map[string]any:
			switch holds[keyword] {
			case 's', 'e':
				yield("", in)
			case 'm':
				for name, e := range in {
					if !yield("/"+escaped(name), e) {
						return
					}
				}
			}
		case []any:
			if of := holds[keyword]; of != 'l' && of != 'e' {
				return
			}
			for i, e := range in {
				if !yield("/"+strconv.Itoa(i), e) {
					return
				}
			}
		}
	}
}

// keywords are those that the validator knows, by their lower case.
var keywords = func() map[string]string {
	known := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known[strings.ToLower(name)] = name
		}
	}
	for name := range holds { // these, and the type, may have no tag: they are read in ways of their own
		known[strings.ToLower(name)] = name
	}
	known["type"] = "type"
	return known
}()

// plainly is a schema as everybody reads it. The validator takes `$REF` for `$ref`, as encoding/json does; to JSON Schema it
// is nothing, and to what is checked here it would be nothing too: it is left out. A schema with an $id of its own inside of
// another is refused: references in it lead from there, and not from where they are followed here.
func plainly(m map[string]any) (map[string]any, error) { return plain1(m, true) }

func plain1(m map[string]any, top bool) (map[string]any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if name, ok := keywords[fold(k)]; ok && name != k {
			continue
		}
		if _, is := v.(string); is && k == "$id" && !top {
			return nil, errors.New("a part of it has an $id of its own, which is not supported")
		}
		if k == "type" && !typed(v) {
			return nil, fmt.Errorf("it has a type %.40s, which nothing is of", compact(v))
		}
		var err error
		if out[k], err = plainBelow(k, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func plainBelow(keyword string, v any) (any, error) {
	one := func(e any) (any, error) {
		if m, ok := e.(map[string]any); ok {
			return plain1(m, false)
		}
		return e, nil
	}
	var err error
	switch in := v.(type) {
	case map[string]any:
		switch holds[keyword] {
		case 's', 'e':
			return one(in)
		case 'm':
			out := make(map[string]any, len(in))
			for name, e := range in {
				if out[name], err = one(e); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	case []any:
		if of := holds[keyword]; of == 'l' || of == 'e' {
			out := make([]any, len(in))
			for i, e := range in {
				if out[i], err = one(e); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
	}
	return v, nil
}

// fold is what encoding/json compares names by: to it, the long s is an s, and the sign of Kelvin a k.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "\u017F", "s") }

// maxHeld bounds how often a value or a part of it is held against a schema: those of a schema that is held against each
// level of a value multiply.
const maxHeld = 200_000

// affordable says whether the arguments can be validated in a moment.
func (s *schema) affordable(args map[string]any) bool {
	left := maxHeld
	return s.hold(s.raw, args, &left)
}

// hold counts what a validator would do at most; false when it is too much.
func (s *schema) hold(schema, v any, left *int) bool {
	m, ok := schema.(map[string]any)
	if *left--; *left < 0 {
		return false
	}
	if !ok {
		return true
	}
	if enum, ok := m["enum"].([]any); ok {
		*left -= len(enum)
	}
	if ref, ok := m["$ref"].(string); ok {
		if to, ok := s.at(ref); ok && !s.hold(to, v, left) {
			return false
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"} {
		for _, e := range below(k, m[k]) {
			if !s.hold(e, v, left) {
				return false
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return s.holdObject(m, v, left)
	case []any:
		return s.holdList(m, v, left)
	}
	return true
}

func (s *schema) holdObject(m, v map[string]any, left *int) bool {
	properties, _ := m["properties"].(map[string]any)
	for name, e := range v {
		if p, ok := properties[name]; ok && !s.hold(p, e, left) {
			return false
		}
		for _, k := range []string{"patternProperties", "additionalProperties", "unevaluatedProperties"} {
			for _, p := range below(k, m[k]) {
				if !s.hold(p, e, left) {
					return false
				}
			}
		}
		if p, ok := m["propertyNames"]; ok && !s.hold(p, name, left) {
			return false
		}
	}
	return true
}

func (s *schema) holdList(m map[string]any, v []any, left *int) bool {
	for i, e := range v {
		for _, k := range []string{"items", "prefixItems"} {
			if list, ok := m[k].([]any); ok {
				if i < len(list) && !s.hold(list[i], e, left) {
					return false
				}
			} else if p, ok := m[k]; ok && !s.hold(p, e, left) {
				return false
			}
		}
		for _, k := range []string{"additionalItems", "unevaluatedItems", "contains"} {
			if p, ok := m[k]; ok && !s.hold(p, e, left) {
				return false
			}
		}
	}
	return true
}
