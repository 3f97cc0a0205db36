// Package toolv1 is the catalogue of tools: what an executor publishes about each tool it runs (KV bucket "catalog", one
// value an executor), what turns offers to models, and what the gate of the tools service decides by.
package toolv1

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/canonical"
)

// Level says what a call may do. It decides whether a person is asked.
type Level int

// The levels.
const (
	L0 Level = iota // reads, or does no harm: runs
	L1              // changes what belongs to the session or its workspace: runs
	L2              // changes the outside, or what every prompt begins with: asks
	L3              // dangerous: has to be enabled, asks each time
)

func (l Level) String() string { return fmt.Sprintf("L%d", int(l)) }

// Known says whether it is one of the levels. A tool of another level is denied.
func (l Level) Known() bool { return l >= L0 && l <= L3 }

// Egress says where data can leave to.
type Egress string

// The classes of egress.
const (
	NoEgress Egress = ""
	Fixed    Egress = "fixed"  // to a destination that the operator has configured
	Chosen   Egress = "chosen" // to a destination that the model chooses
)

// Tool is one entry of the catalogue.
type Tool struct {
	Name        string          `json:"name"` // unique over all executors
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // of the arguments: a JSON Schema of type object
	Level       Level           `json:"level"`
	Egress      Egress          `json:"egress,omitempty"`
	// Again says that a call may be carried out twice: it only reads, or a repeat changes nothing. Else a call whose worker
	// died gets the outcome unknown.
	Again bool `json:"again,omitempty"`
	// Timeout bounds one call.
	Timeout time.Duration `json:"timeout"`
	// Paths are the arguments that name files of the workspace; Writes says that the tool changes them.
	Paths  []string `json:"paths,omitempty"`
	Writes bool     `json:"writes,omitempty"`
	// Untrusted says that results are text from outside (taint A); Private, that they are private data (taint B). A
	// result can be either without its tool being so.
	Untrusted bool `json:"untrusted,omitempty"`
	Private   bool `json:"private,omitempty"`
	// Fixes are the arguments that "always" holds for; the others may then be anything. Empty: all of them.
	Fixes []string `json:"fixes,omitempty"`
	// AnyArgs says that "always" holds for the tool, whatever the arguments; Fixes is empty then.
	AnyArgs bool `json:"any_args,omitempty"`
	// Warning is what a person who is asked should know of how it runs here; "" for most tools.
	Warning string `json:"warning,omitempty"`
	// Shell is the argument that is a shell command, "" for most tools: rules look at each command in it.
	Shell string `json:"shell,omitempty"`
}

// Digest identifies what the tool is: it changes with every field.
func (t Tool) Digest() string {
	raw, err := json.Marshal(t)
	if err == nil {
		raw, err = canonical.JSON(raw)
	}
	if err != nil { // a schema without a canonical form: it changes with every field all the same, and equals no good one
		raw = fmt.Appendf(nil, "broken %#v", t)
	}
	return canonical.Digest(raw)
}

// Catalogue is all that one executor offers.
type Catalogue struct {
	Executor string `json:"executor"` // a lower-case word: suffix of its events, name of its consumer
	Tools    []Tool `json:"tools"`
	// Endpoint identifies where the tools run (a URL without secrets, a command line, names of static headers): a change of
	// it voids approvals.
	Endpoint string `json:"endpoint,omitempty"`
	// Paused says that the executor is left alone for a while; nil when it is not. It is no part of what decides.
	Paused *Paused `json:"paused,omitempty"`
}

// Paused is why and until when an executor is left alone: calls of its tools would only fail.
type Paused struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Find is the entry of a name.
func (c Catalogue) Find(name string) (Tool, bool) {
	for _, t := range c.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// PromptFiles are the files of a workspace that every prompt begins with: whoever writes them writes the prompt.
var PromptFiles = []string{"AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"} //nolint:gochecknoglobals // a constant

// PrivateFiles are those of PromptFiles that are about the person (taint B).
var PrivateFiles = []string{"USER.md", "MEMORY.md"} //nolint:gochecknoglobals // a constant

// IsPromptFile says whether name, a cleaned path relative to the workspace, is one of PromptFiles or lies in the folder of
// skills. Case is ignored: some file systems do.
func IsPromptFile(name string) bool {
	if first, _, nested := strings.Cut(name, "/"); nested && strings.EqualFold(first, "skills") {
		return true
	}
	return in(PromptFiles, name)
}

// IsPrivateFile says whether name is one of PrivateFiles.
func IsPrivateFile(name string) bool { return in(PrivateFiles, name) }

func in(list []string, name string) bool {
	for _, f := range list {
		if strings.EqualFold(f, name) {
			return true
		}
	}
	return false
}
