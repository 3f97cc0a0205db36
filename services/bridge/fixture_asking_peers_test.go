//go:build peers

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addQuestions adds tools that ask the client something while they run, as versions of the protocol with sessions allow.
func addQuestions(s *mcp.Server) {
	addFixtureWith(s, "test_sampling", fixtureSchema("prompt"), func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.CreateMessage(ctx, askModel(fixtureArgument(r, "prompt"))) //nolint:staticcheck // deprecated, and asked for
		if err != nil {
			return nil, err
		}
		c, ok := res.Content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("%T instead of a text", res.Content)
		}
		return answered("LLM response: %s", c.Text), nil
	})
	elicit := func(ctx context.Context, r *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, err
		}
		return answered("Elicitation result: action=%s, content=%v", res.Action, res.Content), nil
	}
	addFixtureWith(s, "test_elicitation", fixtureSchema("message"), func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, fixtureArgument(r, "message"), fixtureForm("username"))
	})
	addFixture(s, "test_elicitation_sep1034_defaults", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, "defaults", `{"type": "object", "properties": {
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}}}`)
	})
	addFixture(s, "test_elicitation_sep1330_enums", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		const titled = `[{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}, {"const": "value3", "title": "Third"}]`
		return elicit(ctx, r, "enums", `{"type": "object", "properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": `+titled+`},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
			"untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": `+titled+`}}}}`)
	})
	addFixture(s, "test_missing_capability", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil { //nolint:staticcheck // deprecated, and asked for
			return answered("it can sample"), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
			RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}, //nolint:staticcheck // deprecated, and asked for
		})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "it cannot sample", Data: data}
	})
}

// fixtureSchema is of a tool with one argument, fixtureForm of one text that a person is asked for: they look the same.
func fixtureSchema(name string) json.RawMessage { return json.RawMessage(fixtureForm(name)) }

func fixtureForm(name string) string {
	return fmt.Sprintf(`{"type": "object", "properties": {%[1]q: {"type": "string"}}, "required": [%[1]q]}`, name)
}

func fixtureArgument(r *mcp.CallToolRequest, name string) string {
	var args map[string]string
	_ = json.Unmarshal(r.Params.Arguments, &args) // its schema was checked
	return args[name]
}

func askModel(text string) *mcp.CreateMessageParams { //nolint:staticcheck // deprecated, and asked for
	return &mcp.CreateMessageParams{ //nolint:staticcheck // as above
		MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}, //nolint:staticcheck // as above
	}
}

// askFirst is how a tool asks without sessions (SEP-2322): its result says what it needs, and the client calls it again with that.
func askFirst(state string, asked mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: asked, RequestState: state}
}

func askPerson(name string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: "Your " + name + "?", RequestedSchema: json.RawMessage(fixtureForm(name))}
}

// personSaid is what a person has written into a field of the form with that key.
func personSaid(in mcp.InputResponseMap, key, field string) (string, bool) {
	res, ok := in[key].(*mcp.ElicitResult)
	if !ok || res == nil || res.Action != "accept" {
		return "", false
	}
	text, _ := res.Content[field].(string)
	return text, text != ""
}

func modelSaid(in mcp.InputResponseMap, key string) bool {
	res, ok := in[key].(*mcp.CreateMessageWithToolsResult) //nolint:staticcheck // deprecated, and asked for
	return ok && res != nil
}

func rootsSaid(in mcp.InputResponseMap, key string) bool {
	res, ok := in[key].(*mcp.ListRootsResult) //nolint:staticcheck // deprecated, and asked for
	return ok && res != nil
}

// askRound is what one more call of such a tool leads to.
type askRound func(in mcp.InputResponseMap, state string, can *mcp.ClientCapabilities) (*mcp.CallToolResult, error)

func addRounds(s *mcp.Server) {
	roots := &mcp.ListRootsParams{} //nolint:staticcheck // deprecated, and asked for
	all := mcp.InputRequestMap{"user_name": askPerson("name"), "greeting": askModel("Greet."), "client_roots": roots}
	for name, do := range map[string]askRound{
		"elicitation": func(in mcp.InputResponseMap, _ string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if name, ok := personSaid(in, "user_name", "name"); ok {
				return answered("Hello, %s!", name), nil
			}
			return askFirst("", mcp.InputRequestMap{"user_name": askPerson("name")}), nil
		},
		"sampling": func(in mcp.InputResponseMap, _ string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if modelSaid(in, "capital_question") {
				return answered("sampled"), nil
			}
			return askFirst("", mcp.InputRequestMap{"capital_question": askModel("What is the capital of France?")}), nil
		},
		"list_roots": func(in mcp.InputResponseMap, _ string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if rootsSaid(in, "client_roots") {
				return answered("listed"), nil
			}
			return askFirst("", mcp.InputRequestMap{"client_roots": roots}), nil
		},
		"multiple_inputs": func(in mcp.InputResponseMap, _ string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if name, ok := personSaid(in, "user_name", "name"); ok && modelSaid(in, "greeting") && rootsSaid(in, "client_roots") {
				return answered("Hello, %s!", name), nil
			}
			return askFirst("all", all), nil
		},
		"multi_round":    askTwice,
		"request_state":  askSealed,
		"tampered_state": askSealed,
		"capabilities": func(in mcp.InputResponseMap, _ string, can *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if asked := askable(all, can); len(in) == 0 && len(asked) > 0 {
				return askFirst("", asked), nil
			}
			return answered("all is known"), nil
		},
	} {
		addFixture(s, "test_input_required_result_"+name, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return do(r.Params.InputResponses, r.Params.RequestState, r.ClientCapabilities())
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "asks"}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if text, ok := personSaid(r.Params.InputResponses, "user_context", "context"); ok {
			return fixturePrompt(&mcp.TextContent{Text: text})(ctx, r)
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": askPerson("context")}}, nil
	})
}

// askable leaves out what a client cannot be asked for.
func askable(all mcp.InputRequestMap, can *mcp.ClientCapabilities) mcp.InputRequestMap {
	out := maps.Clone(all)
	if can == nil || can.Elicitation == nil {
		delete(out, "user_name")
	}
	if can == nil || can.Sampling == nil { //nolint:staticcheck // deprecated, and asked for
		delete(out, "greeting")
	}
	if can == nil || can.RootsV2 == nil { //nolint:staticcheck // deprecated, and asked for
		delete(out, "client_roots")
	}
	return out
}

// askTwice asks twice; the state carries what the first answer was.
func askTwice(in mcp.InputResponseMap, state string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	name, ok := strings.CutPrefix(state, "name=")
	if ok {
		colour, _ := personSaid(in, "step2", "color")
		return answered("%s likes %s", name, colour), nil
	}
	if name, ok = personSaid(in, "step1", "name"); ok {
		return askFirst("name="+name, mcp.InputRequestMap{"step2": askPerson("color")}), nil
	}
	return askFirst("first", mcp.InputRequestMap{"step1": askPerson("name")}), nil
}

// askSealed knows its own state again: the suite changes it.
func askSealed(in mcp.InputResponseMap, state string, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	const own = "sealed"
	if state != "" && state != own {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this is not the state that was given out"}
	}
	if in["confirm"] != nil && state == own {
		return answered("state-ok"), nil
	}
	return askFirst(own, mcp.InputRequestMap{"confirm": &mcp.ElicitParams{
		Message: "Sure?", RequestedSchema: json.RawMessage(`{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}`),
	}}), nil
}
