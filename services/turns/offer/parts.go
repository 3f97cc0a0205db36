package offer

import (
	"bytes"
	"maps"
	"slices"
)

// objects takes over what an object is made of.
func (r *reader) objects(in map[string]any, n node, at place) {
	if props, ok := in["properties"].(map[string]any); ok {
		out := node{}
		for _, name := range slices.Sorted(maps.Keys(props)) { // sorted: which ones are too many must not change
			out[name] = r.node(props[name], at.inner())
		}
		n["properties"] = out
	}
	if list, ok := in["required"].([]any); ok { // draft 3 has a bool in each property
		names := slices.DeleteFunc(unique(list), func(v any) bool { _, ok := v.(string); return !ok })
		if len(names) > 0 {
			n["required"] = names
		}
	}
	switch more := in["additionalProperties"].(type) {
	case bool:
		n["additionalProperties"] = more
	case map[string]any:
		n["additionalProperties"] = r.node(more, at.inner())
	}
	if _, ok := in["patternProperties"]; ok && n["additionalProperties"] == false {
		delete(n, "additionalProperties") // those are allowed
	}
}

// lists takes over what a list is made of. Items of several kinds in a fixed order become a choice, and words.
func (r *reader) lists(in map[string]any, n node, w *words, at place) {
	rest, isRest := in["items"].(map[string]any)
	prefix, isPrefix := in["prefixItems"].([]any)
	if old, ok := in["items"].([]any); ok { // up to draft 2019-09
		prefix, isPrefix = old, true
		rest, isRest = in["additionalItems"].(map[string]any)
	}
	switch {
	case isPrefix && len(prefix) > 0:
		w.say("prefixItems", prefix)
		var kinds []any
		for _, p := range prefix {
			kinds = append(kinds, r.node(p, at.inner().inner()))
		}
		if isRest {
			kinds = append(kinds, r.node(rest, at.inner().inner()))
		}
		n["items"] = choice(kinds)
	case isRest:
		n["items"] = r.node(rest, at.inner())
	}
}

// choices makes one choice of all: what must hold together is put together.
func (r *reader) choices(in map[string]any, n node, w *words, at place) {
	branches := func(key string, at place) []any {
		list, _ := in[key].([]any)
		var out []any
		for _, b := range list {
			out = append(out, r.node(b, at))
		}
		return out
	}
	for _, b := range branches("allOf", at) {
		if m, ok := b.(node); ok {
			both(n, m, w)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list := unique(branches(key, at.inner()))
		switch _, taken := n["anyOf"]; {
		case len(list) == 0:
		case taken:
			w.say(key, list)
		case len(list) == 1:
			if m, ok := list[0].(node); ok {
				both(n, m, w)
			}
		default:
			if m := literals(list); m != nil {
				both(n, m, w)
				continue
			}
			n["anyOf"] = list
			if key == "oneOf" && at.depth > 0 && !disjoint(list) { // at the top it is said otherwise
				*w = append(*w, "exactly one of these, not several")
			}
		}
	}
}

// disjoint says whether the types of choices tell them apart.
func disjoint(list []any) bool {
	seen := map[string]bool{}
	for _, b := range list {
		m, _ := b.(node)
		t, ok := m["type"].(string)
		if !ok || seen[t] {
			return false
		}
		seen[t] = true
	}
	return true
}

// choice is one of several schemas: itself, when there is one only.
func choice(kinds []any) node {
	kinds = unique(kinds)
	if m, ok := kinds[0].(node); ok && len(kinds) == 1 {
		return m
	}
	if m := literals(kinds); m != nil {
		return m
	}
	return node{"anyOf": kinds}
}

// literals is a choice of single values of one type as the list of them; nil when it is another one.
func literals(list []any) node {
	var kind any
	var values []any
	for i, b := range list {
		m, _ := b.(node)
		v, ok := m["const"]
		if !ok || len(m) != 2 || kindOf(m["type"]) != text || i > 0 && m["type"] != kind {
			return nil
		}
		kind, values = m["type"], append(values, v)
	}
	return node{"type": kind, "enum": values}
}

// both adds m to n: all that either says must hold. Where they say different things of one keyword, n's is kept, and m's is
// put in words.
func both(n, m node, w *words) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		have, ok := n[k]
		switch {
		case k == "additionalProperties" && m[k] == false: // it is about m's fields alone
		case !ok:
			n[k] = m[k]
		case k == "description" || k == "title":
			if text, ok := m[k].(string); ok && k == "description" && have != text {
				*w = append(*w, short(text, maxSaid))
			}
		case k == "properties":
			n[k] = fields(have, m[k])
		case k == "required":
			n[k] = united(have, m[k])
		case !bytes.Equal(encode(have), encode(m[k])):
			w.say(k, m[k])
		}
	}
}

func united(a, b any) []any {
	x, _ := a.([]any)
	y, _ := b.([]any)
	return unique(slices.Concat(x, y))
}

// fields are those of both, where both must hold.
func fields(a, b any) node {
	out := node{}
	first, _ := a.(node)
	second, _ := b.(node)
	maps.Copy(out, first)
	for _, name := range slices.Sorted(maps.Keys(second)) {
		x, _ := out[name].(node)
		y, ok := second[name].(node)
		switch {
		case x == nil:
			out[name] = second[name]
		case ok:
			x = maps.Clone(x)
			var said words
			both(x, y, &said)
			said.into(x)
			out[name] = x
		}
	}
	return out
}
