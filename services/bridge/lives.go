package bridge

import (
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lives are the HTTP sessions: whose each is, and what ends its calls. The SDK lets a session's end wait for them.
type lives struct {
	mu   sync.Mutex
	all  context.Context //nolint:containedctx // of every call: it ends with the server
	over context.CancelFunc
	by   map[string]*life // guarded by mu; by the session's id
}

type life struct {
	user  string
	ctx   context.Context //nolint:containedctx // of the session's calls
	leave context.CancelFunc
}

func newLives() *lives {
	all, end := context.WithCancel(context.Background())
	return &lives{all: all, over: end, by: map[string]*life{}}
}

func (l *lives) begin(id, user string) {
	if id == "" {
		return
	}
	ctx, leave := context.WithCancel(l.all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[id] = &life{user: user, ctx: ctx, leave: leave}
}

// end ends the calls of a session.
func (l *lives) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.by[id]; one != nil {
		one.leave()
		delete(l.by, id)
	}
}

func (l *lives) endAll() { l.over() }

// full says why nobody, or this user, may open another session; "" when they may. Sessions that have ended by themselves are
// forgotten.
func (l *lives) full(s *mcp.Server, user string) string {
	open := map[string]bool{}
	for session := range s.Sessions() {
		open[session.ID()] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	own := 0
	for id, one := range l.by {
		switch {
		case !open[id]:
			one.leave()
			delete(l.by, id)
		case one.user == user:
			own++
		}
	}
	switch {
	case len(open) >= maxSessions:
		return fmt.Sprintf("%d sessions are open: end one, or try again later", maxSessions)
	case own >= maxEach && user != "":
		return fmt.Sprintf("%d sessions of this token are open: end one, or try again later", maxEach)
	}
	return ""
}

// of is what bounds the calls of a session.
func (l *lives) of(id string) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.by[id]; one != nil {
		return one.ctx
	}
	return l.all
}

// bound ends calls with their session.
func (l *lives) bound(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(l.of(r.GetSession().ID()), cancel)
		defer stop()
		return next(ctx, method, r)
	}
}
