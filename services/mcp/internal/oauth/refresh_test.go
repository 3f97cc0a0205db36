package oauth

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func TestRefresh(t *testing.T) {
	r := newRig(t)
	r.login()
	a, first := r.Authorizer("docs", r.d), *r.record().Tokens
	r.clock.pass(time.Hour - early - time.Second)
	r.works(a)
	if n := len(r.as.uses()); n != 0 {
		t.Fatalf("%d refreshes before it was time", n)
	}
	r.clock.pass(2 * time.Second)
	r.works(a)
	r.works(a)
	second := r.record()
	if n := len(r.as.uses()); n != 1 || second.Tokens.Access == first.Access || second.Tokens.Refresh == first.Refresh || second.Lease != nil {
		t.Fatalf("%d refreshes, record %+v", n, second)
	}
	r.clock.pass(24 * time.Hour)
	r.works(a)
	if n := len(r.as.uses()); n != 2 {
		t.Errorf("%d refreshes, want 2", n)
	}
}

// TestShortLives: tokens that live shorter than the time before their end at which others are renewed are not renewed for each call.
func TestShortLives(t *testing.T) {
	r := newRig(t)
	r.as.lifetime = 8
	r.login()
	a := r.Authorizer("docs", r.d)
	r.works(a)
	r.clock.pass(5 * time.Second)
	r.works(a)
	if n := len(r.as.uses()); n != 0 {
		t.Errorf("%d refreshes", n)
	}
	r.clock.pass(2 * time.Second)
	r.works(a)
	r.works(a)
	if n := len(r.as.uses()); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
}

// TestLateRefusals: refusals that come after a refresh are put down to the token before it, but not for ever.
func TestLateRefusals(t *testing.T) {
	r := newRig(t)
	r.login()
	a := r.Authorizer("docs", r.d)
	r.as.endAccess()
	r.works(a)
	for range maxExcused {
		if retry, err := a.Refused(t.Context(), http.StatusUnauthorized, "Bearer"); !retry || err != nil {
			t.Fatalf("retry %v, %v", retry, err)
		}
	}
	if n := len(r.as.uses()); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
	if retry, err := a.Refused(t.Context(), http.StatusUnauthorized, "Bearer"); !retry || err != nil || len(r.as.uses()) != 2 {
		t.Errorf("retry %v, %v, %d refreshes, want 2", retry, err, len(r.as.uses()))
	}
}

// TestRefreshKeepsWhatIsNotSaid: an answer may leave out the refresh token and the scope, and bring the same access token.
func TestRefreshKeepsWhatIsNotSaid(t *testing.T) {
	r := newRig(t)
	r.mcp.scope = "docs.read"
	r.login()
	before := *r.record().Tokens
	r.as.tokenBy(func(w http.ResponseWriter, _ *http.Request) bool {
		answerJSON(w, http.StatusOK, map[string]any{"access_token": before.Access, "token_type": "bearer", "expires_in": "60"})
		return true
	})
	r.clock.pass(2 * time.Hour)
	r.works(r.Authorizer("docs", r.d))
	if got := r.record().Tokens; got.Refresh != before.Refresh || !slices.Equal(got.Scope, []string{"docs.read"}) || got.ID == before.ID ||
		!got.Expires.Equal(r.clock.Now().Add(time.Minute)) {
		t.Errorf("tokens %+v, before %+v", got, before)
	}
}

// TestRefreshOfManyIsOne: whoever is in need of new tokens, in two processes, the refresh token is used once.
func TestRefreshOfManyIsOne(t *testing.T) {
	r := newRig(t)
	r.login()
	other := r.keeper(0)
	r.clock.pass(2 * time.Hour)
	var all sync.WaitGroup
	for i := range 40 {
		k := r.Keeper
		if i%2 == 1 {
			k = other
		}
		all.Go(func() {
			if status, err := r.call(k.Authorizer("docs", r.d)); status != http.StatusOK || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
		})
	}
	all.Wait()
	if got := r.as.uses(); len(got) != 1 {
		t.Errorf("%d uses of refresh tokens, want 1", len(got))
	}
}

