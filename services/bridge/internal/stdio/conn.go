package stdio

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn is what the SDK has of a transport.
type conn struct{ t *Transport }

// SessionID is "": a process has one session, which needs no name.
func (conn) SessionID() string { return "" }

// Close ends both directions without waiting for what is under way.
func (c conn) Close() error {
	c.t.end(nil)
	return nil
}

// Read gives the next message that is one.
func (c conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.t.incoming:
		return m, nil
	case <-c.t.closed:
		if err := c.t.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message and waits until it has left.
func (c conn) Write(ctx context.Context, m jsonrpc.Message) error {
	f := frame{done: make(chan error, 1)}
	if r, ok := m.(*jsonrpc.Response); ok {
		if r.ID == syncID {
			c.t.synced <- struct{}{} // never full: the reader waits for each
			return nil
		}
		f.answers = r.ID
	}
	var err error
	if f.line, err = jsonrpc.EncodeMessage(m); err != nil {
		c.t.flights.leave(f.answers) // it will not be answered any more
		c.t.flights.left()
		return err
	}
	f.line = append(f.line, '\n')
	return c.t.send(ctx, f)
}

// frame is a message on its way out.
type frame struct {
	line    []byte
	answers jsonrpc.ID // of the request that it answers, if any
	done    chan error // of one, so that the writer never waits
}

// send hands a frame to the writer and waits for what becomes of it.
func (t *Transport) send(ctx context.Context, f frame) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t.outgoing <- f:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.closed:
		return t.closedErr()
	}
	select {
	case err := <-f.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-t.closed:
	}
	select {
	case err := <-f.done: // it left before the end, or was the cause of it
		return err
	default:
		return t.closedErr()
	}
}

func (t *Transport) closedErr() error {
	if err := t.Err(); err != nil {
		return fmt.Errorf("%w: %w", mcp.ErrConnectionClosed, err)
	}
	return mcp.ErrConnectionClosed
}

// write is the writer.
func (t *Transport) write() {
	for {
		select {
		case f := <-t.outgoing:
			// Before it is written: a client that has read the answer may use its id and its place again at once.
			t.flights.leave(f.answers)
			_, err := t.out.Write(f.line)
			t.flights.left()
			if err != nil {
				err = fmt.Errorf("write to the client: %w", err)
				f.done <- err
				t.end(err)
				return
			}
			f.done <- nil
		case <-t.closed:
			return
		}
	}
}
