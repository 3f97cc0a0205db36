package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// settleTime lets a server that changes its lists one tool after the other come to an end.
	settleTime = 50 * time.Millisecond
	// changeRest is what passes between two announcements.
	changeRest = 500 * time.Millisecond
)

// changes are the lists that have changed and were not announced yet. It never blocks whoever notes one, and keeps one of each
// kind: what was missed is not counted.
type changes struct {
	mu    sync.Mutex
	kinds map[Kind]bool
	wake  chan struct{}
}

func newChanges() *changes {
	return &changes{kinds: map[Kind]bool{}, wake: make(chan struct{}, 1)}
}

func (c *changes) note(kind Kind) {
	c.mu.Lock()
	c.kinds[kind] = true
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *changes) take() map[Kind]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := c.kinds
	c.kinds = map[Kind]bool{}
	return kinds
}

// announce tells changed of changes until over.
func (c *changes) announce(over <-chan struct{}, changed func(Kind)) {
	for {
		select {
		case <-over:
			return
		case <-c.wake:
		}
		if !pause(over, settleTime) {
			return
		}
		kinds := c.take()
		for _, kind := range []Kind{KindTools, KindResources, KindPrompts} {
			if kinds[kind] {
				changed(kind)
			}
		}
		if !pause(over, changeRest-settleTime) {
			return
		}
	}
}

// pause waits, unless it is over.
func pause(over <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-over:
		return false
	case <-t.C:
		return true
	}
}

const (
	firstReopen = time.Second
	maxReopen   = time.Minute
)

// listen keeps open the request that a server of 2026-07-28 sends its notifications on. What was announced while it was down is
// unknown: all lists count as changed then.
func (s *Session) listen() {
	lists := s.info.ListChanged
	wait := firstReopen
	for {
		began := time.Now()
		err := s.hear(&mcp.SubscriptionsListenParams{Notifications: &mcp.NotificationSubscriptions{
			ToolsListChanged: lists.Tools, ResourcesListChanged: lists.Resources, PromptsListChanged: lists.Prompts,
		}})
		rpc, answered := errors.AsType[*jsonrpc.Error](err)
		if answered && (rpc.Code == jsonrpc.CodeMethodNotFound || rpc.Code == jsonrpc.CodeInvalidParams) {
			return // it announces changes, and does not offer to hear of them
		}
		if time.Since(began) > maxReopen {
			wait = firstReopen
		}
		if !pause(s.life.done(), wait) {
			return
		}
		wait = min(2*wait, maxReopen)
		for kind, ok := range map[Kind]bool{KindTools: lists.Tools, KindResources: lists.Resources, KindPrompts: lists.Prompts} {
			if ok {
				s.changed.note(kind)
			}
		}
	}
}

func (s *Session) hear(p *mcp.SubscriptionsListenParams) error {
	ctx, release := s.life.tie(context.Background())
	defer release(nil)
	_, err := mcp.CallCustomMethod[*mcp.SubscriptionsListenParams, *mcp.SubscriptionsListenResult](
		ctx, s.mcp, ours+"subscriptions/listen", p)
	return err
}
