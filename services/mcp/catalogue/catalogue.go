// Package catalogue makes of a configured MCP server and of what it lists what agents are offered: one toolv1.Catalogue, and the
// way back from its names to the server's. It is pure.
//
// It promises, whatever a server lists:
//
//   - Names are server__tool and match ^[a-zA-Z0-9_-]{1,64}$. What had to be changed ends in a hash of the original; so do names
//     that would be the same. They do not depend on the order of the list, or on what is filtered, and tools of two servers never
//     have the same name.
//   - Schemas are JSON Schemas of type object of bounded size and depth, in canonical form. What cannot be one becomes an object of
//     which nothing is known, so that the tool can be called, and the server says what is wrong.
//   - The catalogue has at most MaxTools tools and maxSize bytes, so that the bus takes it.
//   - What is left out or changed is counted and told in Issues, of which there are few.
//
// Levels: what a server says of its tools is believed as far as the owner has chosen (definition.Approval). By default a person is
// asked about each call. Results are untrusted in any case.
package catalogue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// MaxCall bounds one call, however much progress it reports, unless the configured request timeout is longer.
const MaxCall = 10 * time.Minute

// MaxTools bounds what one server offers. Models are offered far fewer.
const MaxTools = 1000

// maxSize bounds a catalogue as it is published, in bytes. The bus takes 900 KiB; the rest is for what is added later, such as a
// pause.
const maxSize = 860 << 10

// Tool is one tool as the server lists it. What it says of itself is nil when it says nothing.
type Tool struct {
	Name        string
	Title       string
	Description string
	Schema      json.RawMessage // of the arguments
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
	// TaskRequired says that it runs as a task only, a part of the protocol that is not spoken here.
	TaskRequired bool
}

// Listing is what a server has.
type Listing struct {
	Tools              []Tool
	Resources, Prompts bool // there can be some: the server has the capability
}

// Kind says what a name of the catalogue stands for.
type Kind string

// The kinds. All but the first are tools of jetclaw's own, with which a model reaches the resources and prompts of a server.
const (
	KindTool          Kind = "tool"
	KindResourcesList Kind = "resources_list"
	KindResourcesRead Kind = "resources_read"
	KindPromptsList   Kind = "prompts_list"
	KindPromptsGet    Kind = "prompts_get"
)

// Target is what a call goes to.
type Target struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // of a KindTool, as the server calls it
}

// Built is what a server offers, and what became of what it listed: Listed is the sum of Filtered, Dropped and those of KindTool
// in Targets.
type Built struct {
	Catalogue toolv1.Catalogue
	Targets   map[string]Target // by the catalogue's names
	Listed    int               // tools that the server lists
	Filtered  int               // of them, hidden by the tool filter
	Dropped   int               // of them, left out for other reasons
	Annotated int               // on offer that say whether they only read
	ReadOnly  int               // on offer that say so
	Issues    []definition.Issue
}

// service is what stands before the name of a server in that of its executor.
const service = "mcp"

// Executor is the name of the executor of a server's tools.
func Executor(server string) string { return subject.Executor(service, server) }

// entry is one tool on its way into the catalogue.
type entry struct {
	tool      toolv1.Tool
	target    Target
	annotated bool
	readOnly  bool
}

// Build is what a server offers that is configured as d and lists l.
func Build(server string, d definition.Definition, l Listing) Built {
	b := Built{
		Catalogue: toolv1.Catalogue{Executor: Executor(server), Endpoint: d.Endpoint(), Tools: []toolv1.Tool{}},
		Targets:   map[string]Target{}, Listed: len(l.Tools),
	}
	var told findings
	tools := distinct(l.Tools, &told)
	names := nameAll(server, tools)
	var entries []entry
	for _, t := range tools {
		name := names.tools[t.Name]
		switch {
		case !allows(d.ToolFilter, t.Name, server+between+t.Name, name):
			b.Filtered++
		case t.TaskRequired:
			told.add(runsAsTask, t.Name, "")
		default:
			entries = append(entries, offered(name, d, t, &told))
		}
	}
	for _, u := range utilities(server, d, l) {
		u.tool.Name = names.utilities[string(u.target.Kind)]
		if allows(d.ToolFilter, string(u.target.Kind), server+between+string(u.target.Kind), u.tool.Name) {
			entries = append(entries, u)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.tool.Name, b.tool.Name) })
	b.fill(entries, &told)
	kept := 0
	for _, t := range b.Targets {
		if t.Kind == KindTool {
			kept++
		}
	}
	b.Dropped = b.Listed - b.Filtered - kept
	b.Issues = told.issues()
	if b.Filtered > 0 && len(b.Targets) == 0 {
		b.Issues = append(b.Issues, definition.Issue{Level: definition.LevelWarning, Message: "toolFilter leaves none of its tools"})
	}
	return b
}

// fill takes entries in the order of their names, as many as there is room for.
func (b *Built) fill(entries []entry, told *findings) {
	size := encodedSize(b.Catalogue)
	for i, e := range entries {
		size += encodedSize(e.tool) + len(",")
		if i >= MaxTools || size > maxSize {
			told.tooMany(i, len(entries))
			return
		}
		b.Catalogue.Tools = append(b.Catalogue.Tools, e.tool)
		b.Targets[e.tool.Name] = e.target
		if e.annotated {
			b.Annotated++
		}
		if e.readOnly {
			b.ReadOnly++
		}
	}
}

// encodedSize is how many bytes v takes where it is published.
func encodedSize(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // schemas are canonical JSON here, and all else has a JSON
	}
	return len(raw)
}

// distinct are the tools that can be called, by name: one of each.
func distinct(listed []Tool, told *findings) []Tool {
	var out []Tool
	for _, t := range listed {
		if t.Name == "" || len(t.Name) > maxRaw {
			told.add(unnameable, t.Name, "")
			continue
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Tool) int { // by all, so that the list's order does not say which of two is kept
		return cmp.Or(
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Description, b.Description), cmp.Compare(a.Title, b.Title), bytes.Compare(a.Schema, b.Schema),
			hint(a.ReadOnly)-hint(b.ReadOnly), hint(a.Destructive)-hint(b.Destructive), hint(a.Idempotent)-hint(b.Idempotent),
			hint(a.OpenWorld)-hint(b.OpenWorld), hint(&a.TaskRequired)-hint(&b.TaskRequired),
		)
	})
	return slices.CompactFunc(out, func(a, b Tool) bool {
		if a.Name != b.Name {
			return false
		}
		told.add(listedTwice, a.Name, "")
		return true
	})
}

// hint orders what a server says: no before nothing, nothing before yes.
func hint(b *bool) int {
	switch {
	case b == nil:
		return 0
	case *b:
		return 1
	}
	return -1
}
