package offer

import (
	"encoding/json"
	"maps"
	"slices"
)

// writer writes plain schemas in a dialect.
type writer struct{ d Dialect }

// formats are those that dialects other than Gemini's know.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"} //nolint:gochecknoglobals // a constant

const maxCount = 1000 // of repeats that a grammar is made of

// node is n in the dialect. n is left as it was.
func (wr writer) node(v any, depth int) node {
	n, ok := v.(node)
	if !ok {
		return node{}
	}
	n = maps.Clone(n)
	var w words
	drop := func(k string) {
		w.say(k, n[k])
		delete(n, k)
	}
	if p, ok := n["pattern"].(string); ok && (wr.d == Local || !everywhere(p)) {
		drop("pattern")
	}
	if f, ok := n["format"].(string); ok && wr.d != Gemini && !slices.Contains(formats, f) {
		drop("format")
	}
	for _, k := range counts {
		c, _ := n[k].(json.Number)
		if i, err := c.Int64(); err == nil && wr.d == Local && i > maxCount {
			drop(k)
		}
	}
	wr.properties(n, &w)
	if wr.d == Gemini {
		wr.gemini(n, &w, drop, depth)
	}
	wr.inside(n, depth)
	w.into(n)
	return n
}

// inside writes the schemas that n is made of.
func (wr writer) inside(n node, depth int) {
	if props, ok := n["properties"].(node); ok {
		out := node{}
		for name, p := range props {
			out[name] = wr.node(p, depth+1)
		}
		n["properties"] = out
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if inner, ok := n[k].(node); ok {
			n[k] = wr.node(inner, depth+1)
		}
	}
	if list, ok := n["anyOf"].([]any); ok {
		var out []any
		for _, b := range list {
			out = append(out, wr.node(b, depth+1))
		}
		n["anyOf"] = out
	}
}

// properties takes out those whose names the dialect does not take: they may still be given, as the description says.
func (wr writer) properties(n node, w *words) {
	if wr.d != Anthropic && wr.d != Gemini {
		return
	}
	bad := func(name string) bool { return !field(name) }
	if props, ok := n["properties"].(node); ok {
		rest := node{}
		out := node{}
		for name, p := range props {
			if bad(name) {
				out[name] = p
			} else {
				rest[name] = p
			}
		}
		if len(out) > 0 {
			n["properties"] = rest
			w.say("properties", out)
			if n["additionalProperties"] == false {
				delete(n, "additionalProperties")
			}
		}
	}
	if list, ok := n["required"].([]any); ok {
		var rest, out []any
		for _, v := range list {
			if name, _ := v.(string); bad(name) {
				out = append(out, v)
			} else {
				rest = append(rest, v)
			}
		}
		if len(out) > 0 {
			*w = append(*w, "needed: "+quoted(out))
			setOrDelete(n, "required", rest)
		}
	}
}

// field says whether a property may be called so: ^[a-zA-Z0-9_.-]{1,64}$.
func field(name string) bool {
	for i := range len(name) {
		if !inner(name[i]) && name[i] != '.' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

func setOrDelete(n node, key string, list []any) {
	if len(list) == 0 {
		delete(n, key)
		return
	}
	n[key] = list
}
