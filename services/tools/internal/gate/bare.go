package gate

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// bare is what of a server's schema is told when arguments do not fit: its outline, without anything that could be a sentence. A
// refusal is in our own words, which nothing fences.
func bare(schema map[string]any) map[string]any {
	out := outline(schema)
	delete(out, "description")
	if in, ok := out["properties"].(map[string]any); ok {
		kept := make(map[string]any, len(in))
		for name, e := range in {
			if m, ok := e.(map[string]any); ok {
				e = bare(m)
			}
			if wordlike(name) {
				kept[name] = e
			}
		}
		if out["properties"] = kept; len(kept) < len(in) {
			delete(out, "additionalProperties")
		}
	}
	if list, ok := out["required"].([]any); ok {
		out["required"] = slices.DeleteFunc(slices.Clone(list), func(e any) bool { return !wordlike(e) })
	}
	if m, ok := out["items"].(map[string]any); ok {
		out["items"] = bare(m)
	}
	if list, ok := out["enum"].([]any); ok && slices.ContainsFunc(list, func(e any) bool { return !wordlike(e) }) {
		delete(out, "enum")
	}
	return maps.Clone(out)
}

// maxWord is how long a word of a server may be, in bytes.
const maxWord = 40

// wordlike says whether a value is none that somebody could be talked to with.
func wordlike(v any) bool {
	switch v := v.(type) {
	case string:
		return v != "" && len(v) <= maxWord && !strings.ContainsFunc(v, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/@+$", r)
		})
	case bool, float64, nil:
		return true
	}
	return false
}
