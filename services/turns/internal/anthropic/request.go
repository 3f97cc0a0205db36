package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// defaultMaxOutput is the length of an answer, in tokens, when the request names none: the API wants a limit.
const defaultMaxOutput = 8192

func (c *Client) request(r model.Request) api.MessageNewParams {
	req := api.MessageNewParams{Model: c.Model(), MaxTokens: defaultMaxOutput}
	if r.MaxOutput > 0 {
		req.MaxTokens = int64(r.MaxOutput)
	}
	var said []message
	for _, m := range r.Messages {
		if m.Role != turn.System {
			said = merge(said, m)
		} else if !blank(m.Text) {
			req.System = append(req.System, api.TextBlockParam{Text: m.Text})
		}
	}
	if n := len(req.System); n > 0 {
		req.System[n-1].CacheControl = api.NewCacheControlEphemeralParam()
	}
	if len(said) > 0 && said[0].assistant { // the API wants a person to begin
		req.Messages = append(req.Messages, api.NewUserMessage(api.NewTextBlock("(The beginning of this conversation is left out.)")))
	}
	for _, m := range said {
		if m.assistant {
			req.Messages = append(req.Messages, api.NewAssistantMessage(m.blocks...))
		} else {
			req.Messages = append(req.Messages, api.NewUserMessage(m.blocks...))
		}
	}
	for _, t := range r.Tools {
		tool := &api.ToolParam{Name: t.Name, InputSchema: param.Override[api.ToolInputSchemaParam](schema(t.Parameters))}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		req.Tools = append(req.Tools, api.ToolUnionParam{OfTool: tool})
	}
	if n := len(req.Tools); n > 0 {
		req.Tools[n-1].OfTool.CacheControl = api.NewCacheControlEphemeralParam()
	}
	return req
}

// message is one turn of the conversation as the API sees it: by a person, or by the model.
type message struct {
	assistant bool
	blocks    []api.ContentBlockParamUnion
}

// merge adds a message: to the last one when both have one role, as the roles take turns. The API refuses texts without
// anything to read, so they are left out. Results stand before texts.
func merge(to []message, m model.Message) []message {
	blocks := parts(m)
	if len(blocks) == 0 {
		return to
	}
	assistant := m.Role == turn.Assistant
	if len(to) == 0 || to[len(to)-1].assistant != assistant {
		return append(to, message{assistant, blocks})
	}
	last := &to[len(to)-1]
	at := len(last.blocks)
	for m.Role == turn.Tool && at > 0 && last.blocks[at-1].OfToolResult == nil {
		at--
	}
	last.blocks = slices.Insert(last.blocks, at, blocks...)
	return to
}

func parts(m model.Message) []api.ContentBlockParamUnion {
	var blocks []api.ContentBlockParamUnion
	if m.Role == turn.Tool {
		result := &api.ToolResultBlockParam{ToolUseID: m.Call}
		if !blank(m.Text) {
			result.Content = []api.ToolResultBlockParamContentUnion{{OfText: &api.TextBlockParam{Text: m.Text}}}
		}
		return []api.ContentBlockParamUnion{{OfToolResult: result}}
	}
	for _, p := range m.Images { // before the text that is about them, as the API's documentation advises
		blocks = append(blocks, api.NewImageBlockBase64(p.Type, base64.StdEncoding.EncodeToString(p.Data)))
	}
	if !blank(m.Text) {
		blocks = append(blocks, api.NewTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		blocks = append(blocks, api.NewToolUseBlock(call.ID, input(call.Arguments), call.Tool))
	}
	return blocks
}

// input is the arguments of a call, an object in any case.
func input(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(arguments)
}

// schema is a tool's schema as the API takes it: of type object, without a choice of schemas at its top. One tool that
// it does not like spoils the whole request.
func schema(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{"properties": json.RawMessage(`{}`)}
	}
	fields["type"] = json.RawMessage(`"object"`)
	for _, choice := range []string{"oneOf", "anyOf", "allOf"} {
		delete(fields, choice)
	}
	out, err := json.Marshal(fields) // sorted: the same bytes each time, for the cache
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
