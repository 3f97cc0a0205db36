package catalogue

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// allows says whether a filter lets through what has these names: the server's own (read_file), and those of jetclaw
// (files__read_file). Its globs, in which * stands for any text, match the whole of one. Exclude wins; no Include lets all through.
func allows(f *definition.ToolFilter, names ...string) bool {
	if f == nil {
		return true
	}
	matches := func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return glob(pattern, name) })
	}
	return (len(f.Include) == 0 || slices.ContainsFunc(f.Include, matches)) && !slices.ContainsFunc(f.Exclude, matches)
}

// glob says whether pattern matches all of text. Each piece between stars is looked for once: it takes no longer than the product
// of both lengths.
func glob(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		if _, rest, ok = strings.Cut(rest, piece); !ok {
			return false
		}
	}
	return true
}
