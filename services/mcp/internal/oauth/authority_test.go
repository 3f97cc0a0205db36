package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// authority is an authorization server. It verifies PKCE, redirect URLs, resources and clients; its refresh tokens are good for one use.
type authority struct {
	t    *testing.T
	http *httptest.Server

	// What it is like; set before it is asked.
	oidc      bool // metadata at the place of OpenID Connect only
	bare      bool // no metadata at all
	noDCR     bool
	cimd      bool
	iss       bool // advertised and sent
	plain     bool // no S256
	methods   []string
	scopes    []string
	lifetime  int // of tokens, in seconds; 0: not said
	noRefresh bool
	// register answers in the place of the registration endpoint, if it returns true.
	register func(w http.ResponseWriter, r *http.Request) bool

	mu         sync.Mutex                                        // guards the rest
	token      func(w http.ResponseWriter, r *http.Request) bool // as register, for the token endpoint
	clients    map[string]registered
	codes      map[string]url.Values // the authorization requests
	refreshes  map[string]bool       // good ones
	access     map[string]bool       // good ones
	presented  []string              // refresh tokens, as they came
	revoked    []string
	registered []map[string]any
	asked      []url.Values // authorization requests
	secrets    []string
}

type registered struct{ secret, method string }

func newAuthority(t *testing.T) *authority {
	a := &authority{
		t: t, methods: []string{"none"}, lifetime: 3600,
		clients: map[string]registered{}, codes: map[string]url.Values{}, refreshes: map[string]bool{}, access: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) { a.metadata(w, r, !a.oidc) })
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) { a.metadata(w, r, a.oidc) })
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.serveToken)
	mux.HandleFunc("/register", a.serveRegister)
	mux.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.revoked = append(a.revoked, r.FormValue("token"))
	})
	a.http = httptest.NewServer(mux)
	t.Cleanup(a.http.Close)
	return a
}

func (a *authority) metadata(w http.ResponseWriter, r *http.Request, here bool) {
	if a.bare || !here {
		http.NotFound(w, r)
		return
	}
	m := map[string]any{
		"issuer": a.http.URL, "authorization_endpoint": a.http.URL + "/authorize", "token_endpoint": a.http.URL + "/token",
		"revocation_endpoint": a.http.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": a.methods, "client_id_metadata_document_supported": a.cimd,
		"authorization_response_iss_parameter_supported": a.iss, "scopes_supported": a.scopes,
	}
	if !a.noDCR {
		m["registration_endpoint"] = a.http.URL + "/register"
	}
	if a.plain {
		m["code_challenge_methods_supported"] = []string{"plain"}
	}
	answerJSON(w, http.StatusOK, m)
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *authority) deny(w http.ResponseWriter, code, why string) {
	answerJSON(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": why})
}

func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	a.asked = append(a.asked, q)
	if _, ok := a.clients[q.Get("client_id")]; !ok || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" {
		a.deny(w, "invalid_request", "unknown client or no PKCE")
		return
	}
	code := a.secret()
	a.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if a.iss {
		back.Set("iss", a.http.URL)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// approve opens the URL as a browser does and returns what comes back to the redirect URL.
func (a *authority) approve(raw string) url.Values {
	a.t.Helper()
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Get(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	to := resp.Header.Get("Location")
	if !strings.HasPrefix(to, callback+"?") {
		a.t.Fatalf("the authorization endpoint: status %d, location %q", resp.StatusCode, to)
	}
	return query(a.t, to)
}

func (a *authority) serveRegister(w http.ResponseWriter, r *http.Request) {
	if a.register != nil && a.register(w, r) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var m map[string]any
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		a.deny(w, "invalid_client_metadata", err.Error())
		return
	}
	a.registered = append(a.registered, m)
	method, _ := m["token_endpoint_auth_method"].(string)
	if method == "" {
		method = "client_secret_basic"
	}
	id, secret := fmt.Sprintf("client-%d", len(a.registered)), ""
	if method != "none" {
		secret = a.secret()
	}
	a.clients[id] = registered{secret, method}
	m["client_id"], m["token_endpoint_auth_method"] = id, method
	if secret != "" {
		m["client_secret"], m["client_secret_expires_at"] = secret, 0
	}
	answerJSON(w, http.StatusCreated, m)
}

// knows authenticates the client.
func (a *authority) knows(r *http.Request) (string, bool) {
	id, secret, method := r.PostFormValue("client_id"), r.PostFormValue("client_secret"), "client_secret_post"
	if u, p, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(u)
		secret, _ = url.QueryUnescape(p)
		method = "client_secret_basic"
	} else if secret == "" {
		method = "none"
	}
	c, ok := a.clients[id]
	return id, ok && c.secret == secret && c.method == method
}

func (a *authority) tokenBy(f func(w http.ResponseWriter, r *http.Request) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token = f
}

func (a *authority) serveToken(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	if t := r.PostFormValue("refresh_token"); t != "" {
		a.presented = append(a.presented, t)
	}
	token := a.token
	a.mu.Unlock()
	if token != nil && token(w, r) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.knows(r)
	if !ok {
		a.deny(w, "invalid_client", "who is that")
		return
	}
	scope := ""
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		q, ok := a.codes[r.PostFormValue("code")]
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || q.Get("client_id") != id || q.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
			q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || q.Get("resource") != r.PostFormValue("resource") {
			a.deny(w, "invalid_grant", "the code "+r.PostFormValue("code")+" is not good")
			return
		}
		delete(a.codes, r.PostFormValue("code"))
		scope = q.Get("scope")
	case "refresh_token":
		if !a.refreshes[r.PostFormValue("refresh_token")] || r.PostFormValue("resource") == "" {
			a.deny(w, "invalid_grant", "the token "+r.PostFormValue("refresh_token")+" was used")
			return
		}
		delete(a.refreshes, r.PostFormValue("refresh_token"))
	default:
		a.deny(w, "unsupported_grant_type", "")
		return
	}
	answerJSON(w, http.StatusOK, a.issue(scope))
}

// issue makes tokens. Its caller holds mu.
func (a *authority) issue(scope string) map[string]any {
	access, refresh := a.secret(), a.secret()
	a.access[access] = true
	m := map[string]any{"access_token": access, "token_type": "Bearer"}
	if !a.noRefresh {
		a.refreshes[refresh] = true
		m["refresh_token"] = refresh
	}
	if scope != "" {
		m["scope"] = scope
	}
	if a.lifetime > 0 {
		m["expires_in"] = a.lifetime
	}
	return m
}

// secret makes one. Its caller holds mu.
func (a *authority) secret() string {
	s := "s3cr3t-" + rand.Text()
	a.secrets = append(a.secrets, s)
	return s
}

func (a *authority) secretsSeen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.secrets)
}

// client registers one beforehand.
func (a *authority) client(id, secret, method string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[id] = registered{secret, method}
}

// endAccess makes all access tokens invalid.
func (a *authority) endAccess() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
}

func (a *authority) endRefresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.refreshes)
}

func (a *authority) uses() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.presented)
}

func (a *authority) good(access string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.access[access]
}

// lastAsked is the last authorization request.
func (a *authority) lastAsked() url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[len(a.asked)-1]
}
