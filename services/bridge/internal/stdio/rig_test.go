package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a real server of the SDK, and its client by hand.
type rig struct {
	t         *testing.T
	transport *stdio.Transport
	session   *mcp.ServerSession
	in        io.Writer      // what the client writes to
	hangUp    func()         // closes stdin
	out       *bufio.Scanner // what the client reads
	outPipe   *io.PipeReader
	held      atomic.Int64  // calls of "hold" that run
	release   chan struct{} // closed: they return
	noted     atomic.Int64  // progress notifications that the SDK has handled
	onNote    func()        // before each is handled
}

type echoed struct {
	Text string `json:"text"`
}

// start connects a server; change may be nil.
func start(t *testing.T, change func(*rig, *stdio.Options)) *rig {
	t.Helper()
	r := &rig{t: t, release: make(chan struct{}), onNote: func() {}}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	r.in, r.outPipe, r.hangUp = inW, outR, func() { _ = inW.Close() }
	o := stdio.Options{In: inR, Out: outW}
	if change != nil {
		change(r, &o)
	}
	r.out = bufio.NewScanner(outR)
	r.out.Buffer(nil, 16<<20)
	r.transport = stdio.New(o)
	var err error
	if r.session, err = r.server().Connect(t.Context(), r.transport, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.hangUp()
		_ = outR.Close()
		_ = r.session.Wait()
	})
	return r
}

func (r *rig) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) {
			r.onNote()
			r.noted.Add(1)
		},
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		return nil, in, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hold"}, func(ctx context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
		r.held.Add(1)
		defer r.held.Add(-1)
		select {
		case <-r.release:
		case <-ctx.Done():
		}
		return nil, in, nil
	})
	return s
}

// write sends text as it is.
func (r *rig) write(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text); err != nil {
		r.t.Fatal(err)
	}
}

// reply is whatever the server says.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

func (r *rig) read() reply {
	r.t.Helper()
	if !r.out.Scan() {
		r.t.Fatalf("the server has stopped: %v, %v", r.out.Err(), r.transport.Err())
	}
	got, err := decode(r.out.Bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// decode checks that a line is a message of JSON-RPC 2.0.
func decode(line []byte) (reply, error) {
	var got reply
	if err := json.Unmarshal(line, &got); err != nil {
		return got, fmt.Errorf("%q: %w", line, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return got, err
	}
	_, id := fields["id"]
	_, result := fields["result"]
	switch {
	case got.JSONRPC != "2.0":
	case got.Method != "" && !result && got.Error == nil:
		return got, nil
	case got.Method == "" && id && result != (got.Error != nil):
		return got, nil
	}
	return got, errors.New("no message: " + string(line))
}

func (r *rig) ping(id string) {
	r.t.Helper()
	r.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n")
	if got := r.read(); string(got.ID) != id || got.Error != nil {
		r.t.Fatalf("the answer to a ping: %+v", got)
	}
}

func (r *rig) initialize() {
	r.t.Helper()
	r.write(initialize + "\n")
	if got := r.read(); got.Error != nil || !strings.Contains(string(got.Result), "2025-11-25") {
		r.t.Fatalf("%+v", got)
	}
	r.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
}

const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"c","version":"1"}}}`

// callOf is a line that calls a tool.
func callOf(id, tool, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"` + text + `"}}}` + "\n"
}
