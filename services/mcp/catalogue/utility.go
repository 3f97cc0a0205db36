package catalogue

import (
	"encoding/json"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// utilityTools are those with which a model reaches what is no tool of a server.
var utilityTools = []struct {
	kind   Kind
	about  string // before the name of the server
	schema string
}{
	{
		KindResourcesList, "Lists the resources (documents, data) that resources_read can read, and the templates of their addresses, of the MCP server ",
		`{"additionalProperties":false,"properties":{"cursor":{"description":"of the page before, when it names one","type":"string"}},"type":"object"}`,
	},
	{
		KindResourcesRead, "Reads one resource, by its address, of the MCP server ",
		`{"additionalProperties":false,"properties":{"uri":{"description":"address of the resource, as listed or made of a template","type":"string"}},` +
			`"required":["uri"],"type":"object"}`,
	},
	{
		KindPromptsList, "Lists the prompts (texts that the server has for certain tasks) that can be had with prompts_get, of the MCP server ",
		`{"additionalProperties":false,"properties":{"cursor":{"description":"of the page before, when it names one","type":"string"}},"type":"object"}`,
	},
	{
		KindPromptsGet, "Gets one prompt, filled with arguments, of the MCP server ",
		`{"additionalProperties":false,"properties":{"arguments":{"additionalProperties":{"type":"string"},` +
			`"description":"by name, as listed","type":"object"},"name":{"description":"name of the prompt, as listed","type":"string"}},` +
			`"required":["name"],"type":"object"}`,
	},
}

// utilities are the utility tools that a server has use for; their names are not set.
func utilities(server string, d definition.Definition, l Listing) []entry {
	var out []entry
	for _, u := range utilityTools {
		has := l.Prompts
		if u.kind == KindResourcesList || u.kind == KindResourcesRead {
			has = l.Resources
		}
		if !has {
			continue
		}
		e := entry{tool: governed(d, true), target: Target{Kind: u.kind}}
		e.tool.Description, e.tool.Schema = u.about+visible(server)+".", json.RawMessage(u.schema)
		out = append(out, e)
	}
	return out
}
