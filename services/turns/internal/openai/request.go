package openai

import (
	"net/url"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

func (c *Client) request(r model.Request) api.ChatCompletionRequest {
	req := api.ChatCompletionRequest{
		Model: c.Model(), StreamOptions: &api.StreamOptions{IncludeUsage: true},
		Messages: make([]api.ChatCompletionMessage, 0, len(r.Messages)),
	}
	if c.official() {
		req.MaxCompletionTokens = r.MaxOutput
	} else {
		req.MaxTokens = r.MaxOutput //nolint:staticcheck // it is what most servers know
	}
	for _, m := range r.Messages {
		if m.Text == "" && len(m.Calls) == 0 {
			continue // a message without content is refused
		}
		out := api.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.Call}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, api.ToolCall{
				ID: call.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: call.Tool, Arguments: call.Arguments},
			})
		}
		req.Messages = append(req.Messages, out)
	}
	for _, t := range r.Tools {
		f := &api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if t.Parameters == nil {
			f.Parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		req.Tools = append(req.Tools, api.Tool{Type: api.ToolTypeFunction, Function: f})
	}
	return req
}

// official says whether the limit of an answer goes by its newer name. OpenAI's models that think refuse the older one,
// and so does the API client for them wherever they are; many imitations know the older one only.
func (c *Client) official() bool {
	u, err := url.Parse(c.Endpoint())
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") {
		return true
	}
	probe := api.ChatCompletionRequest{Model: c.Model(), MaxTokens: 1} //nolint:staticcheck // that it is refused is the question
	return api.NewReasoningValidator().Validate(probe) != nil
}
