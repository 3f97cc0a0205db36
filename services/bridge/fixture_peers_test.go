//go:build peers

package bridge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixtures are the tools, resources and prompts that the conformance suite calls by name: it knows nothing of conversations. They
// stand beside the bridge's own, and pass through the same transport, middleware and guard.
func fixtures(b *Bridge) *extension {
	return &extension{
		options: func(o *mcp.ServerOptions) {
			o.Capabilities.Tools, o.Capabilities.Prompts = nil, nil // those that the SDK infers: the fixtures come and go
			o.Capabilities.Logging = &mcp.LoggingCapabilities{}     //nolint:staticcheck // the suite asks for what is deprecated, too
			o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
			}
			o.SubscribeHandler = func(ctx context.Context, r *mcp.SubscribeRequest) error {
				if r.Params.URI == fixtureWatched {
					return nil
				}
				return b.subscribe(ctx, r)
			}
		},
		server: func(s *mcp.Server) {
			addContents(s)
			addNews(s)
			addResources(s)
			addPrompts(s)
			addQuestions(s)
			addRounds(s)
		},
	}
}

const fixtureWatched = "test://watched-resource"

// fixtureTool is a fixture's tool that takes what it likes of the request itself.
type fixtureTool func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

func addFixture(s *mcp.Server, name string, do fixtureTool) { addFixtureWith(s, name, nil, do) }

func addFixtureWith(s *mcp.Server, name string, schema json.RawMessage, do fixtureTool) {
	t := &mcp.Tool{Name: name, Description: "A fixture of the conformance suite."}
	if schema != nil {
		t.InputSchema = schema
	}
	mcp.AddTool(s, t, func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		res, err := do(ctx, r)
		return res, nil, err
	})
}

func answered(format string, args ...any) *mcp.CallToolResult {
	return answeredWith(&mcp.TextContent{Text: fmt.Sprintf(format, args...)})
}

func answeredWith(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

// answers is a tool that has one answer.
func answers(c ...mcp.Content) fixtureTool {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return answeredWith(c...), nil
	}
}

// The smallest files of their kinds: a red dot, and silence.
const (
	fixtureDot     = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	fixtureSilence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func fixtureBytes(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func fixtureImage() *mcp.ImageContent {
	return &mcp.ImageContent{Data: fixtureBytes(fixtureDot), MIMEType: "image/png"}
}

func fixtureEmbedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "a text that is embedded"}}
}

// addContents adds a tool for each kind of content.
func addContents(s *mcp.Server) {
	addFixture(s, "test_simple_text", answers(&mcp.TextContent{Text: "This is a simple text response for testing."}))
	addFixture(s, "test_image_content", answers(fixtureImage()))
	addFixture(s, "test_audio_content", answers(&mcp.AudioContent{Data: fixtureBytes(fixtureSilence), MIMEType: "audio/wav"}))
	addFixture(s, "test_embedded_resource", answers(fixtureEmbedded("test://embedded-resource")))
	addFixture(s, "test_multiple_content_types", answers(&mcp.TextContent{Text: "several"}, fixtureImage(), fixtureEmbedded("test://mixed-content-resource")))
	addFixture(s, "test_streaming_elicitation", answers(&mcp.TextContent{Text: "nothing is asked"}))
	addFixture(s, "test_error_handling", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	addFixtureWith(s, "json_schema_2020_12_tool", json.RawMessage(schema2020), answers(&mcp.TextContent{Text: "called"}))
	addFixtureWith(s, "test_x_mcp_header", json.RawMessage(`{"type": "object", "properties": {
		"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`),
		answers(&mcp.TextContent{Text: "called"}))
}

// schema2020 has the words of JSON Schema 2020-12 that have to come through a listing as they are.
const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {
		"$anchor": "addressDef", "type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
	}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// addNews adds tools during which the server speaks: logs, progress, changed lists, a stream that it closes.
func addNews(s *mcp.Server) {
	logging := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil { //nolint:staticcheck // deprecated, and asked for
				return nil, err
			}
		}
		return answered("logged"), nil
	}
	addFixture(s, "test_tool_with_logging", logging)
	addFixture(s, "test_logging_tool", logging)
	addFixture(s, "test_tool_with_progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
				return nil, err
			}
		}
		return answered("%v", token), nil
	})
	addFixture(s, "test_reconnection", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{})
		}
		return answered("closed"), nil
	})
	addFixture(s, "test_trigger_tool_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addFixture(s, "test_transient", answers())
		return answered("the list of tools has changed"), nil
	})
	addFixture(s, "test_trigger_prompt_change", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(&mcp.Prompt{Name: "test_transient", Description: "transient"}, fixturePrompt(&mcp.TextContent{Text: "transient"}))
		return answered("the list of prompts has changed"), nil
	})
}

func addResources(s *mcp.Server) {
	add := func(name, kind string, contents mcp.ResourceContents) {
		uri := "test://" + name
		s.AddResource(&mcp.Resource{Name: name, URI: uri, MIMEType: kind}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c := contents
			c.URI, c.MIMEType = uri, kind
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		})
	}
	add("static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("static-binary", "image/png", mcp.ResourceContents{Blob: fixtureBytes(fixtureDot)})
	add(strings.TrimPrefix(fixtureWatched, "test://"), "text/plain", mcp.ResourceContents{Text: "fixtureWatched"})
	t := &mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}
	s.AddResourceTemplate(t, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		text, err := json.Marshal(map[string]string{"id": id})
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: t.MIMEType, Text: string(text)}}}, err
	})
}

func fixturePrompt(c ...mcp.Content) mcp.PromptHandler {
	res := &mcp.GetPromptResult{}
	for _, c := range c {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return res, nil }
}

func addPrompts(s *mcp.Server) {
	required := func(names ...string) (out []*mcp.PromptArgument) {
		for _, n := range names {
			out = append(out, &mcp.PromptArgument{Name: n, Description: "a fixture's argument", Required: true})
		}
		return out
	}
	s.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "a text"}, fixturePrompt(&mcp.TextContent{Text: "a simple prompt"}))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "an image"}, fixturePrompt(fixtureImage(), &mcp.TextContent{Text: "what is it?"}))
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "what it is given", Arguments: required("arg1", "arg2")},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := r.Params.Arguments
			text := fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "a resource", Arguments: required("resourceUri")},
		func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return fixturePrompt(fixtureEmbedded(r.Params.Arguments["resourceUri"]), &mcp.TextContent{Text: "read it"})(ctx, r)
		})
}
