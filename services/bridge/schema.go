package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// most is the largest number that every client can write.
const most = 1<<53 - 1

// tool describes one; its schemas follow from the types of its handler.
type tool struct {
	name, title, says string
	hints             *mcp.ToolAnnotations
	properties        properties // of its arguments, by name
}

type properties map[string]property

// property is what the Go type of an argument does not say of it.
type property struct {
	says  string
	bound func(*jsonschema.Schema) // nil: none
}

func between(low, high int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(float64(low)), new(float64(high)) }
}

func filled(s *jsonschema.Schema) { s.MinLength = new(1) }

func among(values ...any) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Enum = values }
}

func oneOf(s *jsonschema.Schema) {
	for _, t := range event.All() {
		s.Items.Enum = append(s.Items.Enum, string(t))
	}
}

// handler carries out a call. line says in a few words what came of it, out is all of that.
type handler[In, Out any] func(ctx context.Context, r *mcp.CallToolRequest, in In) (line string, out Out, err error)

// add makes the schemas of a tool, and adds it. What the SDK's own function of that name does beside, it leaves: to check the results
// by their schema took a third of the time of a call, and its errors name no argument.
func add[In, Out any](t tool, h handler[In, Out]) func(*mcp.Server) error {
	return func(s *mcp.Server) error {
		in, err := jsonschema.For[In](nil)
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.name, err)
		}
		definite(in)
		for name, p := range in.Properties {
			more := t.properties[name]
			if p.Description = more.says; more.bound != nil {
				more.bound(p)
			}
		}
		out, err := jsonschema.For[Out](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[event.Event](): eventSchema(), reflect.TypeFor[json.RawMessage](): {Description: "any JSON"},
		}})
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.name, err)
		}
		definite(out)
		resolved, err := in.Resolve(nil)
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.name, err)
		}
		told := &rendering{}
		s.AddTool(&mcp.Tool{
			Name: t.name, Title: t.title, Description: t.says, Annotations: t.hints, InputSchema: in, OutputSchema: out,
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args In
			if err := arguments(t.name, resolved, r.Params.Arguments, &args); err != nil {
				return failed(err), nil
			}
			line, out, err := h(ctx, r, args)
			if err != nil {
				return failed(err), nil
			}
			return told.said(line, out)
		})
		return nil
	}
}

// definite takes null out of a schema where it never stands: a list is empty instead, and what may be left out is left out. There are
// clients that take no property of two types.
func definite(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		list, optional := slices.Contains(p.Types, "array"), !slices.Contains(s.Required, name)
		if slices.Contains(p.Types, "null") && (list || optional) {
			p.Types = slices.DeleteFunc(p.Types, func(t string) bool { return t == "null" })
			p.Type, p.Types = p.Types[0], nil
		}
		definite(p)
	}
	if s.Items != nil {
		definite(s.Items)
	}
}

// eventSchema is what all events have; each type has more.
func eventSchema() *jsonschema.Schema {
	text, number := &jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "integer"}
	return &jsonschema.Schema{
		Type: "object", Required: []string{"cursor", "type", "sessionKey", "timestamp"},
		Properties: map[string]*jsonschema.Schema{
			"cursor": number, "type": text, "sessionKey": text, "timestamp": number,
			"messageId": text, "role": text, "from": text, "name": text, "text": text, "attachments": number, "cutBytes": number,
			"edited": {Type: "boolean"}, "failed": {Type: "boolean"}, "turnId": text,
			"conversation": {Type: "object", Description: "of a message: where it was said"},
			"raw":          {Type: "object", Description: "of all others: what happened"},
		},
	}
}
