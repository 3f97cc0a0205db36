package oauth

import (
	"context"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// States of a server's credentials.
const (
	Authorized            = "authorized"
	AuthorizationRequired = "authorization-required" // nobody has logged in
	LoginPending          = "login-pending"          // a login is under way, and there is nothing to use until it ends
	Expired               = "expired"                // there was a login, and it cannot be renewed
	ScopeRequired         = "scope-required"         // the tokens are in use, but the server asked for more scope
)

// Status is what is stored of a server. Nothing of it is secret.
type Status struct {
	HasTokens               bool      `json:"hasTokens"`
	RequiresAuthorization   bool      `json:"requiresAuthorization"`
	HasClientInformation    bool      `json:"hasClientInformation"`
	HasCodeVerifier         bool      `json:"hasCodeVerifier"`
	HasDiscoveryState       bool      `json:"hasDiscoveryState"`
	HasLastAuthorizationURL bool      `json:"hasLastAuthorizationUrl"`
	State                   string    `json:"state"`
	ExpiresAt               time.Time `json:"expiresAt,omitzero"` // of the access token, which is renewed if it can be
	Scope                   string    `json:"scope,omitempty"`    // granted
	Reason                  string    `json:"reason,omitempty"`   // why there is nothing to use
}

// Status says what is stored, without asking the server.
func (k *Keeper) Status(ctx context.Context, name string, d definition.Definition) (Status, error) {
	r, _, err := k.load(ctx, name)
	if err != nil {
		return Status{}, err
	}
	none := Status{RequiresAuthorization: true, State: AuthorizationRequired}
	server, err := canonical(d)
	if err != nil {
		none.Reason = err.Error()
		return none, nil //nolint:nilerr // such a URL has no credentials, which is an answer
	}
	now := k.Now()
	t, why := r.tokensFor(server.String(), now)
	if r.unreadable || r.Resource != server.String() {
		none.Reason = why
		return none, nil
	}
	begun := r.Pending != nil && now.Before(r.Pending.Expires)
	s := Status{
		HasTokens:               r.Tokens != nil,
		HasClientInformation:    r.Client != nil || r.Pending != nil,
		HasCodeVerifier:         begun,
		HasDiscoveryState:       r.Discovery != nil || r.Pending != nil,
		HasLastAuthorizationURL: begun,
		Reason:                  why,
	}
	if r.Tokens != nil {
		s.ExpiresAt, s.Scope = r.Tokens.Expires, strings.Join(r.Tokens.Scope, " ")
	}
	switch {
	case t != nil && !r.StepUp:
		s.State = Authorized
	case t == nil && begun:
		s.State = LoginPending
	case t != nil:
		s.State = ScopeRequired
	case r.Tokens != nil:
		s.State = Expired
	default:
		s.State = AuthorizationRequired
	}
	s.RequiresAuthorization = s.State != Authorized
	return s, nil
}
