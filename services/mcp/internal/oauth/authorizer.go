package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

const (
	graceFor   = 10 * time.Second // how long after a refresh a refused request may still have carried the token before it
	maxExcused = 16               // refusals in that time, for each token
)

// Authorizer gives the requests to one server their token. Its methods may be called from any goroutine.
type Authorizer struct {
	k    *Keeper
	name string
	d    definition.Definition

	mu      sync.Mutex
	last    string // guarded by mu; id of the tokens handed out last
	excused int    // guarded by mu; refusals of requests with these that were put down to the tokens before
}

// Authorizer returns the one of a server. It is good until the definition changes.
func (k *Keeper) Authorizer(name string, d definition.Definition) *Authorizer {
	return &Authorizer{k: k, name: name, d: d}
}

// Authorization returns the value of the Authorization header, after a refresh if the token is about to end. An *ErrLogin says that a
// person has to log in.
func (a *Authorizer) Authorization(ctx context.Context) (string, error) {
	t, err := a.k.usable(ctx, a.name, a.d)
	if err != nil {
		return "", err
	}
	if t.dueAt(a.k.Now()) {
		next, err := a.k.renewed(ctx, a.name, a.d, t.ID)
		var login *ErrLogin
		switch {
		case err == nil:
			t = next
		case errors.As(err, &login) || ctx.Err() != nil || !t.aliveAt(a.k.Now()):
			return "", err
		default: // it is still good for a moment; the next request tries again
			a.k.Log.Warn("the token of an MCP server could not be renewed yet", "server", a.name, "err", err)
		}
	}
	a.mu.Lock()
	if a.last != t.ID {
		a.last, a.excused = t.ID, 0
	}
	a.mu.Unlock()
	return "Bearer " + t.Access, nil
}

// Refused says what follows when the server has refused a request. challenge is its WWW-Authenticate header; several are joined with
// ", ". With retry the request may be sent once more, with what Authorization returns then: whoever calls does that once for each
// request. Without retry and error the refusal has nothing to do with the token.
func (a *Authorizer) Refused(ctx context.Context, status int, challenge string) (retry bool, err error) {
	c := bearer([]string{challenge})
	switch {
	case status == http.StatusForbidden && c["error"] == "insufficient_scope":
		return false, a.stepUp(ctx, scopes(c["scope"]))
	case status != http.StatusUnauthorized:
		return false, nil
	}
	t, err := a.k.usable(ctx, a.name, a.d)
	if err != nil {
		return false, err
	}
	if a.stale(t) {
		return true, nil
	}
	if t.Refresh == "" {
		return false, a.dead(ctx, t, c["error"] == "invalid_token")
	}
	if _, err = a.k.renewed(ctx, a.name, a.d, t.ID); err != nil {
		return false, err
	}
	return true, nil
}

// stale says whether the refused request may have carried other tokens than those that are stored: many requests are under way when one
// of them is the first to be refused, and their refusals do not burn one refresh token each.
func (a *Authorizer) stale(t tokens) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != t.ID {
		return true
	}
	if !t.Renewed || a.k.Now().Sub(t.Got) >= graceFor || a.excused == maxExcused {
		return false
	}
	a.excused++
	return true
}

// dead ends a login whose token is refused and cannot be renewed; for good only if the server says that the token is the reason.
func (a *Authorizer) dead(ctx context.Context, t tokens, forGood bool) error {
	if forGood {
		err := a.k.change(ctx, a.name, func(r *record) (bool, error) {
			if r.Tokens == nil || r.Tokens.ID != t.ID {
				return false, nil
			}
			dead := *r.Tokens
			dead.Dead = true
			r.Tokens = &dead
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return &ErrLogin{a.name, "the server refuses its token, which cannot be renewed"}
}

// stepUp keeps what the server asks for, for the next login. A refresh could not bring it; the tokens stay in use for all else.
func (a *Authorizer) stepUp(ctx context.Context, wanted []string) error {
	server, err := canonical(a.d)
	if err != nil {
		return err
	}
	err = a.k.change(ctx, a.name, func(r *record) (bool, error) {
		if r.Resource != server.String() || r.Tokens == nil {
			return false, nil
		}
		all := scopes(append(slices.Clone(r.Wanted), wanted...)...)
		if r.StepUp && slices.Equal(all, r.Wanted) {
			return false, nil
		}
		r.StepUp, r.Wanted = true, all
		return true, nil
	})
	if err != nil {
		return err
	}
	reason := "the server wants more scope than was granted"
	if len(wanted) > 0 {
		reason = fmt.Sprintf("the server wants the scope %q", strings.Join(wanted, " "))
	}
	return &ErrLogin{a.name, reason}
}
