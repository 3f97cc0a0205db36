package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// legacy are the versions of the protocol that have a session, in which a server can speak first.
func legacy() []string { return []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} }

// ServeStdio serves one client, over its standard streams, until it closes its end or ctx ends. An error says why the transport has
// failed. in may still be read from when it returns: it is the process's own.
func (b *Bridge) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var push *channel
	o := options{}
	t := stdio.New(stdio.Options{
		In: in, Out: out, Log: b.log,
		OnNotification: func(method string, params json.RawMessage) bool {
			return push != nil && method == requestMethod && push.take(params)
		},
	})
	if b.config.Agent == "" && b.config.Claude != Off {
		push = newChannel(b, t.Notify)
		o = options{experimental: channelCapabilities(), versions: legacy(), initialized: push.initialized}
	}
	s, run, err := b.serverOf(o)
	if err != nil {
		return err
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { run(ctx) })
	if push != nil {
		beside.Go(func() { push.run(ctx) })
	}
	session, err := s.Connect(ctx, t, nil)
	if err != nil {
		return fmt.Errorf("serve MCP over stdio: %w", err)
	}
	ended := make(chan struct{})
	beside.Go(func() {
		select {
		case <-ctx.Done():
			_ = session.Close() // Wait says what came of it
		case <-ended:
		}
	})
	_ = session.Wait() // the transport knows better why
	close(ended)
	if err := t.Err(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve MCP over stdio: %w", err)
	}
	return nil
}
