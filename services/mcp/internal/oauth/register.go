package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// identify says who we are for an authorization server: a client id metadata document, if it takes these and one is configured; else
// the configured client; else one that is registered now, or was for an earlier login.
func (k *Keeper) identify(ctx context.Context, d definition.Definition, f found, server *url.URL, redirect string, r record) (client, error) {
	o := definition.OAuth{}
	if d.OAuth != nil {
		o = *d.OAuth
	}
	switch {
	case o.ClientMetadataURL != "" && f.meta.ClientIDMetadataDocumentSupported:
		if u, err := url.Parse(o.ClientMetadataURL); err != nil || u.Scheme != "https" || strings.Trim(u.Path, "/") == "" {
			return client{}, errors.New("oauth.clientMetadataUrl has to be an https URL with a path")
		}
		return client{Kind: byDocument, Issuer: f.at.Issuer, ID: o.ClientMetadataURL, Method: public}, nil
	case o.ClientID != "":
		return client{Kind: byOperator, Issuer: f.at.Issuer, ID: o.ClientID, Method: methodFor(o.ClientSecret, f.at.AuthMethods)}, nil
	case f.at.Registration != "":
		if c := k.registered(r, f.at.Issuer, redirect); c != nil {
			return *c, nil
		}
		return k.register(ctx, d, f, server, redirect)
	}
	return client{}, fmt.Errorf("the authorization server %s registers no clients by itself: register one there with the redirect URL %s "+
		"and set oauth.clientId", hostOf(f.at.Issuer), redirect)
}

// registered returns the client of an earlier login that fits, or nil.
func (k *Keeper) registered(r record, issuer, redirect string) *client {
	all := []*client{r.Client}
	if r.Pending != nil {
		all = append(all, &r.Pending.Client)
	}
	for _, c := range all {
		if c != nil && c.Kind == byRegisterer && c.Issuer == issuer && slices.Contains(c.Redirects, redirect) &&
			(c.Expires.IsZero() || k.Now().Add(loginFor).Before(c.Expires)) {
			return c
		}
	}
	return nil
}

// methodFor chooses how a client with this secret authenticates. The header is what a server takes that does not say what it takes
// (RFC 8414, section 2).
func methodFor(secret string, supported []string) string {
	switch {
	case secret == "":
		return public
	case slices.Contains(supported, inForm):
		return inForm
	}
	return inHeader
}

// register registers a client (RFC 7591). The SDK's way of doing it would put answers, with the secret in them, into errors.
func (k *Keeper) register(ctx context.Context, d definition.Definition, f found, server *url.URL, redirect string) (client, error) {
	web, err := k.httpFor(d, server)
	if err != nil {
		return client{}, err
	}
	m := oauthex.ClientRegistrationMetadata{
		ClientName: "jetclaw", RedirectURIs: []string{redirect}, ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code"}, ApplicationType: "web",
	}
	if u, err := url.Parse(redirect); err == nil && isLoopback(u.Hostname()) {
		m.ApplicationType = "native"
	}
	if g := f.meta.GrantTypesSupported; len(g) == 0 || slices.Contains(g, "refresh_token") {
		m.GrantTypes = append(m.GrantTypes, "refresh_token")
	}
	if len(f.at.AuthMethods) > 0 {
		m.TokenEndpointAuthMethod = f.at.AuthMethods[0]
	}
	body, err := json.Marshal(m)
	if err != nil {
		return client{}, fmt.Errorf("register a client: %w", err)
	}
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}
	a, err := post(ctx, web, "registration endpoint", f.at.Registration, header, body)
	if err != nil {
		return client{}, err
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return client{}, fmt.Errorf("%w; a client that is registered beforehand is set as oauth.clientId",
			refused("registration endpoint", f.at.Registration, a))
	}
	var said oauthex.ClientRegistrationResponse
	if json.Unmarshal(a.body, &said) != nil || said.ClientID == "" || !isToken(said.ClientID) || !isToken(said.ClientSecret) {
		return client{}, fmt.Errorf("the registration endpoint at %s answered with status %d (%s), but with no client",
			hostOf(f.at.Registration), a.status, a.kind)
	}
	c := client{
		Kind: byRegisterer, Issuer: f.at.Issuer, ID: said.ClientID, Secret: said.ClientSecret, Method: said.TokenEndpointAuthMethod,
		Redirects: []string{redirect}, Expires: said.ClientSecretExpiresAt,
	}
	if !slices.Contains([]string{public, inForm, inHeader}, c.Method) {
		c.Method = methodFor(c.Secret, f.at.AuthMethods)
	}
	return c, nil
}
