package mcp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/oauth"
)

// OAuthMode is the value of Definition.Auth for servers that are logged in to.
const OAuthMode = "oauth"

// NewIdentity makes an age key for Config.Identity.
func NewIdentity() (string, error) { return oauth.NewIdentity() }

// newKeeper keeps credentials on the bus, encrypted; nil without a key.
func newKeeper(c Config) (*oauth.Keeper, error) {
	if c.Identity == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	seal, err := oauth.NewSealer(c.Identity)
	if err != nil {
		return nil, fmt.Errorf("key of the credentials: %w", err)
	}
	web := func(d definition.Definition) *http.Client {
		t := &http.Transport{Proxy: c.World.Proxy}
		if trust, err := client.TLS(d); err == nil { // else whoever connects says what is wrong with the files
			t.TLSClientConfig = trust
		}
		return &http.Client{Transport: t}
	}
	return oauth.New(oauth.Config{Store: vault{c.Conn}, Seal: seal, HTTP: web, Now: time.Now, Log: c.Log})
}

// vault is the store of credentials: values of the service.
type vault struct{ conn *bus.Conn }

const vaultKey = "oauth."

// Load implements oauth.Store.
func (v vault) Load(ctx context.Context, key string) ([]byte, uint64, error) {
	value, revision, _, err := v.conn.ValueRevision(ctx, vaultKey+key)
	return value, revision, err
}

// Save implements oauth.Store.
func (v vault) Save(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	next, err := v.conn.ReviseValue(ctx, vaultKey+key, value, revision)
	if err == nil && next == 0 {
		return 0, oauth.ErrConflict
	}
	return next, err
}

// authorizer says who we are to a server; nil when its headers are all there is.
func (s *Service) authorizer(name string, d definition.Definition) (client.Authorizer, error) {
	if d.Auth != OAuthMode {
		return nil, nil //nolint:nilnil // none is needed
	}
	if s.oauth == nil {
		return nil, fault.New(fault.Invalid, "no credentials are kept here")
	}
	return s.oauth.Authorizer(name, d), nil
}

// oauthServer is a configured server that is logged in to.
func (s *Service) oauthServer(ctx context.Context, name string, must bool) (*upstream, definition.Definition, error) {
	if err := s.readAgain(ctx); err != nil { // it may have been written just now
		return nil, definition.Definition{}, fault.New(fault.Invalid, "%w", err)
	}
	u := s.of(executorOf(name))
	if u == nil {
		return nil, definition.Definition{}, fault.New(fault.NotFound, "no MCP server is called %q", name)
	}
	u.mu.Lock()
	d, problem, on := u.resolved, u.problem, u.left.IsZero()
	u.mu.Unlock()
	switch {
	case !on:
		return nil, d, fault.New(fault.NotFound, "no MCP server is called %q", name)
	case problem != nil:
		return nil, d, fault.New(fault.Invalid, "%w", problem)
	case must && d.Auth != OAuthMode:
		return nil, d, fault.New(fault.Invalid, "the MCP server %s is not configured with auth: oauth", name)
	case s.oauth == nil:
		return nil, d, fault.New(fault.Invalid, "no credentials are kept here")
	}
	return u, d, nil
}

func (s *Service) answerLogin(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[LoginRequest](data)
	if err != nil {
		return nil, err
	}
	_, d, err := s.oauthServer(ctx, r.Server, true)
	if err != nil {
		return nil, err
	}
	l, err := s.oauth.Begin(ctx, r.Server, d, r.Redirect)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "log in to %s: %w", r.Server, err)
	}
	return Login{URL: l.URL, State: l.State, Expires: l.Expires}, nil
}

func (s *Service) answerCode(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[CodeRequest](data)
	if err != nil {
		return nil, err
	}
	u, d, err := s.oauthServer(ctx, r.Server, true)
	if err != nil {
		return nil, err
	}
	if err := s.oauth.Finish(ctx, r.Server, d, r.Code, r.State, r.Issuer); err != nil {
		return nil, fault.New(fault.Denied, "log in to %s: %w", r.Server, err)
	}
	if err := s.conn.TellWorkers("login"); err != nil { // each has its connections
		s.log.Debug("other processes see a login at their next try", "error", err)
	}
	u.loggedIn(ctx)
	return s.authorized(ctx, r.Server, d)
}

// loggedIn lets the server be tried again.
func (u *upstream) loggedIn(ctx context.Context) {
	u.mu.Lock()
	u.login = nil
	end := u.retire()
	u.mu.Unlock()
	u.s.endAll(end, "somebody has logged in or out")
	u.offer(ctx)
}

func (s *Service) answerLogout(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[LogoutRequest](data)
	if err != nil {
		return nil, err
	}
	u, d, err := s.oauthServer(ctx, r.Server, false)
	if err != nil {
		return nil, err
	}
	if err := s.oauth.Logout(ctx, r.Server, d); err != nil {
		return nil, fault.New(fault.Unavailable, "log out of %s: %w", r.Server, err)
	}
	if d.Auth == OAuthMode {
		u.withdraw(ctx)
		u.loggedIn(ctx)
	}
	return s.authorized(ctx, r.Server, d)
}

func (s *Service) authorized(ctx context.Context, name string, d definition.Definition) (Authorized, error) {
	st, err := s.oauth.Status(ctx, name, d)
	if err != nil {
		return Authorized{}, err
	}
	return Authorized{AuthStatus: authStatus(st)}, nil
}

func authStatus(s oauth.Status) AuthStatus {
	return AuthStatus{
		HasTokens: s.HasTokens, RequiresAuthorization: s.RequiresAuthorization, HasClientInformation: s.HasClientInformation,
		HasCodeVerifier: s.HasCodeVerifier, HasDiscoveryState: s.HasDiscoveryState, HasLastAuthorizationURL: s.HasLastAuthorizationURL,
		State: s.State, ExpiresAt: s.ExpiresAt, Scope: s.Scope,
	}
}
