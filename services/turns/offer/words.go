package offer

import "strings"

const (
	maxSaid  = 240  // bytes of one value that is quoted
	maxWords = 1000 // bytes of what is said about one schema
)

// phrases say what a keyword means, before its value.
var phrases = map[string]string{ //nolint:gochecknoglobals // a constant
	"pattern":              "must match the pattern",
	"format":               "has the format",
	"const":                "must be",
	"enum":                 "must be one of",
	"default":              "if it is left out:",
	"minimum":              "at least",
	"maximum":              "at most",
	"exclusiveMinimum":     "more than",
	"exclusiveMaximum":     "less than",
	"multipleOf":           "a multiple of",
	"minLength":            "characters, at least:",
	"maxLength":            "characters, at most:",
	"minItems":             "items, at least:",
	"maxItems":             "items, at most:",
	"minProperties":        "fields, at least:",
	"maxProperties":        "fields, at most:",
	"uniqueItems":          "no item twice:",
	"items":                "each item must match",
	"prefixItems":          "its items are, in this order:",
	"additionalProperties": "other fields:",
	"properties":           "fields:",
	"anyOf":                "must match one of",
	"oneOf":                "must match exactly one of",
	"not":                  "must not match",
	"contains":             "has an item that matches",
	"propertyNames":        "names of fields must match",
	"patternProperties":    "fields by patterns of their names:",
	"dependencies":         "fields that need others:",
	"dependentRequired":    "fields that need others:",
	"dependentSchemas":     "fields that change what else must match:",
	"if":                   "where this matches:",
	"then":                 "this must match too:",
	"else":                 "and otherwise this:",
	"contentEncoding":      "is encoded as",
}

// words are what is said of a schema because its dialect cannot.
type words []string

// say puts a keyword and its value in words.
func (w *words) say(keyword string, value any) {
	phrase, ok := phrases[keyword]
	if !ok {
		phrase = keyword
	}
	*w = append(*w, phrase+" "+quoted(value))
}

func quoted(value any) string { return short(visible(string(encode(value))), maxSaid) }

// into adds them to the description of n. What is said there already is not said again.
func (w words) into(n node) {
	var more []string
	about, _ := n["description"].(string)
	for _, said := range w {
		if !strings.Contains(about, said) {
			more = append(more, said)
		}
	}
	if len(more) == 0 {
		return
	}
	n["description"] = joined(about, []string{"(" + short(strings.Join(more, "; "), maxWords) + ")"}, maxAbout)
}
