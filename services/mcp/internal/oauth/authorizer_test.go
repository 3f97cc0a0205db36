package oauth

import (
	"net/http"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func TestNobodyHasLoggedIn(t *testing.T) {
	r := newRig(t)
	_, err := r.Authorizer("docs", r.d).Authorization(t.Context())
	needsLogin(t, err)
	if s := r.status(); s != (Status{RequiresAuthorization: true, State: AuthorizationRequired, Reason: "nobody has logged in"}) {
		t.Errorf("status %+v", s)
	}
	_, err = r.Authorizer("docs", r.d).Refused(t.Context(), http.StatusUnauthorized, "")
	needsLogin(t, err)
}

// TestStepUp: a refusal for want of scope asks for a login, does not refresh, and does not take the tokens away.
func TestStepUp(t *testing.T) {
	r := newRig(t)
	r.d.OAuth = &definition.OAuth{Scope: "docs.read"}
	r.login()
	a := r.Authorizer("docs", r.d)
	r.mcp.need("docs.write docs.admin")
	for range 2 {
		_, err := r.call(a)
		needsLogin(t, err)
		if !strings.Contains(err.Error(), `"docs.write docs.admin"`) {
			t.Errorf("error %v", err)
		}
	}
	if n := len(r.as.uses()); n != 0 {
		t.Errorf("%d refreshes", n)
	}
	if s := r.status(); s.State != ScopeRequired || !s.RequiresAuthorization || !s.HasTokens || s.Scope != "docs.read" {
		t.Errorf("status %+v", s)
	}
	r.mcp.need("")
	r.works(a) // what needs no more scope
	r.login()
	if got := r.as.lastAsked().Get("scope"); got != "docs.read docs.write docs.admin" {
		t.Errorf("scope %q", got)
	}
	if s := r.status(); s.State != Authorized || s.Scope != "docs.read docs.write docs.admin" {
		t.Errorf("status %+v", s)
	}
}

func TestOtherRefusals(t *testing.T) {
	r := newRig(t)
	r.login()
	a := r.Authorizer("docs", r.d)
	r.works(a)
	for _, c := range []struct {
		status    int
		challenge string
	}{
		{http.StatusForbidden, ""},
		{http.StatusForbidden, `Bearer error="invalid_token"`},
		{http.StatusForbidden, `Basic error="insufficient_scope"`},
		{http.StatusForbidden, `Bearer error="insufficient_scope`},
		{http.StatusInternalServerError, "Bearer"},
	} {
		if retry, err := a.Refused(t.Context(), c.status, c.challenge); retry || err != nil {
			t.Errorf("%d %s: retry %v, %v", c.status, c.challenge, retry, err)
		}
	}
	if s := r.status(); s.State != Authorized {
		t.Errorf("status %+v", s)
	}
	_, err := a.Refused(t.Context(), http.StatusForbidden, `Bearer error="insufficient_scope"`) // without saying which
	needsLogin(t, err)
	if s := r.status(); s.State != ScopeRequired {
		t.Errorf("status %+v", s)
	}
}

// TestAnotherURL: tokens go to nobody else, whatever the name is.
func TestAnotherURL(t *testing.T) {
	r := newRig(t)
	r.login()
	old := r.d
	other := newHouse(t, r.as)
	r.d.URL = other.http.URL + "/mcp"
	_, err := r.Authorizer("docs", r.d).Authorization(t.Context())
	needsLogin(t, err)
	if s := r.status(); s.HasTokens || s.State != AuthorizationRequired || s.Reason != "what is stored belongs to another URL" {
		t.Errorf("status %+v", s)
	}
	if _, err = r.Authorizer("docs", r.d).Refused(t.Context(), http.StatusForbidden, `Bearer error="insufficient_scope"`); err == nil {
		t.Error("no error")
	}
	r.works(r.Authorizer("docs", old))
	r.login()
	if _, err = r.Authorizer("docs", old).Authorization(t.Context()); err == nil {
		t.Error("the tokens of the new URL are given to the old one")
	}
	for _, same := range []string{strings.ToUpper(r.d.URL[:4]) + r.d.URL[4:], r.d.URL + "?k=v", r.d.URL + "#top"} {
		d := r.d
		d.URL = same
		if _, err := r.Authorizer("docs", d).Authorization(t.Context()); err != nil {
			t.Errorf("%s: %v", same, err)
		}
	}
}

func TestLogout(t *testing.T) {
	r := newRig(t)
	if err := r.Logout(t.Context(), "docs", r.d); err != nil || r.shelf.revs["docs"] != 0 {
		t.Errorf("without credentials: %v", err)
	}
	r.login()
	refresh := r.record().Tokens.Refresh
	r.d.Auth = ""
	if err := r.Logout(t.Context(), "docs", r.d); err != nil {
		t.Fatal(err)
	}
	if len(r.as.revoked) != 1 || r.as.revoked[0] != refresh || len(r.shelf.values["docs"]) != 0 {
		t.Errorf("revoked %v, stored %d bytes", r.as.revoked, len(r.shelf.values["docs"]))
	}
	_, err := r.Authorizer("docs", r.d).Authorization(t.Context())
	needsLogin(t, err)

	r.login()
	r.as.http.Close() // nobody is there to revoke
	if err := r.Logout(t.Context(), "docs", definition.Definition{URL: "https://elsewhere.example"}); err != nil || len(r.shelf.values["docs"]) != 0 {
		t.Errorf("logout without a server: %v", err)
	}
}
