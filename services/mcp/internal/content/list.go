package content

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// OfResources shows one page of a list of resources, one a line.
func OfResources(r *mcp.ListResourcesResult, limit int) Result {
	if r == nil {
		return Result{}
	}
	lines := make([]string, 0, len(r.Resources)+1)
	for _, x := range r.Resources {
		if x == nil {
			continue
		}
		var long string
		if x.Size > 0 {
			long = size(x.Size)
		}
		lines = append(lines, described(about(title(x.Name, x.Title), x.URI, x.MIMEType, long), x.Description))
	}
	return list(lines, "resources", r.NextCursor, limit)
}

// OfPrompts shows one page of a list of prompts, one a line: NAME(argument, [optional argument]).
func OfPrompts(r *mcp.ListPromptsResult, limit int) Result {
	if r == nil {
		return Result{}
	}
	lines := make([]string, 0, len(r.Prompts)+1)
	for _, x := range r.Prompts {
		if x == nil {
			continue
		}
		var args []string
		for _, a := range x.Arguments {
			switch {
			case a == nil:
			case a.Required:
				args = append(args, word(a.Name))
			default:
				args = append(args, "["+word(a.Name)+"]")
			}
		}
		lines = append(lines, described(word(x.Name)+"("+strings.Join(args, ", ")+")", x.Description))
	}
	return list(lines, "prompts", r.NextCursor, limit)
}

// title is the name, and what people call it if that is something else.
func title(name, title string) string {
	if title == "" || title == name {
		return name
	}
	return name + " \"" + title + "\""
}

func described(what, description string) string {
	if d := word(description); d != "" {
		return what + ": " + d
	}
	return what
}

func list(lines []string, what, next string, limit int) Result {
	if len(lines) == 0 {
		lines = append(lines, "no "+what)
	}
	if next != "" {
		lines = append(lines, fmt.Sprintf("[there are more %s: ask again with the cursor %q]", what, next))
	}
	p := page{blocks: []string{clean(strings.Join(lines, "\n"))}}
	return p.result(limit)
}
