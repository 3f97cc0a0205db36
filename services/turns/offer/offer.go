package offer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// MaxTools is how many tools a request may have: OpenAI and Groq take no more.
const MaxTools = 128

// Dialect is what a provider understands of JSON Schema.
type Dialect string

// The dialects.
const (
	OpenAI    Dialect = "openai"    // chat completions, and most of what imitates them
	Anthropic Dialect = "anthropic" // names of properties are restricted
	Gemini    Dialect = "gemini"    // a subset of OpenAPI's schemas
	Local     Dialect = "local"     // llama.cpp and what is built on it: a schema becomes a grammar, in which patterns fail
)

// Tools are those of all that the globs (* and ?) allow, by name: all where allow is empty, and none that deny names. Of
// two with one name the first is taken.
func Tools(all []toolv1.Tool, allow, deny []string) []toolv1.Tool {
	var out []toolv1.Tool
	for _, t := range all {
		if t.Name != "" && (len(allow) == 0 || matches(allow, t.Name)) && !matches(deny, t.Name) {
			out = append(out, t)
		}
	}
	byName := func(a, b toolv1.Tool) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortStableFunc(out, byName)
	return slices.CompactFunc(out, func(a, b toolv1.Tool) bool { return a.Name == b.Name })
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return match([]rune(g), []rune(name)) })
}

// match tells whether all of name is what glob says. Each star is tried from its shortest match on; only the last one has to
// be tried again, so it takes no longer than the product of both lengths.
func match(glob, name []rune) bool {
	i, star, mark := 0, -1, 0
	for n := 0; n < len(name); {
		switch {
		case i < len(glob) && glob[i] == '*':
			star, mark = i, n
			i++
		case i < len(glob) && (glob[i] == '?' || glob[i] == name[n]):
			i++
			n++
		case star >= 0:
			mark++
			i, n = star+1, mark
		default:
			return false
		}
	}
	for i < len(glob) && glob[i] == '*' {
		i++
	}
	return i == len(glob)
}

// Plain are all tools of list as they are, for who knows them by their own names. Of two with one name the first is taken.
func Plain(list []toolv1.Tool) ([]model.Tool, Names) {
	names := Names{originals: map[string]string{}, shown: map[string]string{}}
	offered := make([]model.Tool, 0, len(list))
	for _, t := range list {
		if _, again := names.shown[t.Name]; again || t.Name == "" {
			continue
		}
		names.originals[t.Name], names.shown[t.Name] = t.Name, t.Name
		offered = append(offered, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return offered, names
}

// Portable are the tools of list as a provider of dialect d takes them, by name. Beyond MaxTools some are left out: those of servers
// (whose names have "__") before all others, the last ones in the list of the servers that have the most, so that one with hundreds
// of tools leaves room for those of the others. Of two with one name the first is taken.
func Portable(list []toolv1.Tool, d Dialect) ([]model.Tool, Names) {
	seen := map[string]bool{}
	list = slices.DeleteFunc(slices.Clone(list), func(t toolv1.Tool) bool {
		again := t.Name == "" || seen[t.Name]
		seen[t.Name] = true
		return again
	})
	rank, count := map[string]int{}, map[string]int{} // by tool; by server
	for _, t := range list {
		if server, _, served := strings.Cut(t.Name, "__"); served {
			count[server]++
			rank[t.Name] = count[server]
		}
	}
	slices.SortStableFunc(list, func(a, b toolv1.Tool) int { return cmp.Compare(rank[a.Name], rank[b.Name]) })
	var left []string
	for _, t := range list[min(len(list), MaxTools):] {
		left = append(left, t.Name)
	}
	list = list[:min(len(list), MaxTools)]
	names := newNames(list)
	names.LeftOut = left
	offered := make([]model.Tool, 0, len(list))
	for _, t := range list {
		shown, ok := names.shown[t.Name]
		if !ok {
			names.LeftOut = append(names.LeftOut, t.Name)
			continue
		}
		made := describe(t, d)
		made.Name = shown
		offered = append(offered, made)
	}
	slices.SortFunc(offered, func(a, b model.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return offered, names
}
