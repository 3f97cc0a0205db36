package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// trouble is a kind of what is told of tools.
type trouble int

const (
	unnameable trouble = iota
	listedTwice
	runsAsTask
	oddSchema
	refersElsewhere
	troubles // how many there are
)

// sentences stand before the names of tools.
var sentences = [troubles]string{
	unnameable:      "left out, for having no name or one that is too long",
	listedTwice:     "listed more than once, and offered once",
	runsAsTask:      "left out, for running as tasks only, which jetclaw does not offer",
	oddSchema:       "offered without a description of arguments, for want of a usable schema",
	refersElsewhere: "offered with a schema that refers to another one elsewhere, which is never fetched",
}

// maxTold is how many tools one issue names.
const maxTold = 5

// findings are gathered into one issue a kind: a server can be wrong in thousands of tools.
type findings struct {
	about [troubles][]string
	room  string
}

// add notes that there is trouble with a tool. Names and details are the server's words.
func (f *findings) add(k trouble, raw, detail string) {
	text := quote(raw)
	if detail != "" {
		text += " (" + cut(oneLine(detail), 120) + ")"
	}
	f.about[k] = append(f.about[k], text)
}

// tooMany notes that there was no room for all.
func (f *findings) tooMany(kept, of int) {
	f.room = fmt.Sprintf("only the first %d of %d tools are offered, by name: more than %d tools or %d KiB are not taken; choose with toolFilter",
		kept, of, MaxTools, maxSize>>10)
}

func (f *findings) issues() []definition.Issue {
	var out []definition.Issue
	add := func(text string) {
		out = append(out, definition.Issue{Level: definition.LevelWarning, Message: text})
	}
	for k, about := range f.about {
		if len(about) == 0 {
			continue
		}
		slices.Sort(about)
		n, more := len(about), ""
		if n > maxTold {
			about, more = about[:maxTold], fmt.Sprintf(" and %d more", n-maxTold)
		}
		add(sentences[k] + ": " + strings.Join(about, ", ") + more)
	}
	if f.room != "" {
		add(f.room)
	}
	return out
}

func quote(raw string) string { return `"` + cut(oneLine(raw), 80) + `"` }

func oneLine(text string) string { return strings.Join(strings.Fields(visible(text)), " ") }
