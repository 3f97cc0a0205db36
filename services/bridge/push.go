package bridge

import (
	"context"

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

// updates tells subscribers of conversations that there is something new in them.
func (b *Bridge) updates(ctx context.Context, s *mcp.Server) {
	b.push(ctx, []event.Type{event.MessageType}, func(ctx context.Context, e event.Event) {
		for _, uri := range []string{conversationURI(e.Session), conversationURI(e.Session) + "/" + messagesPart} {
			if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				b.log.Debug("a subscriber was not told", "uri", uri, "error", err)
			}
		}
	})
}
