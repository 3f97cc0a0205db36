// Package mcpv1 has the events of configured MCP servers, which are told in the stream SYS (sys.mcp.<server>.<verb>): they happen
// to a server, not to a conversation. Each says all that is to be known of its verb, so that the last one of each verb is enough.
package mcpv1

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is the sealed set of this package.
//
//sumtype:decl
type Event interface {
	Verb() string // last token of its subject
	mcp()
}

// Connected says that a connection has been opened.
type Connected struct {
	Transport string `json:"transport"` // stdio, sse, streamable-http
	Protocol  string `json:"protocol"`  // version of MCP
	Name      string `json:"name"`      // as the server calls itself
	Version   string `json:"version,omitempty"`
	Worker    string `json:"worker"` // instance of the service
}

// Failed says that a connection could not be opened, or that a request came to nothing: no tool's own error.
type Failed struct {
	Reason   string `json:"reason"`
	Failures int    `json:"failures"` // in a row, this one included
}

// Paused says that a server is left alone for a while: it has failed again and again.
type Paused struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
	Pauses int       `json:"pauses"` // in a row, this one included
}

// Resumed says that a server is tried again, or works again.
type Resumed struct {
	By     string `json:"by"`               // time, call, probe, reload
	Pauses int    `json:"pauses,omitempty"` // that still count: the next failure pauses it for longer
}

// Listed says what a server offers since then.
type Listed struct {
	Tools    int    `json:"tools"`
	Filtered int    `json:"filtered,omitempty"` // hidden by the operator's filter
	Dropped  int    `json:"dropped,omitempty"`  // too many, or not usable
	Digest   string `json:"digest"`             // of the catalogue
}

// Closed says that a connection has ended.
type Closed struct {
	Reason string `json:"reason"`
	Worker string `json:"worker"`
}

func (Connected) Verb() string { return "connected" }
func (Failed) Verb() string    { return "failed" }
func (Paused) Verb() string    { return "paused" }
func (Resumed) Verb() string   { return "resumed" }
func (Listed) Verb() string    { return "catalog" }
func (Closed) Verb() string    { return "closed" }

func (Connected) mcp() {}
func (Failed) mcp()    {}
func (Paused) mcp()    {}
func (Resumed) mcp()   {}
func (Listed) mcp()    {}
func (Closed) mcp()    {}

// Decode reads the body of a verb.
func Decode(verb string, data []byte) (Event, error) {
	switch verb {
	case Connected{}.Verb():
		return decode[Connected](verb, data)
	case Failed{}.Verb():
		return decode[Failed](verb, data)
	case Paused{}.Verb():
		return decode[Paused](verb, data)
	case Resumed{}.Verb():
		return decode[Resumed](verb, data)
	case Listed{}.Verb():
		return decode[Listed](verb, data)
	case Closed{}.Verb():
		return decode[Closed](verb, data)
	}
	return nil, fmt.Errorf("unknown verb %q of an MCP server", verb)
}

func decode[E Event](verb string, data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%s of an MCP server: %w", verb, err)
	}
	return e, nil
}
