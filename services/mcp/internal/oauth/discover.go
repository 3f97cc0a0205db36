package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// found is what discovery has found.
type found struct {
	at     discovery
	meta   *oauthex.AuthServerMeta
	scopes []string // that the server asks for
}

// discover finds the authorization server of an MCP server: its refusal of a request without a token names the metadata of the
// resource (RFC 9728), which names the issuer, whose metadata (RFC 8414 or OpenID Connect) names the endpoints. Servers of 2025-03-26
// have none of these, or only some.
func (k *Keeper) discover(ctx context.Context, d definition.Definition, server *url.URL) (found, error) {
	web, err := k.httpFor(d, server)
	if err != nil {
		return found{}, err
	}
	metadata, wanted, err := probe(ctx, web, d)
	if err != nil {
		return found{}, err
	}
	prm, err := resource(ctx, web, server, metadata)
	if err != nil {
		return found{}, fmt.Errorf("read what %s says of itself: %w", server.Host, err)
	}
	if prm == nil {
		origin := url.URL{Scheme: server.Scheme, Host: server.Host}
		prm = &oauthex.ProtectedResourceMetadata{Resource: server.String(), AuthorizationServers: []string{origin.String()}}
	}
	if len(prm.AuthorizationServers) == 0 {
		return found{}, fmt.Errorf("%s names no authorization server", server.Host)
	}
	issuer := prm.AuthorizationServers[0]
	if d.OAuth != nil && d.OAuth.Issuer != "" { // the server must not choose who is told the client's secret
		if !slices.ContainsFunc(prm.AuthorizationServers, func(s string) bool { return sameIssuer(s, d.OAuth.Issuer) }) {
			return found{}, fmt.Errorf("%s names the authorization server %s, but oauth.issuer is %s", server.Host, hostOf(issuer), hostOf(d.OAuth.Issuer))
		}
		issuer = d.OAuth.Issuer
	}
	if err := checkEndpoint("authorization server", issuer, server); err != nil {
		return found{}, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, web)
	if err != nil {
		return found{}, fmt.Errorf("read the metadata of the authorization server %s: %w", hostOf(issuer), short(err))
	}
	if meta == nil {
		base := strings.TrimSuffix(issuer, "/")
		meta = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
			CodeChallengeMethodsSupported: []string{"S256"},
		}
	}
	f := found{meta: meta, scopes: scopes(wanted)}
	if len(f.scopes) == 0 {
		f.scopes = scopes(prm.ScopesSupported...)
	}
	f.at = discovery{
		Issuer: meta.Issuer, Resource: prm.Resource, Authorization: meta.AuthorizationEndpoint, Token: meta.TokenEndpoint,
		Registration: meta.RegistrationEndpoint, Revocation: meta.RevocationEndpoint,
		IssParameter: meta.AuthorizationResponseIssParameterSupported,
	}
	for _, m := range []string{public, inForm, inHeader} {
		if slices.Contains(meta.TokenEndpointAuthMethodsSupported, m) {
			f.at.AuthMethods = append(f.at.AuthMethods, m)
		}
	}
	return f, f.check(server)
}

// sameIssuer compares two issuers; a slash at the end makes no other.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// check looks at what the metadata promises before anything is sent there.
func (f found) check(server *url.URL) error {
	if !slices.Contains(f.meta.CodeChallengeMethodsSupported, "S256") {
		return fmt.Errorf("the authorization server %s does not offer PKCE with S256, without which no login is safe", hostOf(f.at.Issuer))
	}
	for _, e := range []struct {
		what, url string
		needed    bool
	}{
		{"authorization endpoint", f.at.Authorization, true},
		{"token endpoint", f.at.Token, true},
		{"registration endpoint", f.at.Registration, false},
		{"revocation endpoint", f.at.Revocation, false},
	} {
		if e.url == "" && !e.needed {
			continue
		}
		if err := checkEndpoint(e.what, e.url, server); err != nil {
			return err
		}
	}
	return nil
}

// probe asks the server without a token and returns what its refusal says: where its metadata is and which scope it wants. A server
// that does not refuse says nothing.
func probe(ctx context.Context, web *http.Client, d definition.Definition) (metadata, wanted string, err error) {
	method, body := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}` // nothing that would begin a session
	if d.Transport == definition.SSE {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, d.URL, strings.NewReader(body))
	if err != nil {
		return "", "", fmt.Errorf("ask %s: %w", hostOf(d.URL), cause(err))
	}
	for name, value := range d.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) != "Authorization" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	still := *web
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := still.Do(req)
	if err != nil {
		return "", "", fmt.Errorf("ask %s: %w", hostOf(d.URL), cause(err))
	}
	resp.Body.Close() // it may be a stream that never ends
	if resp.StatusCode != http.StatusUnauthorized {
		return "", "", nil
	}
	c := bearer(resp.Header.Values("WWW-Authenticate"))
	return c["resource_metadata"], c["scope"], nil
}

// bearer returns the parameters of the challenge for bearer tokens; none if there is none, or one that cannot be read.
func bearer(headers []string) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return nil
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// resource reads the metadata of the server: from where its refusal says, else from the well-known places. It returns nil when there is
// none; metadata that may not be believed is an error, or an older way of the protocol would lead around the check.
func resource(ctx context.Context, web *http.Client, server *url.URL, metadata string) (*oauthex.ProtectedResourceMetadata, error) {
	origin := url.URL{Scheme: server.Scheme, Host: server.Host}
	var places []string
	if metadata != "" {
		if err := checkEndpoint("metadata", metadata, server); err != nil {
			return nil, err
		}
		places = append(places, metadata)
	}
	if path := strings.Trim(server.EscapedPath(), "/"); path != "" {
		places = append(places, origin.String()+"/.well-known/oauth-protected-resource/"+path)
	}
	places = append(places, origin.String()+"/.well-known/oauth-protected-resource")
	for _, place := range places {
		prm, err := resourceAt(ctx, web, place, server)
		switch {
		case err == nil:
			return prm, nil
		case !strings.Contains(err.Error(), "bad status 4") && !strings.Contains(err.Error(), "bad content type "): // the SDK has no types
			return nil, short(err)
		}
	}
	return nil, nil
}

// resourceAt reads one document. The names that it may have for the server are its URL and its origin, with and without a slash at the
// end: they differ from server to server, and none leads to another host.
func resourceAt(ctx context.Context, web *http.Client, place string, server *url.URL) (*oauthex.ProtectedResourceMetadata, error) {
	full, origin := strings.TrimSuffix(server.String(), "/"), server.Scheme+"://"+server.Host
	names := []string{server.String()}
	for _, n := range []string{full, full + "/", origin, origin + "/"} {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	err := errors.New("no metadata")
	for _, name := range names {
		var prm *oauthex.ProtectedResourceMetadata
		if prm, err = oauthex.GetProtectedResourceMetadata(ctx, place, name, web); err == nil {
			return prm, nil
		}
		if !strings.Contains(err.Error(), "got metadata resource") { // the SDK has no type for it
			break
		}
	}
	return nil, err
}
