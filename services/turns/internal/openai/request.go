package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// request is the body of POST /chat/completions, as far as it is used here. It is encoded in one pass: a conversation of
// hundreds of messages goes over the wire with each call.
type request struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	Tools               []tool    `json:"tools,omitempty"`
	MaxTokens           int       `json:"max_tokens,omitempty"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitempty"`
	Stream              bool      `json:"stream"`
	StreamOptions       options   `json:"stream_options"`
}

type options struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       turn.Role  `json:"role"`
	Content    any        `json:"content,omitempty"` // nil, *string or []part
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// part is one of several things that a message holds: a text or a picture.
type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

// imageURL has the picture in itself: a provider fetches nothing.
type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

const functionType = "function"

// noParameters is the schema of a tool without arguments.
const noParameters = `{"type":"object","properties":{}}`

func (c *Client) request(r model.Request) request {
	req := request{
		Model: c.Model(), Stream: true, StreamOptions: options{IncludeUsage: true},
		Messages: make([]message, 0, len(r.Messages)),
	}
	if c.newer() {
		req.MaxCompletionTokens = r.MaxOutput
	} else {
		req.MaxTokens = r.MaxOutput
	}
	for i, m := range r.Messages {
		if m.Text == "" && len(m.Calls)+len(m.Images) == 0 {
			continue // a message without content is refused
		}
		out := message{Role: m.Role, ToolCallID: m.Call}
		switch {
		case len(m.Images) > 0:
			out.Content = parts(m)
		case m.Text != "":
			out.Content = &r.Messages[i].Text // a pointer: as a string in an interface, each would be copied
		}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID: call.ID, Type: functionType, Function: functionCall{Name: call.Tool, Arguments: call.Arguments},
			})
		}
		req.Messages = append(req.Messages, out)
	}
	for _, t := range r.Tools {
		f := function{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if t.Parameters == nil {
			f.Parameters = json.RawMessage(noParameters)
		}
		req.Tools = append(req.Tools, tool{Type: functionType, Function: f})
	}
	return req
}

// parts are the text of a message, and its pictures.
func parts(m model.Message) []part {
	var list []part
	if m.Text != "" {
		list = append(list, part{Type: "text", Text: m.Text})
	}
	for _, p := range m.Images {
		list = append(list, part{Type: "image_url", ImageURL: &imageURL{
			URL: "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data),
		}})
	}
	return list
}

// newer says whether the limit of an answer goes by its newer name, max_completion_tokens: OpenAI's models that think
// refuse the older one, wherever they are served; many imitations know the older one only.
func (c *Client) newer() bool {
	u, err := url.Parse(c.Endpoint())
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") {
		return true
	}
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if rest, ok := strings.CutPrefix(c.Model(), family); ok && (rest == "" || strings.ContainsAny(rest[:1], "-.")) {
			return true
		}
	}
	return false
}
