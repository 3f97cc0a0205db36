package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// The connections of a server: who gets which one, and which ones nobody needs any more.

const (
	// briefly is how long a connection stays that was opened to find out what a server offers.
	briefly = 10 * time.Second
	// maxPerSession bounds the connections of one server that has one for each conversation.
	maxPerSession = 64
)

// keyOf is whose connection a conversation uses.
func (u *upstream) keyOf(id session.ID) session.ID {
	if u.conf.ScopeOr() == definition.PerSession {
		return id
	}
	return ""
}

// acquire is the connection of a conversation, opened if there is none. Who has it calls release.
func (u *upstream) acquire(ctx context.Context, id session.ID, brief bool) (*link, error) {
	for try := 1; ; {
		l, err := u.seize(ctx, id, brief)
		if err != nil {
			return nil, err
		}
		select {
		case <-l.open:
		case <-ctx.Done():
			u.release(l)
			return nil, context.Cause(ctx)
		}
		select {
		case <-l.retired: // while it was opened
			u.release(l)
			continue
		default:
		}
		if l.err != nil {
			u.release(l)
			return nil, l.err
		}
		select {
		case <-l.session.Done(): // it has ended, and that was not noticed yet
			why := l.why()
			if try == tries { // or it always does, at once
				l.broke(ctx, why, true)
			}
			u.release(l)
			l.end(why)
			if try == tries {
				return nil, fmt.Errorf("it ends as soon as it is connected: %s", why)
			}
			try++
		default:
			return l, nil
		}
	}
}

// tries is how many connections that have ended are taken for the ones of before.
const tries = 2

// seize takes a connection in use that may not be open yet.
func (u *upstream) seize(ctx context.Context, id session.ID, brief bool) (*link, error) {
	for {
		u.mu.Lock()
		key := u.keyOf(id)
		l := u.links[key]
		var wait <-chan struct{}
		switch {
		case !u.on:
			u.mu.Unlock()
			return nil, fmt.Errorf("the server %s %w", u.name, errNoServer)
		case l != nil:
		case len(u.links) >= maxPerSession:
			if old := u.oldest(); old != nil {
				wait = old.gone
				delete(u.links, old.key) // before anybody takes it in use
				u.old[old] = true
				u.mu.Unlock()
				u.s.endAll([]*link{old}, "others need a connection, too")
				break
			}
			u.mu.Unlock()
			return nil, fmt.Errorf("the server %s has %d connections, as many as it may have: try again later", u.name, maxPerSession)
		case u.leaving() != nil: // two processes of one server could be in each other's way
			wait = u.leaving().gone
			u.mu.Unlock()
		default:
			l = newLink(u, key)
			u.links[key] = l
			u.s.spawn(l.run)
		}
		if wait == nil {
			l.users++
			l.brief = l.brief && brief
			u.mu.Unlock()
			return l, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// oldest is the connection that nobody has used for the longest; nil when all are in use. u.mu is held.
func (u *upstream) oldest() *link {
	var found *link
	for _, l := range u.links {
		if l.users == 0 && (found == nil || l.used.Before(found.used)) {
			found = l
		}
	}
	return found
}

// leaving is a shared connection that is about to end with nobody using it; nil for none. u.mu is held.
func (u *upstream) leaving() *link {
	for l := range u.old {
		if l.users == 0 && l.key == "" {
			return l
		}
	}
	return nil
}

// release gives a connection back.
func (u *upstream) release(l *link) {
	u.mu.Lock()
	l.users--
	l.used = time.Now()
	last := l.users == 0 && u.old[l]
	u.mu.Unlock()
	if last {
		u.s.endAll([]*link{l}, errRetired.Error())
	}
}

// abandon ends a connection that a call has found lost, and has nobody take it any more, even if its own end is not noticed yet.
func (u *upstream) abandon(l *link, why string) {
	u.mu.Lock()
	if u.links[l.key] == l {
		delete(u.links, l.key)
		u.old[l] = true
	}
	u.mu.Unlock()
	u.s.endAll([]*link{l}, why)
}

// idle takes away the connections that nobody has used for a while, and returns them.
func (u *upstream) idle(now time.Time) []*link {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []*link
	limit := u.resolved.IdleTimeout()
	for key, l := range u.links {
		if l.users > 0 || now.Sub(l.used) < limit && (!l.brief || now.Sub(l.used) < briefly) {
			continue
		}
		delete(u.links, key)
		u.old[l] = true
		list = append(list, l)
	}
	return list
}

// endAll ends connections beside.
func (s *Service) endAll(links []*link, why string) {
	for _, l := range links {
		s.work.Go(func() { l.end(why) })
	}
}

// endLinks ends all connections, and returns when they have ended.
func (s *Service) endLinks() {
	for _, u := range s.all() {
		u.mu.Lock()
		u.on = false
		all := u.retire()
		for l := range u.old {
			all = append(all, l)
		}
		u.mu.Unlock()
		s.endAll(all, errStopped.Error())
	}
}

// part ends the connection of a conversation that is no more.
func (u *upstream) part(id session.ID) {
	u.mu.Lock()
	l := u.links[id]
	if l != nil && id != "" {
		delete(u.links, id)
		u.old[l] = true
	}
	u.mu.Unlock()
	if l != nil {
		u.s.endAll([]*link{l}, "its conversation was deleted")
	}
}
