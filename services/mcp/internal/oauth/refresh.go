package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	leaseLook = 100 * time.Millisecond // between two looks at the lease of another
	saveAgain = 200 * time.Millisecond // between two tries to store tokens in a store that does not answer
)

// ErrLogin says that a person has to log in before the server can be used.
type ErrLogin struct {
	Server string
	Reason string
}

func (e *ErrLogin) Error() string {
	return fmt.Sprintf("%s needs a login: %s; run %q", e.Server, e.Reason, "jetclaw mcp login "+e.Server)
}

var (
	errClosed   = errors.New("credentials are not renewed any more: this process ends")
	errDropped  = errors.New("meanwhile somebody logged out or in")
	errOccupied = errors.New("another process has been renewing the credentials for too long")
)

// flight is a refresh of this process; those who need its result wait for it.
type flight struct {
	done chan struct{} // closed when err is set
	err  error
}

// usable returns the tokens that are stored, or ErrLogin.
func (k *Keeper) usable(ctx context.Context, name string, d definition.Definition) (tokens, error) {
	server, err := canonical(d)
	if err != nil {
		return tokens{}, err
	}
	r, _, err := k.load(ctx, name)
	if err != nil {
		return tokens{}, err
	}
	t, why := r.tokensFor(server.String(), k.Now())
	if t == nil {
		return tokens{}, &ErrLogin{name, why}
	}
	return *t, nil
}

// renewed returns tokens that are not those with the id stale, after a refresh if need be. When ctx ends, the refresh goes on.
func (k *Keeper) renewed(ctx context.Context, name string, d definition.Definition, stale string) (tokens, error) {
	for {
		t, err := k.usable(ctx, name, d)
		if err != nil || t.ID != stale {
			return t, err
		}
		f, err := k.join(ctx, name, d, stale)
		if err != nil {
			return tokens{}, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return tokens{}, context.Cause(ctx)
		}
		if f.err != nil {
			return tokens{}, f.err
		}
	}
}

// join returns the refresh that is under way, or begins one.
func (k *Keeper) join(ctx context.Context, name string, d definition.Definition, stale string) (*flight, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	if f := k.flights[name]; f != nil {
		return f, nil
	}
	f := &flight{done: make(chan struct{})}
	k.flights[name] = f
	detached := context.WithoutCancel(ctx) // each step of it is bounded
	k.jobs.Go(func() {
		f.err = k.renew(detached, name, d, stale)
		k.mu.Lock()
		delete(k.flights, name)
		k.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

// renew takes the lease, sends the refresh token, and stores what comes back. It returns nil as soon as the stored tokens are not those
// with the id stale, whoever renewed them.
func (k *Keeper) renew(ctx context.Context, name string, d definition.Definition, stale string) error {
	holder := rand.Text()
	r, err := k.lease(ctx, name, d, stale, holder)
	if err != nil || r.Lease == nil {
		return err
	}
	t, err := k.askTokens(ctx, d, *r.Discovery, *r.Client, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {r.Tokens.Refresh},
	})
	if err != nil {
		return k.failed(ctx, name, stale, holder, r, err)
	}
	t.ID, t.Renewed = rand.Text(), true
	if t.Refresh == "" {
		t.Refresh = r.Tokens.Refresh
	}
	if len(t.Scope) == 0 {
		t.Scope = r.Tokens.Scope
	}
	err = k.settle(ctx, name, t, stale)
	if errors.Is(err, errDropped) {
		k.Log.Info("renewed tokens of an MCP server are dropped: meanwhile somebody logged out or in", "server", name)
		if now, _, err := k.load(ctx, name); err == nil && now.Tokens == nil { // after another login the server might end that too
			k.revoke(ctx, name, d, r, t)
		}
		return nil // whoever waits looks at what is stored now
	}
	return err
}

// lease waits until nobody holds the lease and takes it. The record that it returns has no lease when there is nothing to renew any
// more.
func (k *Keeper) lease(ctx context.Context, name string, d definition.Definition, stale, holder string) (record, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaseFor+early, errOccupied)
	defer cancel()
	for try := 0; ; try++ {
		server, err := canonical(d)
		if err != nil {
			return record{}, err
		}
		r, revision, err := k.load(ctx, name)
		if err != nil {
			return record{}, err
		}
		t, why := r.tokensFor(server.String(), k.Now())
		switch {
		case t == nil:
			return record{}, &ErrLogin{name, why}
		case t.ID != stale:
			return record{}, nil
		case t.Refresh == "" || r.Client == nil || r.Discovery == nil:
			return record{}, &ErrLogin{name, "its token is not good any more and cannot be renewed"}
		}
		if r.Lease.heldAt(k.Now()) {
			if err := k.pause(ctx, leaseLook); err != nil {
				return record{}, err
			}
			continue
		}
		r.Lease = &lease{holder, k.Now().Add(leaseFor)}
		if err = k.save(ctx, name, r, revision); errors.Is(err, ErrConflict) {
			if err := k.pause(ctx, backOff(try)); err != nil {
				return record{}, err
			}
			continue
		}
		return r, err
	}
}

// settle stores tokens in the place of those that they renew, and ends the lease. A store that does not answer is asked again: the old
// refresh token is burnt.
func (k *Keeper) settle(ctx context.Context, name string, t tokens, stale string) error {
	ctx, cancel := context.WithTimeout(ctx, maxTimeout)
	defer cancel()
	for {
		err := k.change(ctx, name, func(r *record) (bool, error) {
			if r.Tokens == nil || r.Tokens.ID != stale {
				return false, errDropped
			}
			r.Tokens, r.Lease = &t, nil
			return true, nil
		})
		if err == nil || errors.Is(err, errDropped) {
			return err
		}
		k.Log.Warn("renewed tokens of an MCP server cannot be stored yet", "server", name, "err", err)
		if k.wait(ctx, saveAgain, nil) != nil {
			return err
		}
	}
}

// failed ends the lease after a refresh that brought nothing. What the server has refused for good is marked, so that nobody asks again.
func (k *Keeper) failed(ctx context.Context, name, stale, holder string, was record, why error) error {
	forgotten := was.Client.Kind == byRegisterer && is(why, "invalid_client", "unauthorized_client")
	over := forgotten || is(why, "invalid_grant")
	ctx, cancel := context.WithTimeout(ctx, maxTimeout)
	defer cancel()
	err := k.change(ctx, name, func(r *record) (bool, error) {
		if r.Lease == nil || r.Lease.Holder != holder {
			return false, nil
		}
		r.Lease = nil
		if over && r.Tokens != nil && r.Tokens.ID == stale {
			dead := *r.Tokens
			dead.Dead = true
			r.Tokens = &dead
		}
		if forgotten {
			r.Client = nil
		}
		return true, nil
	})
	switch {
	case over:
		return &ErrLogin{name, why.Error()}
	case err != nil:
		return fmt.Errorf("renew the token of %s: %w (and the lease stays until it ends: %w)", name, why, err)
	}
	return fmt.Errorf("renew the token of %s: %w", name, why)
}

// pause waits, unless the keeper is closed.
func (k *Keeper) pause(ctx context.Context, d time.Duration) error { return k.wait(ctx, d, k.stop) }

func (k *Keeper) wait(ctx context.Context, d time.Duration, stop <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-stop:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
