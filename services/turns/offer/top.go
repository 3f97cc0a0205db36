package offer

import (
	"maps"
	"slices"
	"strings"
)

// top makes a schema one of arguments: an object without a choice. Of the choices' fields each may be given, and which ones
// go together is said.
func top(n node) (node, []string) {
	var w words
	if t := n["type"]; t != nil && !hasType(t, object) {
		return node{"type": object, "properties": node{}}, nil
	}
	n = maps.Clone(n)
	n["type"] = object
	if list, ok := n["anyOf"].([]any); ok {
		delete(n, "anyOf")
		alternatives(n, list, &w)
	}
	for _, k := range []string{"enum", "const", "default"} {
		if v, ok := n[k]; ok {
			w.say(k, v)
			delete(n, k)
		}
	}
	props, _ := n["properties"].(node)
	props = maps.Clone(props)
	if props == nil {
		props = node{}
	}
	names, _ := n["required"].([]any)
	for _, v := range names {
		if name, ok := v.(string); ok && props[name] == nil {
			props[name] = node{}
		}
	}
	n["properties"] = props
	if len(w) == 0 {
		return n, nil
	}
	return n, []string{"(" + short(strings.Join(w, "; "), maxWords) + ")"}
}

// alternatives adds the fields of all branches to n. Required is what each of them requires.
func alternatives(n node, list []any, w *words) {
	var said []string
	var required []any
	props, found := n["properties"], false
	for _, b := range list {
		m, ok := b.(node)
		if !ok || m["type"] != nil && !hasType(m["type"], object) {
			continue
		}
		m = maps.Clone(m)
		if inner, ok := m["anyOf"].([]any); ok { // a choice within a choice
			delete(m, "anyOf")
			alternatives(m, inner, w)
		}
		props = offered(props, m["properties"])
		needs, _ := m["required"].([]any)
		if !found {
			required, found = needs, true
		} else {
			required = slices.DeleteFunc(slices.Clone(required), func(v any) bool { return !slices.Contains(needs, v) })
		}
		said = append(said, combination(m))
	}
	if props, ok := props.(node); ok {
		n["properties"] = props
	}
	if len(required) > 0 {
		n["required"] = united(n["required"], required)
	}
	if n["additionalProperties"] == false && len(said) > 0 {
		delete(n, "additionalProperties")
	}
	if len(said) > 1 {
		*w = append(*w, "give one of these combinations of arguments: "+strings.Join(said, " or "))
	}
}

// offered are the fields of both, where each may hold.
func offered(a, b any) any {
	first, _ := a.(node)
	second, _ := b.(node)
	if len(first)+len(second) == 0 {
		return a
	}
	out := node{}
	maps.Copy(out, first)
	for name, y := range second {
		x, ok := out[name]
		if !ok {
			out[name] = y
			continue
		}
		out[name] = choice(slices.Concat(branchesOf(x), branchesOf(y)))
	}
	return out
}

// branchesOf are the choices that a schema has, itself where it is no choice.
func branchesOf(v any) []any {
	m, _ := v.(node)
	if list, ok := m["anyOf"].([]any); ok && len(m) == 1 {
		return list
	}
	return []any{v}
}

// combination names the fields of a branch: "(kind = "file", path, encoding?)".
func combination(m node) string {
	props, _ := m["properties"].(node)
	needs, _ := m["required"].([]any)
	names := map[string]bool{}
	for name := range props {
		names[name] = true
	}
	for _, v := range needs {
		if name, ok := v.(string); ok {
			names[name] = true
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, _ := props[name].(node)
		part := visible(name)
		if v, ok := p["const"]; ok {
			part += " = " + quoted(v)
		}
		if !slices.Contains(needs, any(name)) {
			part += "?"
		}
		parts = append(parts, part)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
