package web

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web/egress"
)

// Options say what the tools may do. The zero value fetches from the public internet and does not search.
type Options struct {
	Search    Search
	UserAgent string         // of web_fetch and web_search; "" is jetclaw
	Allow     []netip.Prefix // private ranges that web_fetch may read from
}

const (
	fetchTimeout  = 30 * time.Second // what the tool itself allows; its call's limit lies above
	searchTimeout = 15 * time.Second
	slack         = 10 * time.Second
	defaultAgent  = "jetclaw"
)

// Tools are web_fetch and, with a provider, web_search.
func Tools(o Options) ([]tool.Tool, error) {
	if strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, errors.New("the user agent holds a control character or one beyond ASCII")
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultAgent
	}
	policy, err := egress.NewPolicy(o.Allow)
	if err != nil {
		return nil, err
	}
	f := newFetcher(o.UserAgent, &egress.Dialer{Policy: policy, Budget: maxWire}, nil)
	tools := []tool.Tool{{Tool: fetchTool(), Run: f.run}}
	s, err := newSearcher(o.Search, o.UserAgent)
	if err != nil {
		return nil, err
	}
	if s != nil {
		tools = append(tools, tool.Tool{Tool: searchTool(), Run: s.run})
	}
	return tools, nil
}

func fetchTool() toolv1.Tool {
	return toolv1.Tool{
		Name: "web_fetch",
		Description: "Read a web page: HTML comes as Markdown, text and JSON as they are. Public http and https addresses only. " +
			"A long page comes in parts; go on with the offset that the result names.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"url":{"type":"string","description":"address of the page, with http:// or https://","minLength":1,"maxLength":8192},` +
			`"offset":{"type":"integer","description":"bytes of the page's text to leave out, to go on after a part","minimum":0}` +
			`},"required":["url"],"additionalProperties":false}`),
		Level: toolv1.L0, Egress: toolv1.Chosen, Again: true, Untrusted: true,
		Timeout: fetchTimeout + slack, Fixes: []string{"url"},
	}
}

func searchTool() toolv1.Tool {
	return toolv1.Tool{
		Name:        "web_search",
		Description: "Search the web. Returns titles, addresses and snippets; read a page with web_fetch.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"what to look for","minLength":1,"maxLength":400},` +
			`"count":{"type":"integer","description":"how many results, 5 if left out","minimum":1,"maximum":10},` +
			`"freshness":{"type":"string","enum":["day","week","month","year"],"description":"only pages of the last day, week, month or year"}` +
			`},"required":["query"],"additionalProperties":false}`),
		Level: toolv1.L0, Egress: toolv1.Fixed, Again: true, Untrusted: true,
		Timeout: searchTimeout + slack,
	}
}
