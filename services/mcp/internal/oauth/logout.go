package oauth

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const revokeFor = 5 * time.Second

// Logout removes all that is stored of a server, whatever the definition says of auth by now, and asks the authorization server to
// forget the tokens too. That nobody answers there is no error: here they are gone.
func (k *Keeper) Logout(ctx context.Context, name string, d definition.Definition) error {
	var was record
	err := k.change(ctx, name, func(r *record) (bool, error) {
		was = *r
		removed := r.unreadable || r.Resource != ""
		*r = record{}
		return removed, nil
	})
	if err != nil {
		return err
	}
	if was.Tokens != nil {
		k.revoke(ctx, name, d, was, *was.Tokens)
	}
	return nil
}

// revoke asks the authorization server to end tokens (RFC 7009), if it can. With the refresh token the access tokens end too.
func (k *Keeper) revoke(ctx context.Context, name string, d definition.Definition, r record, t tokens) {
	if r.Discovery == nil || r.Discovery.Revocation == "" || r.Client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, revokeFor)
	defer cancel()
	form := url.Values{"token": {t.Access}, "token_type_hint": {"access_token"}}
	if t.Refresh != "" {
		form = url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	if err := k.askRevocation(ctx, d, r, form); err != nil {
		k.Log.Info("the authorization server of an MCP server did not revoke its tokens", "server", name, "err", err)
	}
}

func (k *Keeper) askRevocation(ctx context.Context, d definition.Definition, r record, form url.Values) error {
	server, err := canonical(d)
	if err != nil || server.String() != r.Resource {
		server = &url.URL{} // the definition says nothing of that server any more
	}
	web, err := k.httpFor(d, server)
	if err != nil {
		return err
	}
	at, secret := r.Discovery.Revocation, secretOf(*r.Client, d)
	header := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	token := form.Get("token")
	r.Client.authenticate(secret, form, header)
	a, err := post(ctx, web, "revocation endpoint", at, header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return refused("revocation endpoint", at, a, secret, token)
	}
	return nil
}
