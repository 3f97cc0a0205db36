package oauth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHolderDies: its lease is waited for; then the refresh token, which it may have used, is tried once.
func TestHolderDies(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	a := r.Authorizer("docs", r.d)
	lend := func() {
		r.put(func(rec *record) { rec.Lease = &lease{"gone", r.clock.Now().Add(leaseFor)} })
	}
	lend()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authorization(ctx); !errors.Is(err, context.Canceled) { // it waits
		t.Fatalf("error %v", err)
	}
	if n := len(r.as.uses()); n != 0 {
		t.Fatalf("%d uses of the refresh token under the lease of another", n)
	}
	r.clock.pass(leaseFor)
	r.works(a)

	r.clock.pass(2 * time.Hour)
	lend()
	r.as.endRefresh()
	r.clock.pass(leaseFor)
	_, err := r.call(a)
	needsLogin(t, err)
	if n := len(r.as.uses()); n != 2 {
		t.Errorf("%d uses of refresh tokens, want 2", n)
	}
}

// TestLoserWaits: the tokens that the holder of the lease stores are what the others use.
func TestLoserWaits(t *testing.T) {
	r := newRig(t)
	r.login()
	r.silence()
	synctest.Test(t, func(t *testing.T) {
		k := r.bubble(t)
		defer k.Close()
		put := func(fn func(*record)) {
			if err := k.change(t.Context(), "docs", func(rec *record) (bool, error) { fn(rec); return true, nil }); err != nil {
				t.Error(err)
			}
		}
		put(func(rec *record) {
			old := *rec.Tokens
			old.Expires = time.Now()
			rec.Tokens, rec.Lease = &old, &lease{"other", time.Now().Add(leaseFor)}
		})
		got := make(chan string, 1)
		go func() {
			header, err := k.Authorizer("docs", r.d).Authorization(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- header
		}()
		time.Sleep(leaseFor / 2)
		select {
		case header := <-got:
			t.Errorf("it did not wait: %s", header)
		default:
		}
		put(func(rec *record) { rec.Tokens, rec.Lease = &tokens{ID: "new", Access: "new", Got: time.Now()}, nil })
		if header := <-got; header != "Bearer new" {
			t.Errorf("header %q", header)
		}
	})
}

// TestCloseEndsTheWait: nobody waits for the lease of another when the process ends.
func TestCloseEndsTheWait(t *testing.T) {
	r := newRig(t)
	r.login()
	r.silence()
	synctest.Test(t, func(t *testing.T) {
		k := r.bubble(t)
		if err := k.change(t.Context(), "docs", func(rec *record) (bool, error) {
			old := *rec.Tokens
			old.Expires = time.Now()
			rec.Tokens, rec.Lease = &old, &lease{"other", time.Now().Add(leaseFor)}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := k.Authorizer("docs", r.d).Authorization(t.Context())
			got <- err
		}()
		synctest.Wait()
		k.Close()
		if err := <-got; !errors.Is(err, errClosed) {
			t.Errorf("error %v", err)
		}
		if _, err := k.Authorizer("docs", r.d).Authorization(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("error after Close: %v", err)
		}
	})
}

// silence ends the servers: what follows needs none.
func (r *rig) silence() {
	r.as.http.Close()
	r.mcp.http.Close()
}

// bubble is a keeper over the same store that lives in the time of a synctest bubble.
func (r *rig) bubble(t *testing.T) *Keeper {
	t.Helper()
	c := r.Config
	c.Now = time.Now
	k, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// during runs fn while a refresh is under way.
func (r *rig) during(fn func()) {
	r.as.tokenBy(func(_ http.ResponseWriter, req *http.Request) bool {
		if req.PostFormValue("grant_type") == "refresh_token" {
			fn()
		}
		return false
	})
}

func TestLogoutWinsOverRefresh(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	other := r.keeper(0)
	r.during(func() {
		if err := other.Logout(context.Background(), "docs", r.d); err != nil {
			t.Error(err)
		}
	})
	_, err := r.call(r.Authorizer("docs", r.d))
	needsLogin(t, err)
	if s := r.status(); s != (Status{RequiresAuthorization: true, State: AuthorizationRequired, Reason: "nobody has logged in"}) {
		t.Errorf("status %+v", s)
	}
	if len(r.shelf.values["docs"]) != 0 {
		t.Error("the store has a value")
	}
	r.as.mu.Lock()
	defer r.as.mu.Unlock()
	if len(r.as.revoked) != 2 || !r.as.refreshes[r.as.revoked[1]] || r.as.revoked[0] != r.as.presented[0] {
		t.Errorf("revoked %v, want the old refresh token and the one that nobody has stored", r.as.revoked)
	}
}

// TestOthersWriteDuringRefresh: what is not about the tokens stays beside the new ones.
func TestOthersWriteDuringRefresh(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	other := r.keeper(0)
	r.during(func() {
		if _, err := other.Begin(context.Background(), "docs", r.d, callback); err != nil {
			t.Error(err)
		}
		_, err := other.Authorizer("docs", r.d).Refused(context.Background(), http.StatusForbidden, `Bearer error="insufficient_scope", scope="more"`)
		needsLogin(t, err)
	})
	r.works(r.Authorizer("docs", r.d))
	if rec := r.record(); rec.Pending == nil || !rec.StepUp || rec.Lease != nil || !rec.Tokens.Renewed {
		t.Errorf("record %+v", rec)
	}
}

func TestLoginDuringRefresh(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	back := r.as.approve(r.begin().URL)
	other := r.keeper(0)
	r.during(func() {
		if err := other.Finish(context.Background(), "docs", r.d, back.Get("code"), back.Get("state"), ""); err != nil {
			t.Error(err)
		}
	})
	r.works(r.Authorizer("docs", r.d))
	if rec := r.record(); rec.Tokens.Renewed || len(r.as.revoked) != 0 {
		t.Errorf("the tokens are not those of the login: %+v, revoked %v", rec.Tokens, r.as.revoked)
	}
}

// TestCallerGivesUp: the answer to its refresh is stored all the same.
func TestCallerGivesUp(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	goOn := make(chan struct{})
	r.during(func() { cancel(); <-goOn })
	if _, err := r.Authorizer("docs", r.d).Authorization(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(goOn)
	r.Close()
	if rec := r.record(); !rec.Tokens.Renewed || rec.Lease != nil {
		t.Errorf("record %+v", rec)
	}
}

// TestStoreIsDownAfterRefresh: the new tokens are all there is, so they are stored as soon as that is possible.
func TestStoreIsDownAfterRefresh(t *testing.T) {
	r := newRig(t)
	r.login()
	r.clock.pass(2 * time.Hour)
	r.during(func() {
		left := 2
		r.shelf.before(func() error {
			if left--; left >= 0 {
				return errors.New("no answer")
			}
			return nil
		})
	})
	r.works(r.Authorizer("docs", r.d))
	if !strings.Contains(r.logs.String(), "cannot be stored yet") {
		t.Errorf("log %s", r.logs)
	}
}

func TestOthersAreFaster(t *testing.T) {
	r := newRig(t)
	r.login()
	r.shelf.before(func() error { return ErrConflict })
	if _, err := r.Begin(t.Context(), "docs", r.d, callback); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v", err)
	}
}
