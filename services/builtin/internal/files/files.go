package files

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// Options say what differs between homes.
type Options struct {
	Private []string         // files and folders of the workspace that are private data, beside toolv1.PrivateFiles
	Now     func() time.Time // required
}

const (
	readTimeout   = 20 * time.Second
	searchTimeout = 60 * time.Second
	writeTimeout  = 30 * time.Second
)

// kit is what the tools share.
type kit struct {
	private []string
	now     func() time.Time
	owner   int           // files of another user are text from outside
	writing chan struct{} // holds a token while nobody writes: two changes of one file must not read the same beginning
	// landing is called just before a file is put in place; tests change the workspace then.
	landing func()
}

// Tools are the tools of this package.
func Tools(o Options) []tool.Tool { return newKit(o).tools() }

func newKit(o Options) *kit {
	if o.Now == nil {
		panic("files: Options.Now is nil")
	}
	k := &kit{now: o.Now, owner: me(), writing: make(chan struct{}, 1), landing: func() {}}
	k.writing <- struct{}{}
	for _, p := range o.Private {
		k.private = append(k.private, path.Clean(filepath.ToSlash(p)))
	}
	return k
}

func (k *kit) tools() []tool.Tool {
	return []tool.Tool{
		{Run: k.read, Tool: toolv1.Tool{
			Name: "read_file",
			Description: "Reads a text file of the workspace as it is, without line numbers. Long files come in pieces: " +
				"the last line then says how to go on. Binary files are named, not shown.",
			Schema: object(required("path"), text("path", pathIs),
				whole("offset", "First line to read, from 1.", 1),
				whole("limit", "Lines to read at most. Left out: as many as fit.", 1),
				whole("skip", "Bytes of the first line to leave out: only to go on within a line that was cut.", 0)),
			Level: toolv1.L0, Again: true, Timeout: readTimeout, Paths: []string{"path"},
		}},
		{Run: k.list, Tool: toolv1.Tool{
			Name:        "list_dir",
			Description: "Lists a folder of the workspace, hidden entries too: folders end in /, files have their size in bytes, links say where they lead.",
			Schema: object(nil, text("path", pathIs+" Left out: the workspace itself."),
				between("depth", "How many levels of folders to list. Left out: 1.", 1, maxDepth)),
			Level: toolv1.L0, Again: true, Timeout: readTimeout, Paths: []string{"path"},
		}},
		{Run: k.search, Tool: toolv1.Tool{
			Name: "search_files",
			Description: "Searches the text files of the workspace line by line; answers path:line: text. " +
				"Leaves out binary files, files above 2 MiB, .git and node_modules.",
			Schema: object(required("pattern"),
				text("pattern", "Regular expression (RE2; (?i) in front ignores case)."),
				flag("literal", "The pattern is plain text."),
				text("path", "File or folder to search. Left out: the workspace."),
				text("glob", "Only files of this name, such as *.md, or of this path, such as notes/**/*.md."),
				between("limit", "Lines to find at most. Left out: 100.", 1, maxHits)),
			Level: toolv1.L0, Again: true, Timeout: searchTimeout, Paths: []string{"path"},
		}},
		{Run: k.write, Tool: toolv1.Tool{
			Name: "write_file",
			Description: "Writes a whole text file in the workspace: makes it, with its folders, or replaces all that it held. " +
				"To change a part use edit_file.",
			Schema: object(required("path", "content"), text("path", pathIs), text("content", "All of the new text."),
				flag("append", "Add the content at the end of the file instead, exactly as it is: begin or end it with a line break as needed.")),
			Level: toolv1.L1, Timeout: writeTimeout, Paths: []string{"path"}, Writes: true, Fixes: []string{"path"},
		}},
		{Run: k.edit, Tool: toolv1.Tool{
			Name:        "edit_file",
			Description: "Replaces a passage of a text file in the workspace. The passage has to be there word for word, and once, unless all is set.",
			Schema: object(required("path", "old", "new"), text("path", pathIs),
				text("old", "The passage as read_file shows it, with its white space, and long enough to be there only once."),
				text("new", "What takes its place."), flag("all", "Replace it wherever it is.")),
			Level: toolv1.L1, Timeout: writeTimeout, Paths: []string{"path"}, Writes: true, Fixes: []string{"path"},
		}},
		{Run: k.remember, Tool: toolv1.Tool{
			Name:        "remember",
			Description: "Adds a dated note to MEMORY.md, which every later conversation begins with. For lasting facts only.",
			Schema:      object(required("text"), text("text", "The note: one line, at most 500 characters.")),
			Level:       toolv1.L2, Timeout: writeTimeout,
		}},
		{Run: k.recall, Tool: toolv1.Tool{
			Name:        "recall",
			Description: "Gives the notes of MEMORY.md that have all the words of the query.",
			Schema:      object(nil, text("query", "Words in any order and case. Left out: all notes.")),
			Level:       toolv1.L0, Again: true, Timeout: readTimeout, Private: true,
		}},
		{Run: k.clock, Tool: toolv1.Tool{
			Name:        "now",
			Description: "Tells date, time, weekday, ISO week and Unix time.",
			Schema:      object(nil, text("zone", "IANA time zone, such as Europe/Berlin. Left out: the zone of this machine.")),
			Level:       toolv1.L0, Again: true, Timeout: readTimeout,
		}},
	}
}

const pathIs = "Path in the workspace, such as notes/today.md."

// property is an argument in a JSON Schema. What is used of it is what every provider of models accepts.
type property struct {
	name        string
	Type        string `json:"type"`
	Description string `json:"description"`
	Minimum     *int   `json:"minimum,omitempty"`
	Maximum     *int   `json:"maximum,omitempty"`
}

func text(name, is string) property { return property{name: name, Type: "string", Description: is} }

func flag(name, is string) property { return property{name: name, Type: "boolean", Description: is} }

func whole(name, is string, least int) property {
	return property{name: name, Type: "integer", Description: is, Minimum: &least}
}

func between(name, is string, least, most int) property {
	return property{name: name, Type: "integer", Description: is, Minimum: &least, Maximum: &most}
}

func required(names ...string) []string { return names }

// object is the schema of arguments.
func object(required []string, args ...property) json.RawMessage {
	properties := make(map[string]property, len(args))
	for _, a := range args {
		properties[a.name] = a
	}
	raw, err := json.Marshal(struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		Additional bool                `json:"additionalProperties"`
	}{"object", properties, required, false})
	if err != nil {
		panic(err) // no such value
	}
	return raw
}

// alone runs f while no other call of this process writes.
func (k *kit) alone(ctx context.Context, f func() (tool.Result, error)) (tool.Result, error) {
	select {
	case <-k.writing:
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
	defer func() { k.writing <- struct{}{} }()
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	return f()
}
