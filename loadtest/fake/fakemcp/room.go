package fakemcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// room has the calls that wait to be released. Nothing is queued in it: a call that comes after a release waits for the next.
type room struct {
	mu       sync.Mutex
	inside   int           // guarded by mu
	came     chan struct{} // guarded by mu; closed and replaced with each that comes in
	released chan struct{} // guarded by mu; closed and replaced with each release
	text     string        // guarded by mu; of the last release
}

func newRoom() *room { return &room{came: make(chan struct{}), released: make(chan struct{})} }

func (r *room) await(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, error) {
	r.mu.Lock()
	r.inside++
	close(r.came)
	r.came = make(chan struct{})
	released := r.released
	r.mu.Unlock()
	select {
	case <-released:
		r.mu.Lock()
		defer r.mu.Unlock()
		return said("%s", r.text), nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if released == r.released { // else the release has let it out
			r.inside--
		}
		return nil, context.Cause(ctx)
	}
}

func (r *room) awaited(ctx context.Context, _ *mcp.CallToolRequest, in callsArgs) (*mcp.CallToolResult, error) {
	for {
		r.mu.Lock()
		inside, came := r.inside, r.came
		r.mu.Unlock()
		if inside >= in.Calls {
			return said("%d", inside), nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *room) release(_ context.Context, _ *mcp.CallToolRequest, in bigArgs) (*mcp.CallToolResult, error) {
	text := in.text()
	r.mu.Lock()
	defer r.mu.Unlock()
	inside := r.inside
	r.inside, r.text = 0, text
	close(r.released)
	r.released = make(chan struct{})
	return said("%d", inside), nil
}
