package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// oauthSite is an MCP server that wants a token, and the authorization server that gives one for the code "good" to whoever has begun
// the login.
type oauthSite struct {
	*httptest.Server
	challenge chan string // of the login that the browser was sent to
}

const (
	goodCode   = "good"
	givenToken = "token-Zq7x9fK2mW4tR8vB1nL6"
)

func newOAuthSite(t *testing.T) *oauthSite {
	t.Helper()
	site := &oauthSite{challenge: make(chan string, 1)}
	mux := http.NewServeMux()
	tell := func(path string, status int, body func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFakeMCP() }, nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+givenToken {
			served.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+site.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	tell("/.well-known/oauth-protected-resource/mcp", http.StatusOK, func() map[string]any {
		return map[string]any{"resource": site.URL + "/mcp", "authorization_servers": []string{site.URL}}
	})
	tell("/.well-known/oauth-authorization-server", http.StatusOK, func() map[string]any {
		return map[string]any{
			"issuer": site.URL, "authorization_endpoint": site.URL + "/authorize", "token_endpoint": site.URL + "/token",
			"registration_endpoint": site.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		}
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		answer, status := map[string]any{"error": "invalid_grant"}, http.StatusBadRequest
		if r.FormValue("code") == goodCode && base64.RawURLEncoding.EncodeToString(sum[:]) == <-site.challenge {
			answer = map[string]any{"access_token": givenToken, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "fresh-Zq7x9fK2mW4"}
			status = http.StatusOK
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	})
	site.Server = httptest.NewServer(mux)
	t.Cleanup(site.Close)
	return site
}

// opened is what a browser learns from the address that login prints.
func (site *oauthSite) opened(t *testing.T, stdout string) (back, state string) {
	t.Helper()
	line, _, _ := strings.Cut(stdout, "\n")
	u, err := url.Parse(line)
	if err != nil || !strings.HasPrefix(line, site.URL+"/authorize?") {
		t.Fatalf("%q: %v", line, err)
	}
	site.challenge <- u.Query().Get("code_challenge")
	return u.Query().Get("redirect_uri"), u.Query().Get("state")
}

func (u *user) authState(name string) string {
	u.t.Helper()
	e := u.mcpStatus()[name]
	if e.AuthStatus == nil {
		u.t.Fatalf("no state of %s", name)
	}
	return e.AuthStatus.State
}

func TestMCPLogin(t *testing.T) {
	t.Parallel()
	site := newOAuthSite(t)
	u := newUser(t, "mcp: {servers: {docs: {url: \""+site.URL+"/mcp\", auth: oauth}}}\n")

	login := u.command("mcp", "login", "docs")
	out, said := newWatched(), newWatched()
	login.Stdout, login.Stderr = out, said
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- login.Wait()
		said.close()
	}()
	said.waitFor(t, "jetclaw mcp login docs --code")
	back, state := site.opened(t, out.waitFor(t, "\n"))
	if status, _ := browse(t, "GET", back+"?code="+goodCode+"&state=wrong"); status != http.StatusBadRequest {
		t.Errorf("another login's answer: HTTP %d", status)
	}
	if got := u.authState("docs"); got != "login-pending" {
		t.Errorf("while it waits: %s", got)
	}
	if status, page := browse(t, "GET", back+"?code="+goodCode+"&state="+state); status != http.StatusOK {
		t.Errorf("HTTP %d %s", status, page)
	}
	if code := codeOf(t, <-ended); code != 0 || !strings.Contains(out.String(), `MCP server "docs" is authorized.`) {
		t.Fatalf("exit %d\n%s%s", code, out, said)
	}
	if got := u.authState("docs"); got != "authorized" {
		t.Error(got)
	}
	r := u.run("mcp", "probe", "docs")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "- docs: 3 tools, resources, approval prompt\n") {
		t.Error(r.stdout)
	}
	if found, code := u.issues("docs", "--probe"); code != 0 || len(found) > 0 {
		t.Errorf("exit %d, %q", code, found)
	}
	r = u.run("mcp", "logout", "docs")
	r.want(t, 0)
	if r.stdout != "MCP OAuth credentials cleared for \"docs\".\n" {
		t.Errorf("%q", r.stdout)
	}
	if got := u.authState("docs"); got != "authorization-required" {
		t.Error(got)
	}
	for _, text := range []string{"token-Zq7", "fresh-Zq7", goodCode + "&"} {
		if strings.Contains(said.String()+out.String(), text) {
			t.Errorf("%s is told", text)
		}
	}
}

// TestMCPLoginByHand interrupts a login and ends it with the address that the browser has ended at.
func TestMCPLoginByHand(t *testing.T) {
	t.Parallel()
	site := newOAuthSite(t)
	u := newUser(t, "mcp: {servers: {docs: {url: \""+site.URL+"/mcp\", auth: oauth}}}\n")
	u.run("mcp", "login", "docs", "--code", goodCode).want(t, 1)

	login := u.command("mcp", "login", "docs", "--no-browser")
	out, said := newWatched(), newWatched()
	login.Stdout, login.Stderr = out, said
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	said.waitFor(t, "jetclaw mcp login docs --code")
	if err := login.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := codeOf(t, login.Wait()); code != exitInterrupted {
		t.Errorf("interrupted: exit %d\n%s", code, said)
	}
	back, state := site.opened(t, out.waitFor(t, "\n"))
	r := u.run("mcp", "login", "docs", "--code", back+"?code="+goodCode+"&state="+state)
	r.want(t, 0)
	if got := u.authState("docs"); got != "authorized" {
		t.Error(got)
	}
}
