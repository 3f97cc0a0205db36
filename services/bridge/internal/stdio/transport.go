package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// DefaultMaxLine is the longest line in bytes where the options name none.
	DefaultMaxLine = 4 << 20
	// DefaultMaxInFlight is how many requests may be unanswered where the options name no number.
	DefaultMaxInFlight = 256
	// DefaultLinger is what is left to calls under way when the client has closed its end, where the options say nothing.
	DefaultLinger = time.Second
)

// Options say what to speak over. The transport owns In and Out: those that are io.Closers it closes when it ends.
type Options struct {
	In          io.Reader
	Out         io.Writer
	MaxLine     int // bytes, without the line's end; 0: DefaultMaxLine
	MaxInFlight int // 0: DefaultMaxInFlight
	// Linger is how long requests that were read before the end of stdin may still take. 0: DefaultLinger; negative: no time.
	Linger time.Duration
	// OnNotification is shown each notification, in order with all other messages, before the SDK sees it; true: it is taken,
	// and the SDK does not see it. The reader waits for it. nil: none is taken.
	OnNotification func(method string, params json.RawMessage) bool
	Log            *slog.Logger // what was refused, at debug level, without its contents; nil: nothing
}

// Transport is an mcp.Transport for one session of a server.
type Transport struct {
	in          io.Reader
	out         io.Writer
	maxLine     int
	lingers     time.Duration
	onNote      func(string, json.RawMessage) bool
	log         *slog.Logger
	flights     *flights
	incoming    chan jsonrpc.Message // unbuffered, from the reader to Read
	outgoing    chan frame           // unbuffered, to the writer
	synced      chan struct{}        // of one; the SDK has answered the reader's own ping
	closed      chan struct{}        // closed when both directions have ended
	mu          sync.Mutex
	connected   bool        // guarded by mu
	left        bool        // guarded by mu; the client has closed stdin: whatever fails now, it is gone
	ended       bool        // guarded by mu
	err         error       // guarded by mu; why it ended, nil for a clean end
	forgetOwner func() bool // guarded by mu; stops watching the context of Connect
}

var errNotConnected = errors.New("the stdio transport is not connected")

// New makes a transport that does nothing before Connect, which also tells when In or Out is missing.
func New(o Options) *Transport {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Linger == 0 {
		o.Linger = DefaultLinger
	}
	if o.OnNotification == nil {
		o.OnNotification = func(string, json.RawMessage) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Transport{
		in: o.In, out: o.Out, maxLine: o.MaxLine, lingers: o.Linger, onNote: o.OnNotification, log: o.Log,
		flights:  newFlights(o.MaxInFlight, 8*o.MaxLine),
		incoming: make(chan jsonrpc.Message),
		outgoing: make(chan frame),
		synced:   make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
}

// Connect starts reading and writing; it can be called once. The connection lives no longer than ctx.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.in == nil || t.out == nil:
		return nil, errors.New("the stdio transport needs something to read from and to write to")
	case t.connected:
		return nil, errors.New("the stdio transport was connected before")
	}
	t.connected = true
	t.forgetOwner = context.AfterFunc(ctx, func() { t.end(context.Cause(ctx)) })
	go t.write()
	go t.read()
	return conn{t}, nil
}

// Notify sends a notification of any method to the client, params as JSON. When ctx ends while it is written, it may still arrive.
func (t *Transport) Notify(ctx context.Context, method string, params any) error {
	t.mu.Lock()
	connected := t.connected
	t.mu.Unlock()
	if !connected {
		return errNotConnected
	}
	m := &jsonrpc.Request{Method: method}
	if params != nil {
		var err error
		if m.Params, err = json.Marshal(params); err != nil {
			return fmt.Errorf("notify %s: %w", method, err)
		}
	}
	if err := (conn{t}).Write(ctx, m); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// Err says why the transport has ended; nil while it has not, when the client has closed stdin, and after Close.
func (t *Transport) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// hangUp notes that nothing more comes. A client that has gone leaves a broken pipe behind, which is no trouble then.
func (t *Transport) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
}

// end ends both directions; the first cause counts.
func (t *Transport) end(cause error) {
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return
	}
	t.ended = true
	if !t.left {
		t.err = cause
	}
	forget := t.forgetOwner
	t.mu.Unlock()
	forget()
	close(t.closed)
	for _, end := range []any{t.in, t.out} {
		if c, ok := end.(io.Closer); ok {
			_ = c.Close() // whoever waits in it is told; there is nobody else to tell
		}
	}
}
