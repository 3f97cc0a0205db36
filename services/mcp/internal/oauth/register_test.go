package oauth

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func TestClients(t *testing.T) {
	const document = "https://jetclaw.example/client.json"
	for name, c := range map[string]struct {
		set    func(r *rig)
		client string
	}{
		"registered, public": {func(*rig) {}, "client-1"},
		"registered, secret in the form": {func(r *rig) {
			r.as.methods = []string{"client_secret_basic", "client_secret_post"}
		}, "client-1"},
		"registered, nothing said": {func(r *rig) { r.as.methods = nil }, "client-1"},
		"document": {func(r *rig) {
			r.as.cimd = true
			r.as.client(document, "", "none")
			r.d.OAuth = &definition.OAuth{ClientMetadataURL: document, ClientID: "mine"}
		}, document},
		"document that is not supported": {func(r *rig) {
			r.as.client("mine", "", "none")
			r.d.OAuth = &definition.OAuth{ClientMetadataURL: document, ClientID: "mine"}
		}, "mine"},
		"configured, secret in the header": {func(r *rig) {
			r.as.methods = []string{"client_secret_basic"}
			r.as.client("mine", "s3cr3t: mine", "client_secret_basic")
			r.d.OAuth = &definition.OAuth{ClientID: "mine", ClientSecret: "s3cr3t: mine"}
		}, "mine"},
		"configured, secret in the form": {func(r *rig) {
			r.as.methods = []string{"client_secret_basic", "client_secret_post"}
			r.as.client("mine", "s3cr3t", "client_secret_post")
			r.d.OAuth = &definition.OAuth{ClientID: "mine", ClientSecret: "s3cr3t"}
		}, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.set(r)
			r.login()
			if id := r.as.lastAsked().Get("client_id"); id != c.client {
				t.Errorf("client %q, want %q", id, c.client)
			}
			r.as.endAccess()
			r.works(r.Authorizer("docs", r.d)) // refreshes too
		})
	}
}

func TestRegistration(t *testing.T) {
	r := newRig(t)
	r.login()
	r.login()
	if len(r.as.registered) != 1 {
		t.Fatalf("%d registrations for two logins, want 1", len(r.as.registered))
	}
	if _, err := r.Begin(t.Context(), "docs", r.d, "http://127.0.0.1:7778/callback"); err != nil || len(r.as.registered) != 2 {
		t.Fatalf("%d registrations (%v), want one for each redirect URL", len(r.as.registered), err)
	}
	got, err := json.Marshal(r.as.registered[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"application_type":"native","client_id":"client-1","client_name":"jetclaw","grant_types":["authorization_code","refresh_token"],` +
		`"redirect_uris":["` + callback + `"],"response_types":["code"],"token_endpoint_auth_method":"none"}`
	if string(got) != want {
		t.Errorf("registered\n%s, want\n%s", got, want)
	}

	r = newRig(t)
	r.as.noDCR = true
	if _, err := r.Begin(t.Context(), "docs", r.d, callback); err == nil || !strings.Contains(err.Error(), "set oauth.clientId") {
		t.Errorf("without a registration: %v", err)
	}
	for body, want := range map[string]string{
		`{"error":"invalid_redirect_uri","error_description":"no loopback"}`: "invalid_redirect_uri (no loopback)",
		`<html>s3cr3t</html>`: "status 400",
	} {
		r = newRig(t)
		r.as.register = func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadRequest)
			w.Write([]byte(body))
			return true
		}
		_, err := r.Begin(t.Context(), "docs", r.d, callback)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "oauth.clientId") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("refused with %s: %v", body, err)
		}
	}
}

// TestTheIssuerIsChosen by the operator where a secret is sent: the MCP server does not get to name another.
func TestTheIssuerIsChosen(t *testing.T) {
	r := newRig(t)
	r.d.OAuth = &definition.OAuth{Issuer: "https://login.example.org"}
	if _, err := r.Begin(t.Context(), "docs", r.d, callback); err == nil || !strings.Contains(err.Error(), "oauth.issuer is login.example.org") {
		t.Errorf("another authorization server: %v", err)
	}
	if n := len(r.as.registered); n != 0 {
		t.Errorf("%d registrations there", n)
	}
}
