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
	public bool // no token
	stream bool // the answer does not end
	handle func(s *Server, w http.ResponseWriter, r *http.Request, who caller, arg string)
}

var table = []route{
	{method: http.MethodPost, before: "/v1/messages", handle: (*Server).postMessage},
	{method: http.MethodGet, before: "/v1/messages/", after: "/reply", handle: (*Server).getReply},
	{method: http.MethodGet, before: "/v1/sessions/", after: "/events", stream: true, handle: (*Server).getEvents},
	{method: http.MethodPost, before: "/v1/sessions/", after: "/stop", handle: (*Server).postStop},
	{method: http.MethodPost, before: "/v1/sessions/", after: "/control", handle: (*Server).postControl},
	{method: http.MethodGet, before: "/healthz", public: true, handle: (*Server).getHealth},
}

// find takes exact paths only: no cleaning, no redirects, and an argument is one segment.
func find(path string) (*route, string) {
	for i := range table {
		rt := &table[i]
		if rt.after == "" {
			if path == rt.before {
				return rt, ""
			}
			continue
		}
		arg, ok := strings.CutPrefix(path, rt.before)
		if !ok {
			continue
		}
		if arg, ok = strings.CutSuffix(arg, rt.after); ok && arg != "" && !strings.Contains(arg, "/") {
			return rt, arg
		}
	}
	return nil, ""
}
