package offer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

const (
	maxDepth = 10   // of schemas within each other
	maxRefs  = 16   // references that lead from one to another
	maxNodes = 4000 // schemas that one is made of, once its references are followed
)

// node is a schema in plain words: no references, one spelling of everything, each keyword of the type that it must have.
// Of choices there is anyOf only.
type node = map[string]any

// reader reads schemas as executors write them, of whatever draft.
type reader struct {
	root  map[string]any
	nodes int
}

// place is where in the tree a schema stands.
type place struct {
	depth int
	refs  []string // that were followed to get here, and are not left yet
}

func (p place) inner() place { return place{p.depth + 1, p.refs} }

// node is v in plain words. What they cannot say is said in the description.
func (r *reader) node(v any, at place) node {
	if r.nodes++; r.nodes > maxNodes {
		return node{}
	}
	in, ok := v.(map[string]any)
	if !ok {
		if v == false {
			return node{"description": "Leave this out."}
		}
		return node{}
	}
	in, at, again := r.follow(in, at)
	switch {
	case again:
		return leaf(in, "It is made like the one that it is in.")
	case at.depth > maxDepth:
		return leaf(in, "Its inner parts are not shown.")
	}
	n, w := node{}, words{}
	r.scalars(in, n)
	r.objects(in, n, at)
	r.lists(in, n, &w, at)
	r.choices(in, n, &w, at)
	for _, k := range []string{
		"not", "contains", "propertyNames", "patternProperties", "dependencies", "dependentRequired", "dependentSchemas", "if",
		"then", "else", "contentEncoding",
	} {
		if x, ok := in[k]; ok {
			w.say(k, x)
		}
	}
	infer(n)
	w.into(n)
	return n
}

// leaf is what is said of a schema whose inner part is not shown.
func leaf(in map[string]any, said string) node {
	n := node{}
	if t := typeOf(in["type"]); t != nil {
		n["type"] = t
	} else if _, ok := in["properties"]; ok {
		n["type"] = object
	}
	if text, ok := in["description"].(string); ok {
		n["description"] = short(visible(text), maxAbout)
	}
	for k := range in {
		if k != "type" && k != "description" {
			words{said}.into(n)
			break
		}
	}
	if n["type"] == array {
		n["items"] = node{}
	}
	return n
}

// follow replaces a reference by what it leads to. One that leads back to itself, or nowhere, is cut.
func (r *reader) follow(in map[string]any, at place) (_ map[string]any, _ place, again bool) {
	for range maxRefs {
		ref, ok := in["$ref"].(string)
		if !ok {
			return in, at, false
		}
		target, ok := r.find(ref)
		if !ok {
			rest := without(in, "$ref")
			if len(rest) == 0 {
				rest = map[string]any{"description": "See " + short(visible(ref), maxSaid) + "."}
			}
			return rest, at, false
		}
		if slices.Contains(at.refs, ref) {
			return over(target, in), at, true
		}
		at.refs = append(slices.Clone(at.refs), ref)
		in = over(target, in)
	}
	return in, at, true
}

// over is target with what stands beside the reference to it.
func over(target, beside map[string]any) map[string]any {
	out := without(beside, "$ref")
	strict := false
	for k := range out {
		switch k {
		case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs", "definitions":
		default:
			strict = true
		}
	}
	if strict { // both hold
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(slices.Clone(all), any(target))
		return out
	}
	for k, v := range target {
		if _, own := out[k]; !own {
			out[k] = v
		}
	}
	return out
}

func without(in map[string]any, key string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// find is what a reference within the schema leads to. Others are not followed: nothing is fetched.
func (r *reader) find(ref string) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if path == "" {
		return r.root, true
	}
	var at any = r.root
	steps := strings.Split(unescape(path), "/")
	if steps[0] != "" {
		return nil, false
	}
	for _, step := range steps[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	m, ok := at.(map[string]any)
	return m, ok
}

// unescape undoes percent-encoding, where it is one.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// whole is a number that counts something.
func whole(v any) (json.Number, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return "", false
	}
	i, err := strconv.ParseInt(n.String(), 10, 32)
	return n, err == nil && i >= 0
}