// TestRefusalsOfManyAreOne: so many requests are refused at once because the server does not know their token any more.
func TestRefusalsOfManyAreOne(t *testing.T) {
	r := newRig(t)
	r.login()
	a := r.Authorizer("docs", r.d)
	r.works(a)
	r.as.endAccess()
	var ready, all sync.WaitGroup
	ready.Add(10)
	for range 10 {
		all.Go(func() {
			header, err := a.Authorization(t.Context())
			if err != nil {
				t.Error(err)
			}
			status, challenge := r.mcp.call(header)
			ready.Done()
			ready.Wait()
			retry, err := a.Refused(t.Context(), status, challenge)
			if status != http.StatusUnauthorized || !retry || err != nil {
				t.Errorf("status %d, retry %v, %v", status, retry, err)
			}
			if header, err = a.Authorization(t.Context()); err != nil {
				t.Error(err)
			}
			if status, _ = r.mcp.call(header); status != http.StatusOK {
				t.Errorf("again: status %d", status)
			}
		})
	}
	all.Wait()
	if got := r.as.uses(); len(got) != 1 {
		t.Errorf("%d uses of refresh tokens, want 1", len(got))
	}
	r.clock.pass(graceFor)
	r.as.endAccess()
	r.works(a)
	if got := r.as.uses(); len(got) != 2 {
		t.Errorf("%d uses of refresh tokens, want 2", len(got))
	}
}

func TestRefreshTokenIsRefused(t *testing.T) {
	r := newRig(t)
	r.login()
	r.as.endAccess()
	r.as.endRefresh()
	a := r.Authorizer("docs", r.d)
	for range 3 {
		_, err := r.call(a)
		needsLogin(t, err)
	}
	if got := r.as.uses(); len(got) != 1 {
		t.Errorf("%d uses of the refresh token, want 1", len(got))
	}
	if s := r.status(); s.State != Expired || !s.RequiresAuthorization || !s.HasTokens || !s.HasClientInformation {
		t.Errorf("status %+v", s)
	}
	r.login()
	r.works(a)
	if n := len(r.as.registered); n != 1 {
		t.Errorf("%d registrations", n)
	}
}

// TestClientIsForgotten: a server that has lost our registration gets another one at the next login.
func TestClientIsForgotten(t *testing.T) {
	r := newRig(t)
	r.login()
	r.as.mu.Lock()
	clear(r.as.clients)
	r.as.mu.Unlock()
	r.clock.pass(2 * time.Hour)
	_, err := r.call(r.Authorizer("docs", r.d))
	needsLogin(t, err)
	if s := r.status(); s.HasClientInformation || s.State != Expired {
		t.Errorf("status %+v", s)
	}
	r.login()
	r.works(r.Authorizer("docs", r.d))
}

// TestWrongSecretEndsNothing: that of a configured client can be put right.
func TestWrongSecretEndsNothing(t *testing.T) {
	r := newRig(t)
	r.as.methods = []string{"client_secret_post"}
	r.as.client("mine", "right", "client_secret_post")
	r.d.OAuth = &definition.OAuth{ClientID: "mine", ClientSecret: "right"}
	r.login()
	right := r.d
	r.clock.pass(2 * time.Hour)
	r.d.OAuth = &definition.OAuth{ClientID: "mine", ClientSecret: "wr0ng"}
	_, err := r.call(r.Authorizer("docs", r.d))
	var login *ErrLogin
	if err == nil || errors.As(err, &login) || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("error %v", err)
	}
	r.works(r.Authorizer("docs", right))
}

func TestServerIsDownForAMoment(t *testing.T) {
	r := newRig(t)
	r.login()
	a := r.Authorizer("docs", r.d)
	r.as.tokenBy(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	r.clock.pass(time.Hour - time.Second)
	r.works(a) // for a second the token is good
	r.clock.pass(time.Second)
	if _, err := r.call(a); err == nil || !strings.Contains(err.Error(), "status 503") {
		t.Errorf("error %v", err)
	}
	if s := r.status(); s.State != Authorized || r.record().Lease != nil {
		t.Errorf("status %+v", s)
	}
	r.as.tokenBy(nil)
	r.works(a)
}

// TestTokenWithoutRefresh is used until it ends, or until the server says that it is not good.
func TestTokenWithoutRefresh(t *testing.T) {
	r := newRig(t)
	r.as.noRefresh = true
	r.login()
	a := r.Authorizer("docs", r.d)
	r.clock.pass(time.Hour - time.Second)
	r.works(a)
	r.clock.pass(time.Second)
	_, err := r.call(a)
	needsLogin(t, err)
	if s := r.status(); s.State != Expired {
		t.Errorf("status %+v", s)
	}

	r.as.lifetime = 0
	r.login()
	r.clock.pass(1000 * time.Hour)
	r.works(a)
	if retry, err := a.Refused(t.Context(), http.StatusUnauthorized, "Bearer"); retry || err == nil {
		t.Errorf("retry %v, %v", retry, err)
	}
	r.works(a) // such a refusal says nothing of the token
	r.as.endAccess()
	_, err = r.call(a)
	needsLogin(t, err)
	if s := r.status(); s.State != Expired {
		t.Errorf("status %+v", s)
	}
}
