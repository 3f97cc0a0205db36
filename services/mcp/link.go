package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/schemas/mcpv1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/oauth"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// link is a connection to a server: that of all conversations, or of one. It is opened once and ends once.
type link struct {
	u    *upstream
	key  session.ID
	open chan struct{} // closed once it is open, or could not be opened
	gone chan struct{} // closed once nothing is left of it

	retired chan struct{} // closed, under u.mu, once the configuration has changed: it is not for new calls
	listing chan struct{} // of size 1: one list at a time is read of it

	// Set before open is closed.
	session *client.Session
	err     error

	endOnce sync.Once
	lost    atomic.Bool // its end is counted as a failure

	program program // none for HTTP

	mu      sync.Mutex
	errands []*presence // guarded by mu; calls that it carries out

	users int       // guarded by u.mu
	used  time.Time // guarded by u.mu; when the last user left
	brief bool      // guarded by u.mu: it was opened to look only
}

// endTime is how long a server has to let go.
const endTime = 8 * time.Second

func newLink(u *upstream, key session.ID) *link {
	return &link{
		u: u, key: key, open: make(chan struct{}), gone: make(chan struct{}), retired: make(chan struct{}), listing: make(chan struct{}, 1),
		brief: true, used: time.Now(),
	}
}

// run opens the connection and waits for its end.
func (l *link) run(ctx context.Context) {
	opening, stop := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.retired:
			stop(errRetired)
		case <-opening.Done():
		}
	}()
	l.session, l.err = l.connect(opening)
	if l.err == nil {
		l.err = l.greet(opening)
	}
	stop(nil)
	close(l.open)
	if l.err != nil {
		l.failed(ctx, l.err)
		l.end("it could not be used")
		return
	}
	<-l.session.Done()
	l.end(l.why())
}

var errRetired = errors.New("its configuration has changed")

// isRetired says whether the configuration has changed since it was begun: what becomes of it says nothing of the server.
func (l *link) isRetired() bool {
	select {
	case <-l.retired:
		return true
	default:
		return false
	}
}

// connect reaches the server.
func (l *link) connect(ctx context.Context) (*client.Session, error) {
	u := l.u
	d, err := u.definitionNow()
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	legacy := u.legacy
	u.mu.Unlock()
	o := u.s.options(u.name, d)
	o.Legacy, o.Changed = legacy, u.changed
	if d.Elicitation {
		o.Elicit = l.elicit
	}
	if d.TransportName() == definition.Stdio {
		o.Open = func(ctx context.Context) (client.Pipe, error) { return l.program.start(ctx, u.s.command(u.name, d)) }
	}
	session, err := client.Connect(ctx, o)
	if err != nil {
		return nil, l.program.explain(err)
	}
	return session, nil
}

// greet takes over what the server says of itself and offers.
func (l *link) greet(ctx context.Context) error {
	u, info := l.u, l.session.Info()
	u.mu.Lock()
	if !l.isRetired() {
		u.legacy, u.login = info.Legacy, nil
	}
	u.mu.Unlock()
	u.tell(ctx, mcpv1.Connected{
		Transport: u.transport(), Protocol: info.Protocol, Name: info.Name, Version: info.Version, Worker: u.s.conn.Instance(),
	})
	return u.list(ctx, l)
}

func (u *upstream) transport() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.resolved.TransportName()
}

// failed takes note of a connection that could not be opened.
func (l *link) failed(ctx context.Context, err error) {
	u := l.u
	login := needsLogin(err)
	u.mu.Lock()
	if l.isRetired() {
		u.mu.Unlock()
		return
	}
	u.wrong, u.stderr = u.s.redact(err.Error()), l.program.said()
	if login {
		u.login = err
	}
	u.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case login: // whoever runs it has to do something; it is not broken
		u.log.Warn("an MCP server cannot be used", "error", err)
		u.withdraw(ctx)
	default:
		l.broke(ctx, err.Error(), true)
	}
}

// broke counts a failure. However many calls the end of a connection ends, that is one.
func (l *link) broke(ctx context.Context, reason string, lost bool) {
	if lost && !l.lost.CompareAndSwap(false, true) || l.isRetired() {
		return
	}
	l.u.note(ctx, server.Broke{Reason: l.u.s.redact(reason)})
}

// needsLogin says whether somebody has to log in first.
func needsLogin(err error) bool {
	var login *oauth.ErrLogin
	var refused *client.RefusedError
	return errors.As(err, &login) || errors.As(err, &refused)
}

// why is the reason for an end that came by itself.
func (l *link) why() string {
	if err := l.session.Err(); err != nil {
		return l.program.explain(err).Error()
	}
	return "it has ended"
}

// end closes the connection and ends the program with all that it has started.
func (l *link) end(why string) {
	l.endOnce.Do(func() {
		u := l.u
		u.mu.Lock()
		if u.links[l.key] == l {
			delete(u.links, l.key)
		}
		u.old[l] = true // while it lasts
		u.mu.Unlock()
		<-l.open
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if l.session != nil {
			_ = l.session.Close(ctx) // it is closed either way
		}
		if err := l.program.end(ctx); err != nil {
			u.log.Warn("a program did not end in time", "error", err)
		}
		u.mu.Lock()
		delete(u.old, l)
		if said := l.program.said(); said != "" {
			u.stderr = said
		}
		u.mu.Unlock()
		close(l.gone)
		if l.session != nil {
			u.tell(ctx, mcpv1.Closed{Reason: clip(u.s.redact(why)), Worker: u.s.conn.Instance()})
		}
	})
	<-l.gone
}

func clip(text string) string {
	if len(text) > 300 {
		return strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
