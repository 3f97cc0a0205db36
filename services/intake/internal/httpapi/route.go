package httpapi

import (
	"net/http"
	"strings"
)

// route is one entry of the API.
type route struct {
	method string
	before string // the path is before + argument + after
	after  string
	arg    bool // there is an argument
	public bool // no token
	stream bool // the answer does not end
	handle func(s *Server, w http.ResponseWriter, r *http.Request, who caller, arg string)
}

var table = []route{
	{method: http.MethodPost, before: "/v1/messages", handle: (*Server).postMessage},
	{method: http.MethodGet, before: "/v1/messages/", arg: true, after: "/reply", handle: (*Server).getReply},
	{method: http.MethodGet, before: "/v1/sessions/", arg: true, after: "/events", stream: true, handle: (*Server).getEvents},
	{method: http.MethodPost, before: "/v1/sessions/", arg: true, after: "/stop", handle: (*Server).postStop},
	{method: http.MethodPost, before: "/v1/sessions/", arg: true, after: "/control", handle: (*Server).postControl},
	{method: http.MethodGet, before: "/v1/approvals", handle: (*Server).getApprovals},
	{method: http.MethodGet, before: "/v1/approvals/", arg: true, handle: (*Server).getApproval},
	{method: http.MethodPost, before: "/v1/approvals/", arg: true, handle: (*Server).postApproval},
	{method: http.MethodGet, before: "/healthz", public: true, handle: (*Server).getHealth},
}

// find takes exact paths only: no cleaning, no redirects, and an argument is one segment. Without a route for the method
// it says which methods the path has; none: there is nothing.
func find(method, path string) (_ *route, arg string, allow []string) {
	for i := range table {
		rt := &table[i]
		a, ok := rt.match(path)
		switch {
		case !ok:
		case method == rt.method, method == http.MethodHead && rt.method == http.MethodGet && !rt.stream:
			return rt, a, nil
		default:
			allow = append(allow, rt.method)
		}
	}
	return nil, "", allow
}

func (rt *route) match(path string) (arg string, ok bool) {
	if !rt.arg {
		return "", path == rt.before
	}
	if arg, ok = strings.CutPrefix(path, rt.before); !ok {
		return "", false
	}
	if arg, ok = strings.CutSuffix(arg, rt.after); !ok || arg == "" || strings.Contains(arg, "/") {
		return "", false
	}
	return arg, true
}
