package oauth

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// TestLoginFindsTheWay logs in at servers that say in different ways where their authorization server is.
func TestLoginFindsTheWay(t *testing.T) {
	for name, set := range map[string]func(r *rig){
		"the refusal names the metadata":       func(r *rig) { r.mcp.at = "/some/where" },
		"at the path":                          func(r *rig) { r.mcp.challenge = false },
		"at the root":                          func(r *rig) { r.mcp.challenge, r.mcp.at, r.mcp.resource = false, prmPath, "" },
		"at the root, with a slash":            func(r *rig) { r.mcp.challenge, r.mcp.at, r.mcp.resource = false, prmPath, "/" },
		"with a slash at the end":              func(r *rig) { r.mcp.resource = "/mcp/" },
		"the origin, named by the refusal":     func(r *rig) { r.mcp.resource = "" },
		"OpenID Connect":                       func(r *rig) { r.as.oidc = true },
		"no metadata of the server":            func(r *rig) { r.mcp.at = ""; r.as.http.URL = r.mcp.http.URL },
		"no metadata at all":                   func(r *rig) { r.mcp.at, r.as.bare = "", true },
		"no metadata of the issuer":            func(r *rig) { r.as.bare = true },
		"a server with events":                 func(r *rig) { r.d.Transport = definition.SSE },
		"it adds iss":                          func(r *rig) { r.as.iss = true },
		"a query in the URL, which stays here": func(r *rig) { r.d.URL += "?key=s3cr3t-query" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			set(r)
			if r.as.bare {
				r.as.methods = []string{"client_secret_basic"} // what a server without metadata supports
			}
			r.login()
			a := r.Authorizer("docs", r.d)
			r.works(a)
			if s := r.status(); s.State != Authorized || !s.HasTokens || !s.HasClientInformation || !s.HasDiscoveryState ||
				s.HasCodeVerifier || s.HasLastAuthorizationURL || s.RequiresAuthorization || s.Reason != "" ||
				!s.ExpiresAt.Equal(r.clock.Now().Add(time.Hour)) {
				t.Errorf("status %+v", s)
			}
			q := r.as.lastAsked()
			if !strings.HasPrefix(q.Get("resource"), r.mcp.http.URL) || strings.Contains(q.Get("resource"), "query") {
				t.Errorf("resource %q", q.Get("resource"))
			}
			for _, h := range r.mcp.heads {
				if h.Get("Authorization") == "Bearer static" {
					t.Error("the static header was sent")
				}
			}
		})
	}
}

func TestScope(t *testing.T) {
	r := newRig(t)
	asks := func(want string) {
		t.Helper()
		if got := query(t, r.begin().URL).Get("scope"); got != want {
			t.Errorf("scope %q, want %q", got, want)
		}
	}
	asks("")
	r.mcp.supported = []string{"docs.list", "docs.read", "bad\"scope"}
	asks("docs.list docs.read")
	r.mcp.scope = "docs.list"
	asks("docs.list")
	r.d.OAuth = &definition.OAuth{Scope: "docs.read  docs.read"}
	asks("docs.read")
	r.as.scopes = []string{"docs.read", "offline_access"}
	asks("docs.read offline_access")
}

