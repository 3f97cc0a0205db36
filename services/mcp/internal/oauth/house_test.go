package oauth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// house is an MCP server, as far as this package sees it.
type house struct {
	t    *testing.T
	as   *authority
	http *httptest.Server

	// What it is like; set before it is asked.
	challenge bool   // its refusals name its metadata
	at        string // where the metadata is; "" nowhere
	resource  string // what it calls itself, after its origin
	scope     string // in its refusals
	supported []string
	issuer    string // "" that of as

	mu    sync.Mutex
	needs string        // guarded by mu; a scope that calls are refused for
	heads []http.Header // guarded by mu; of all requests
}

const prmPath = "/.well-known/oauth-protected-resource"

func newHouse(t *testing.T, as *authority) *house {
	h := &house{t: t, as: as, challenge: true, at: prmPath + "/mcp", resource: "/mcp"}
	h.http = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.http.Close)
	return h
}

func (h *house) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	needs := h.needs
	h.heads = append(h.heads, r.Header.Clone())
	h.mu.Unlock()
	switch {
	case r.URL.Path == "/mcp":
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		c := []string{`realm="docs, all of them"`}
		if h.challenge && h.at != "" {
			c = append(c, fmt.Sprintf("resource_metadata=%q", h.http.URL+h.at))
		}
		switch {
		case !h.as.good(token):
			if h.scope != "" {
				c = append(c, fmt.Sprintf("scope=%q", h.scope))
			}
			if token != "" {
				c = append(c, `error="invalid_token"`)
			}
			w.Header().Set("WWW-Authenticate", "Bearer "+strings.Join(c, ", "))
			w.WriteHeader(http.StatusUnauthorized)
		case needs != "":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q", "insufficient_scope", needs))
			w.WriteHeader(http.StatusForbidden)
		}
	case h.at != "" && r.URL.Path == h.at:
		issuer := h.issuer
		if issuer == "" {
			issuer = h.as.http.URL
		}
		answerJSON(w, http.StatusOK, map[string]any{
			"resource": h.http.URL + h.resource, "authorization_servers": []string{issuer}, "scopes_supported": h.supported,
		})
	default:
		if h.at == "" { // its own authorization server, as in 2025-03-26
			h.as.http.Config.Handler.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}
}

func (h *house) need(scope string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needs = scope
}

func (h *house) call(authorization string) (status int, challenge string) {
	req, err := http.NewRequest(http.MethodPost, h.http.URL+"/mcp", strings.NewReader("{}"))
	if err != nil {
		h.t.Error(err)
		return 0, ""
	}
	req.Header.Set("Authorization", authorization)
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		h.t.Error(err)
		return 0, ""
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate")
}
