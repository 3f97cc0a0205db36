package app

import (
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/mcp"
)

// HomeKey is one file among the keys of a home.
type HomeKey struct {
	File   string   `json:"file"`
	For    []string `json:"for"`    // who needs it: services, and users of the bus that are none
	Public bool     `json:"public"` // nothing is lost when others read it
	What   string   `json:"what"`
}

// MakeKeys makes all keys of the home that are missing, also those that a part makes at its first start: who gives each process
// its own keys, and no others, needs them before. It says which there are.
func (e Env) MakeKeys() ([]HomeKey, error) {
	if err := e.Home.Create(); err != nil {
		return nil, err
	}
	if _, err := e.keysOf(userNames()); err != nil {
		return nil, err
	}
	if _, err := e.Home.ApprovalKey(); err != nil {
		return nil, &CredsError{err}
	}
	if _, err := e.Home.MCPIdentity(mcp.NewIdentity); err != nil {
		return nil, &CredsError{err}
	}
	if _, err := e.Home.Token(); err != nil {
		return nil, &CredsError{err}
	}
	list := []HomeKey{
		{File: "approvals.key", For: []string{approval.Service}, What: "signs what people decide"},
		{File: "approvals.pub", For: []string{approval.Service, builtin.Executor, mcp.Name}, Public: true, What: "checks those signatures"},
		{File: "http.token", For: []string{"intake"}, What: "lets programs in over HTTP"},
		{File: "mcp.age", For: []string{mcp.Name}, What: "decrypts credentials of MCP servers"},
	}
	for _, user := range userNames() {
		what := "its user on the bus"
		if user == bus.Admin {
			what = "owns streams and consumers: for jetclaw topology apply"
		}
		list = append(list, HomeKey{File: user + ".nk", For: []string{user}, What: what})
	}
	slices.SortFunc(list, func(a, b HomeKey) int { return strings.Compare(a.File, b.File) })
	return list, nil
}