func TestLoginIsRefused(t *testing.T) {
	type answer struct{ code, state, iss string }
	for name, c := range map[string]struct {
		set  func(r *rig)
		bend func(r *rig, a *answer)
		want string
	}{
		"another state":       {nil, func(_ *rig, a *answer) { a.state = "other" }, "another login"},
		"no code":             {nil, func(_ *rig, a *answer) { a.code = " " }, "no code"},
		"another code":        {nil, func(_ *rig, a *answer) { a.code = "other" }, "invalid_grant"},
		"too late":            {nil, func(r *rig, _ *answer) { r.clock.pass(10 * time.Minute) }, "more than 10m0s ago"},
		"another issuer":      {nil, func(_ *rig, a *answer) { a.iss = "https://evil.example" }, "its iss is another"},
		"no issuer":           {func(r *rig) { r.as.iss = true }, func(_ *rig, a *answer) { a.iss = "" }, "may come from somebody else"},
		"a login in between":  {nil, func(r *rig, _ *answer) { r.begin() }, "another login"},
		"a logout in between": {nil, func(r *rig, _ *answer) { _ = r.Logout(r.t.Context(), "docs", r.d) }, "no login at this URL is under way"},
		"another URL":         {nil, func(r *rig, _ *answer) { r.d.URL += "/other" }, "no login at this URL is under way"},
		"the verifier of another login": {nil, func(r *rig, a *answer) {
			a.state = r.begin().State
		}, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.set != nil {
				c.set(r)
			}
			back := r.as.approve(r.begin().URL)
			a := answer{back.Get("code"), back.Get("state"), back.Get("iss")}
			c.bend(r, &a)
			err := r.Finish(t.Context(), "docs", r.d, a.code, a.state, a.iss)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), back.Get("code")) {
				t.Fatalf("error %v, want %q and no code", err, c.want)
			}
			if s := r.status(); s.HasTokens {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// TestPastedCode: a person who copies a code has neither state nor iss.
func TestPastedCode(t *testing.T) {
	r := newRig(t)
	r.as.iss = true
	back := r.as.approve(r.begin().URL)
	if s := r.status(); s.State != LoginPending || !s.HasCodeVerifier || !s.HasLastAuthorizationURL || !s.RequiresAuthorization {
		t.Errorf("status %+v", s)
	}
	if err := r.Finish(t.Context(), "docs", r.d, "typed wrong", "", ""); err == nil {
		t.Error("a wrong code was good")
	}
	if err := r.Finish(t.Context(), "docs", r.d, back.Get("code")+"\n", "", ""); err != nil {
		t.Fatal(err)
	}
	r.works(r.Authorizer("docs", r.d))
	if err := r.Finish(t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), ""); err == nil {
		t.Error("a login was finished twice")
	}
}

func TestBeginRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		set      func(r *rig)
		redirect string
		want     string
	}{
		"no https":             {func(r *rig) { r.d.URL = "http://mcp.example/mcp" }, callback, "in the clear"},
		"a program":            {func(r *rig) { r.d.URL = "" }, callback, "no usable URL"},
		"no redirect":          {nil, "", "no redirect URL"},
		"a redirect in clear":  {nil, "http://jetclaw.example/callback", "without https"},
		"a redirect of an app": {nil, "jetclaw:callback", "none that a browser"},
		"no PKCE":              {func(r *rig) { r.as.plain = true }, callback, "PKCE"},
		"an issuer in clear":   {func(r *rig) { r.mcp.issuer = "http://as.example" }, callback, "as.example"},
		"an issuer of scripts": {func(r *rig) { r.mcp.issuer = "javascript:alert(1)" }, callback, "javascript"},
		"a private issuer":     {func(r *rig) { r.mcp.issuer = "https://169.254.169.254" }, callback, "non-public"},
		"metadata of another": {func(r *rig) {
			r.mcp.issuer = r.as.http.URL
			r.as.http.URL = strings.Replace(r.as.http.URL, "127.0.0.1", "localhost", 1)
		}, callback, "does not match issuer"},
		"the server is gone": {func(r *rig) { r.mcp.http.Close() }, callback, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.set != nil {
				c.set(r)
			}
			_, err := r.Begin(t.Context(), "docs", r.d, c.redirect)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "begin a login at docs: ") {
				t.Fatalf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestLoginKeepsTheTokens: those that are there are in use until the new ones are stored.
func TestLoginKeepsTheTokens(t *testing.T) {
	r := newRig(t)
	r.login()
	a, old := r.Authorizer("docs", r.d), r.record().Tokens.Access
	back := r.as.approve(r.begin().URL)
	r.works(a)
	r.as.tokenBy(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
	if err := r.Finish(t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), ""); err == nil {
		t.Fatal("a login without tokens")
	}
	r.works(a)
	if r.record().Tokens.Access != old {
		t.Error("the tokens are others")
	}
	r.as.tokenBy(nil)
	if err := r.Finish(t.Context(), "docs", r.d, back.Get("code"), back.Get("state"), ""); err != nil {
		t.Fatal(err)
	}
	r.works(a)
	if r.record().Tokens.Access == old {
		t.Error("the tokens are the old ones")
	}
}
