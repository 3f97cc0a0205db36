package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const (
	maxCalls  = 64
	maxCallID = 64
	// maxArguments is the most of one call's arguments, in bytes: they are shown again with every request of the turn.
	maxArguments = 64 << 10
	maxTool      = 128 // bytes of a name that are kept; no provider knows longer ones
	maxDepth     = 100 // of arguments; who reads an event has a limit for all of it
)

// Offered are the tools that the model was offered.
type Offered interface {
	// Original is the tool that the model means by a name.
	Original(name string) (tool string, ok bool)
	// Close are names that are like one that no tool has.
	Close(name string) []string
}

// Parse turns the calls of an answer into those of the event. What may not leave the turn (a tool that was not offered,
// arguments that are not a JSON object) gets a refusal, which the model is told. Ids that are missing, odd or already
// used in the running turn are replaced by ones derived from the round and the place. Tools get their own names back.
func Parse(a Answer, offered Offered, running *turn.Turn) ([]turnv1.Call, error) {
	if len(a.Calls) > maxCalls {
		return nil, &Error{
			Class:  Garbage,
			Cause:  turnv1.ModelGarbage,
			Text:   fmt.Sprintf("The model asked for %d tool calls at once, more than the %d that are allowed. Try a smaller task.", len(a.Calls), maxCalls),
			Detail: "too many tool calls",
		}
	}
	used := map[string]bool{}
	for _, e := range running.Entries {
		for _, c := range e.Calls {
			used[c.ID] = true
		}
	}
	calls := make([]turnv1.Call, 0, len(a.Calls))
	for i, raw := range a.Calls {
		id := raw.ID
		if used[id] || !plain(id) {
			id = fmt.Sprintf("call_%d_%d", running.Claim.Round, i+1)
		}
		for used[id] { // the model itself wrote a name of this form
			id += "_"
		}
		used[id] = true
		calls = append(calls, parse(raw, id, offered, a.Cut))
	}
	return calls, nil
}

func parse(raw RawCall, id string, offered Offered, cut bool) turnv1.Call {
	c := turnv1.Call{ID: id, Tool: strings.ToValidUTF8(raw.Tool[:min(len(raw.Tool), maxTool)], ""), Arguments: json.RawMessage(`{}`)}
	args := bytes.TrimSpace([]byte(raw.Arguments))
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(args, &object); {
	case len(args) == 0: // some models leave them out for a tool without arguments
	case len(args) > maxArguments:
		c.Refusal = fmt.Sprintf("the arguments have %d bytes, more than the %d that are allowed. Do it in parts.", len(args), maxArguments)
	case err != nil && cut:
		c.Refusal = "the arguments are incomplete: the answer reached its length limit. Use shorter arguments."
	case err != nil:
		c.Refusal = fmt.Sprintf("the arguments are not a JSON object: %v", err)
	case object == nil:
		c.Refusal = "the arguments are not a JSON object: null"
	case envelope.Nesting(args) > maxDepth:
		c.Refusal = fmt.Sprintf("the arguments are nested more than %d deep", maxDepth)
	default:
		c.Arguments = args
	}
	original, ok := offered.Original(raw.Tool)
	if !ok {
		c.Refusal = fmt.Sprintf("there is no tool %q here", c.Tool)
		if names := offered.Close(raw.Tool); len(names) > 0 {
			c.Refusal += "; there is " + strings.Join(names, ", ")
		}
		return c
	}
	c.Tool = original
	return c
}

// plain says whether an id can go everywhere: into prompts of other providers, subjects and keys.
func plain(id string) bool {
	for _, r := range id {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= maxCallID
}
