package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// Login is one that has begun.
type Login struct {
	URL      string    // to be opened in a browser: https, or http on this machine; never through a shell
	State    string    // comes back with the code
	Redirect string    // where the browser comes back to
	Expires  time.Time // Finish has to come before
}

// maxCode is in bytes.
const maxCode = 8 << 10

// Begin begins a login; it takes the place of one that had begun. redirect is where the browser comes back to; "" means the one of the
// definition. Tokens that are there stay in use.
func (k *Keeper) Begin(ctx context.Context, name string, d definition.Definition, redirect string) (Login, error) {
	l, err := k.begin(ctx, name, d, redirect)
	if err != nil {
		return Login{}, fmt.Errorf("begin a login at %s: %w", name, err)
	}
	return l, nil
}

func (k *Keeper) begin(ctx context.Context, name string, d definition.Definition, redirect string) (Login, error) {
	server, err := canonical(d)
	if err != nil {
		return Login{}, err
	}
	if redirect == "" && d.OAuth != nil {
		redirect = d.OAuth.RedirectURL
	}
	if err := checkRedirect(redirect); err != nil {
		return Login{}, err
	}
	r, _, err := k.load(ctx, name)
	if err != nil {
		return Login{}, err
	}
	if r.Resource != server.String() {
		r = record{}
	}
	f, err := k.discover(ctx, d, server)
	if err != nil {
		return Login{}, err
	}
	who, err := k.identify(ctx, d, f, server, redirect, r)
	if err != nil {
		return Login{}, err
	}
	p := pending{
		State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Scope: wantedScope(d, f, r),
		Expires: k.Now().Add(loginFor), Discovery: f.at, Client: who,
	}
	c := oauth2.Config{ClientID: who.ID, RedirectURL: redirect, Scopes: p.Scope, Endpoint: oauth2.Endpoint{AuthURL: f.at.Authorization}}
	p.URL = c.AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier), oauth2.SetAuthURLParam("resource", f.at.Resource))
	err = k.change(ctx, name, func(r *record) (bool, error) {
		if r.Resource != server.String() {
			*r = record{Resource: server.String()}
		}
		r.Pending = &p
		return true, nil
	})
	if err != nil {
		return Login{}, err
	}
	return Login{URL: p.URL, State: p.State, Redirect: redirect, Expires: p.Expires}, nil
}

// checkRedirect: the code comes back there, so nobody may listen on the way.
func checkRedirect(redirect string) error {
	u, err := url.Parse(redirect)
	switch {
	case redirect == "":
		return errors.New("there is no redirect URL")
	case err != nil || u.Host == "" || u.Fragment != "" || u.User != nil:
		return errors.New("the redirect URL is none that a browser can come back to")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return fmt.Errorf("the redirect URL leads to %s without https", u.Host)
	}
	return nil
}

// wantedScope is that of the configuration, else what the server asks for. After a refusal for want of scope it is more: what we had
// and what the refusal named come on top, or the same refusal would follow the login. The person sees it on the page of the
// authorization server. offline_access is what some servers give a refresh token for.
func wantedScope(d definition.Definition, f found, r record) []string {
	var s []string
	if d.OAuth != nil {
		s = scopes(d.OAuth.Scope)
	}
	if r.StepUp {
		if r.Tokens != nil {
			s = append(s, r.Tokens.Scope...)
		}
		s = append(s, r.Wanted...)
	}
	if len(s) == 0 {
		s = slices.Clone(f.scopes)
	}
	if slices.Contains(f.meta.ScopesSupported, "offline_access") {
		s = append(s, "offline_access")
	}
	return scopes(s...)
}

// Finish ends the login that has begun with what the browser came back with. state is "" for a code that a person has copied: it is
// meant for the login that is under way. iss is "" where the answer had none.
//
// When it fails, the login stays under way and may be finished by another code, until it expires.
func (k *Keeper) Finish(ctx context.Context, name string, d definition.Definition, code, state, iss string) error {
	if err := k.finish(ctx, name, d, strings.TrimSpace(code), state, iss); err != nil {
		return fmt.Errorf("log in at %s: %w", name, err)
	}
	return nil
}

func (k *Keeper) finish(ctx context.Context, name string, d definition.Definition, code, state, iss string) error {
	server, err := canonical(d)
	if err != nil {
		return err
	}
	r, _, err := k.load(ctx, name)
	if err != nil {
		return err
	}
	p := r.Pending
	switch {
	case code == "" || len(code) > maxCode:
		return errors.New("there is no code, or one that is too long")
	case p == nil || r.Resource != server.String():
		return fmt.Errorf("no login at this URL is under way: begin with %q", "jetclaw mcp login "+name)
	case state != "" && subtle.ConstantTimeCompare([]byte(state), []byte(p.State)) != 1:
		return errors.New("the answer belongs to another login: its state is not the one that this login was begun with")
	case !k.Now().Before(p.Expires):
		return fmt.Errorf("it was begun more than %s ago: begin again with %q", loginFor, "jetclaw mcp login "+name)
	case iss == "" && state != "" && p.Discovery.IssParameter:
		return fmt.Errorf("%s adds its name (iss) to each answer, and this one has none: it may come from somebody else", hostOf(p.Discovery.Issuer))
	case iss != "" && iss != p.Discovery.Issuer:
		return fmt.Errorf("the answer does not come from %s, where the login was begun: its iss is another", hostOf(p.Discovery.Issuer))
	}
	t, err := k.askTokens(ctx, d, p.Discovery, p.Client, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {p.Redirect}, "code_verifier": {p.Verifier},
	})
	if err != nil {
		return err
	}
	t.ID = rand.Text()
	if len(t.Scope) == 0 {
		t.Scope = p.Scope
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.Timeout) // the code is used up
	defer cancel()
	return k.change(ctx, name, func(r *record) (bool, error) {
		if r.Pending == nil || r.Pending.State != p.State {
			return false, errors.New("meanwhile somebody logged out or began another login")
		}
		*r = record{Resource: r.Resource, Discovery: &p.Discovery, Client: &p.Client, Tokens: &t}
		return true, nil
	})
}
