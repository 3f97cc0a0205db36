package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxSchema      = 256 << 10 // bytes
	maxSchemaDepth = 200       // of JSON: places in it are written down as paths
	// maxApplied bounds how many schemas one value is held against: allOf of allOf of allOf grows fast.
	maxApplied = 5000
)

// schema is the JSON Schema of a tool's arguments: draft 7 or 2020-12, as it was published, or what of it can be checked.
type schema struct {
	raw      map[string]any
	resolved *jsonschema.Resolved
	err      error
	foreign  bool  // a server wrote it: nothing that it says in words is told in ours
	unread   error // why raw is no more than the outline of what was published; nil when it is all of it

	once  sync.Once
	loose *jsonschema.Resolved // without what is about the object as a whole; nil when there is no such thing
}

func compile(raw json.RawMessage) *schema {
	s := &schema{}
	s.err = s.compile(raw)
	return s
}

func (s *schema) compile(raw json.RawMessage) error {
	switch {
	case len(raw) == 0:
		return errors.New("it has none")
	case len(raw) > maxSchema:
		return fmt.Errorf("it has %d bytes, at most %d", len(raw), maxSchema)
	}
	if err := json.Unmarshal(raw, &s.raw); err != nil {
		return err
	}
	if s.raw == nil {
		return errors.New("it is no object")
	}
	if depth(s.raw) > maxSchemaDepth {
		return fmt.Errorf("it is nested more than %d deep", maxSchemaDepth)
	}
	published := s.raw
	if s.unread = s.exact(); s.unread == nil {
		return nil
	}
	var err error
	s.raw = outline(published)
	s.resolved, err = resolve(s.raw)
	return err
}

// exact compiles all of the schema.
func (s *schema) exact() (err error) {
	if s.raw, err = plainly(s.raw); err != nil {
		return err
	}
	if err := s.bounded(); err != nil {
		return err
	}
	s.resolved, err = resolve(s.raw)
	return err
}

const (
	draft7    = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// drafts are the spellings of $schema that are in use for what the validator knows. Draft 6 is a part of 7, and so is 4, except
// for keywords whose values do not parse as those of 7; 2019-09 differs from 2020-12 in keywords that are hardly used in tools.
var drafts = map[string]string{
	"http://json-schema.org/schema": draft7, "http://json-schema.org/draft-04/schema": draft7,
	"http://json-schema.org/draft-06/schema": draft7, "http://json-schema.org/draft-07/schema": draft7,
	"https://json-schema.org/draft-07/schema": draft7, "https://json-schema.org/draft/2019-09/schema": draft2020, draft2020: draft2020,
}

func resolve(raw map[string]any) (*jsonschema.Resolved, error) {
	fixed := maps.Clone(raw)
	if name, ok := raw["$schema"].(string); ok {
		draft, ok := drafts[strings.TrimSuffix(name, "#")]
		if !ok {
			return nil, fmt.Errorf("$schema %.80q is not known here", name)
		}
		fixed["$schema"] = draft
	}
	text, err := json.Marshal(fixed)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
}

// wholeKeywords are about an object as a whole.
var wholeKeywords = []string{
	"required", "additionalProperties", "unevaluatedProperties", "minProperties", "maxProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not",
	"if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "const", "enum",
}

// property says whether the value of one property fits, whatever the others are.
func (s *schema) property(name string, v any) bool {
	s.once.Do(func() {
		raw := maps.Clone(s.raw)
		for _, k := range wholeKeywords {
			delete(raw, k)
		}
		if r, err := resolve(raw); err == nil {
			s.loose = r
		}
	})
	return s.loose == nil || s.loose.Validate(map[string]any{name: v}) == nil
}

// at is what a reference within the schema leads to.
func (s *schema) at(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil, false
	}
	var v any = s.raw
	if path == "" {
		return v, true
	}
	if path[0] != '/' {
		return nil, false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch in := v.(type) {
		case map[string]any:
			v, ok = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if ok = err == nil && i >= 0 && i < len(in); ok {
				v = in[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// bounded refuses schemas that would hold one value against themselves for ever, or against very many others: a validator
// that follows them does not come back. It knows references within the schema only; others are refused.
func (s *schema) bounded() error {
	w := weigher{s: s, cost: map[string]int{}}
	return w.all(s.raw, "#")
}

type weigher struct {
	s    *schema
	cost map[string]int // of schemas by where they stand; 0: being weighed
}

// all weighs v and every schema below it.
func (w *weigher) all(v any, at string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if _, err := w.weigh(m, at); err != nil {
		return err
	}
	for k, e := range m {
		for place, sub := range below(k, e) {
			if err := w.all(sub, at+"/"+escaped(k)+place); err != nil {
				return err
			}
		}
	}
	return nil
}

func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// weigh counts the schemas that a value is held against when it is held against v.
func (w *weigher) weigh(v any, at string) (int, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return 1, nil
	}
	if n, ok := w.cost[at]; ok {
		if n == 0 {
			return 0, fmt.Errorf("%s leads back to itself", cut(at, maxHint))
		}
		return n, nil
	}
	w.cost[at] = 0
	total := 1
	add := func(v any, at string) error {
		n, err := w.weigh(v, at)
		if total += n; err == nil && total > maxApplied {
			err = fmt.Errorf("%s combines too many schemas", cut(at, maxHint))
		}
		return err
	}
	for _, k := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := m[k].(string); ok {
			return 0, fmt.Errorf("%s is not supported", k)
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		to, ok := w.s.at(ref)
		if !ok {
			return 0, fmt.Errorf("$ref %.80q does not lead to a place in it", ref)
		}
		name, err := url.PathUnescape(ref)
		if err != nil {
			return 0, err
		}
		if err := add(to, name); err != nil {
			return 0, err
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := m[k].([]any); ok {
			for i, e := range list {
				if err := add(e, at+"/"+k+"/"+strconv.Itoa(i)); err != nil {
					return 0, err
				}
			}
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		if err := add(m[k], at+"/"+k); err != nil {
			return 0, err
		}
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		if group, ok := m[k].(map[string]any); ok {
			for name, e := range group {
				if err := add(e, at+"/"+k+"/"+escaped(name)); err != nil {
					return 0, err
				}
			}
		}
	}
	w.cost[at] = total
	return total, nil
}

// names are the arguments that the schema knows, sorted.
func (s *schema) names() []string {
	properties, _ := s.raw["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}
