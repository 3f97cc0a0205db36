package offer

import (
	"maps"
	"slices"
)

// geminiWords are what Gemini knows. Of what else there is, much is an error to it.
var geminiWords = []string{ //nolint:gochecknoglobals // a constant
	"anyOf", "description", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
	"minProperties", "minimum", "nullable", "pattern", "properties", "required", "title", "type",
}

// ofType are the keywords that say something of one type only.
var ofType = map[string][]string{ //nolint:gochecknoglobals // a constant
	object:  {"properties", "required", "additionalProperties", "minProperties", "maxProperties"},
	array:   {"items", "minItems", "maxItems", "uniqueItems"},
	text:    {"pattern", "format", "minLength", "maxLength"},
	number:  numbers,
	integer: numbers,
}

// gemini makes n a schema of OpenAPI's kind: one type, which may be null too; a choice has nothing beside it; an enum has
// texts only.
func (wr writer) gemini(n node, w *words, drop func(string), depth int) {
	wr.oneType(n)
	if list, ok := n["anyOf"].([]any); ok {
		rest := slices.DeleteFunc(slices.Clone(list), isNull)
		maybeNull := len(rest) < len(list)
		delete(n, "anyOf")
		props, isObject := n["properties"]
		switch {
		case len(rest) == 1:
			if m, ok := rest[0].(node); ok {
				both(n, m, w)
				wr.oneType(n)
			}
		case len(rest) > 1 && isObject && props != nil:
			alternatives(n, rest, w)
		case len(rest) > 1:
			wr.alone(n, rest, w, maybeNull)
			return
		}
		if maybeNull {
			n["nullable"] = true
		}
		if inner, ok := n["anyOf"].([]any); ok { // the one that was left was a choice itself
			n["anyOf"] = inner
			wr.gemini(n, w, drop, depth)
			return
		}
	}
	wr.values(n, w, drop)
	for _, k := range slices.Sorted(maps.Keys(n)) {
		switch known := slices.Contains(geminiWords, k); {
		case k == "additionalProperties" && kindOf(n[k]) == boolean: // a model does not make up names by itself
			delete(n, k)
		case k == "format" && n[k] != "date-time":
			drop(k)
		case !known:
			drop(k)
		}
	}
	if _, ok := n["type"]; !ok {
		n["type"] = text
		*w = append(*w, "any JSON value")
	}
	if n["type"] != array {
		delete(n, "items")
	} else if n["items"] == nil {
		n["items"] = node{}
	}
	wr.needs(n, w, depth)
}

// oneType leaves n one type. Of several it makes a choice, each with the keywords that are about it.
func (wr writer) oneType(n node) {
	list, ok := n["type"].([]any)
	if !ok {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == null })
	if len(rest) < len(list) {
		n["nullable"] = true
	}
	if _, choice := n["anyOf"]; choice || len(rest) == 1 {
		n["type"] = rest[0]
		if choice {
			delete(n, "type")
		}
		return
	}
	delete(n, "type")
	var branches []any
	for _, t := range rest {
		one, _ := t.(string)
		b := node{"type": one}
		for _, k := range ofType[one] {
			if v, ok := n[k]; ok {
				b[k] = v
			}
		}
		if list, ok := n["enum"].([]any); ok {
			if own := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return kindOf(v) != one }); len(own) > 0 {
				b["enum"] = own
			}
		}
		branches = append(branches, b)
	}
	for _, keys := range ofType {
		for _, k := range keys {
			delete(n, k)
		}
	}
	delete(n, "enum")
	n["anyOf"] = branches
}

func isNull(v any) bool {
	m, _ := v.(node)
	return m["type"] == null
}

// alone makes n a choice and nothing else. What was beside it goes into its first branch.
func (wr writer) alone(n node, branches []any, w *words, maybeNull bool) {
	firstBranch, _ := branches[0].(node)
	firstBranch = maps.Clone(firstBranch)
	if firstBranch == nil {
		firstBranch = node{}
	}
	about, _ := n["description"].(string)
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if k != "description" && k != "title" && k != "type" && k != "nullable" {
			w.say(k, n[k])
		}
	}
	if maybeNull || n["nullable"] == true {
		firstBranch["nullable"] = true
	}
	clear(n)
	said := *w
	*w = nil
	if about != "" {
		said = append(words{about}, said...)
	}
	said.into(firstBranch)
	n["anyOf"] = append([]any{firstBranch}, branches[1:]...)
}

// values turns const and enum into what Gemini takes: texts that are not empty.
func (wr writer) values(n node, w *words, drop func(string)) {
	if v, ok := n["const"]; ok {
		if s, isText := v.(string); isText && s != "" && n["enum"] == nil {
			delete(n, "const")
			n["enum"] = []any{s}
		} else {
			drop("const")
		}
	}
	list, ok := n["enum"].([]any)
	if !ok {
		if n["type"] == null {
			n["type"], n["nullable"] = text, true
			*w = append(*w, "must be null")
		}
		return
	}
	var texts []any
	for _, v := range list {
		switch s, isText := v.(string); {
		case v == nil:
			n["nullable"] = true
		case !isText || s == "":
			drop("enum")
			return
		default:
			texts = append(texts, v)
		}
	}
	setOrDelete(n, "enum", texts)
	if n["type"] == nil || n["type"] == null {
		n["type"] = text
	}
	if n["type"] != text {
		drop("enum")
	}
	delete(n, "format")
}

// needs leaves of required what there is, and no list of properties that is empty, but at the top.
func (wr writer) needs(n node, w *words, depth int) {
	props, _ := n["properties"].(node)
	if n["type"] != object {
		delete(n, "properties")
		delete(n, "required")
		return
	}
	if len(props) == 0 && depth > 0 {
		delete(n, "properties")
	}
	list, ok := n["required"].([]any)
	if !ok {
		return
	}
	var known, other []any
	for _, v := range list {
		if name, _ := v.(string); props[name] != nil {
			known = append(known, v)
		} else {
			other = append(other, v)
		}
	}
	if len(other) > 0 {
		*w = append(*w, "needed: "+quoted(other))
	}
	setOrDelete(n, "required", known)
}
