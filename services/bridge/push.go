package bridge

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// push calls do for events of some types, in order, from where this server began on until ctx ends. Nothing is queued for it: it reads on from its own
// cursor, from memory or the journal, however slow do is.
func (b *Bridge) push(ctx context.Context, types []event.Type, do func(context.Context, event.Event)) {
	q := query{types: types, limit: pollMost}
	for {
		changed := b.reader.news()
		if start, _, ok := b.reader.ends(); ok {
			q.after = start
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
	for {
		p, changed, err := b.glance(ctx, q)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			b.log.Warn("events are not passed on for a moment", "error", err)
			if _, upto, _ := b.reader.ends(); q.after > upto { // another journal
				q.after = upto
				continue
			}
		}
		for _, e := range p.events {
			do(ctx, e)
		}
		if err == nil {
			q.after = p.next
		}
		if p.more {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// maxNotices is how many resources subscribers are told of at a time: one that does not read holds up only what it has subscribed to,
// until its stream is cut.
const maxNotices = 16

// updates tells subscribers of conversations that there is something new in them.
func (b *Bridge) updates(ctx context.Context, s *mcp.Server) {
	n := notices{server: s, slots: make(chan struct{}, maxNotices), state: map[string]bool{}}
	defer n.running.Wait()
	b.push(ctx, []event.Type{event.MessageType}, func(ctx context.Context, e event.Event) {
		uri := conversationURI(e.Session)
		n.tell(ctx, uri)
		n.tell(ctx, uri+"/"+messagesPart)
	})
}

// notices are on their way to subscribers. Those of one resource go one after the other, and several that wait are one.
type notices struct {
	server  *mcp.Server
	slots   chan struct{}
	running sync.WaitGroup
	mu      sync.Mutex
	state   map[string]bool // guarded by mu; by URI, those that are being told of: whether there is more since
}

func (n *notices) tell(ctx context.Context, uri string) {
	n.mu.Lock()
	_, busy := n.state[uri]
	n.state[uri] = busy
	n.mu.Unlock()
	if busy {
		return
	}
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	n.running.Go(func() {
		defer func() { <-n.slots }()
		for more := true; more; {
			_ = n.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // it never fails; who is gone is not told
			n.mu.Lock()
			if more = n.state[uri]; more {
				n.state[uri] = false
			} else {
				delete(n.state, uri)
			}
			n.mu.Unlock()
		}
	})
}
