package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// connections are those with a request at work. http.Server.Shutdown alone waits five seconds for connections that a
// client opened and never used, as Go's own client does under load.
type connections struct {
	mu    sync.Mutex
	busy  map[net.Conn]struct{} // guarded by mu
	quiet chan struct{}         // guarded by mu until made; nil before stop, closed when busy is empty
}

func newConnections() *connections { return &connections{busy: make(map[net.Conn]struct{})} }

// changed is http.Server.ConnState: a connection is idle again only when its answer was flushed.
func (c *connections) changed(conn net.Conn, st http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st == http.StateActive {
		c.busy[conn] = struct{}{}
		return
	}
	if _, ok := c.busy[conn]; !ok {
		return
	}
	delete(c.busy, conn)
	if len(c.busy) == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// stop returns what is closed once no connection is busy.
func (c *connections) stop() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	quiet := make(chan struct{})
	if len(c.busy) == 0 {
		close(quiet)
		return quiet
	}
	c.quiet = quiet
	return quiet
}

// Shutdown takes no new connections, waits for the requests at work until ctx ends, then closes all. draining is closed
// before. It is called once.
func (s *Server) Shutdown(ctx context.Context) error {
	closed := make(chan struct{})
	limit, cancel := context.WithCancel(ctx)
	go func() {
		defer close(closed)
		_ = s.http.Shutdown(limit) // closes the listener and the idle connections at once; the rest is waited for here
	}()
	var err error
	select {
	case <-closed:
	case <-s.conns.stop():
	case <-ctx.Done():
		err = fmt.Errorf("drain http: requests still ran: %w", context.Cause(ctx))
	}
	_ = s.http.Close() // has nothing to say that could be acted upon
	cancel()
	<-closed
	return err
}
