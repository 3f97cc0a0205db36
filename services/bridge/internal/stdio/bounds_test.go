package stdio_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/bridge/internal/stdio"
)

// flood writes lines until the transport is gone, and counts what went in.
func (r *rig) flood(n int, line func(i int) string) (bytes *atomic.Int64, done chan struct{}) {
	bytes, done = new(atomic.Int64), make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			w, err := io.WriteString(r.in, line(i))
			bytes.Add(int64(w))
			if err != nil {
				return
			}
		}
	}()
	return bytes, done
}

// readAhead is more than what lies in the reader's buffer and in the flood's own line.
const readAhead = 128 << 10

// TestClientThatNeverReads: it sends for ever, and gets nowhere.
func TestClientThatNeverReads(t *testing.T) {
	const maxInFlight = 16
	for name, tc := range map[string]struct {
		line func(i int) string
		most int // bytes that may have been taken of it
	}{
		"requests": {
			func(i int) string { return callOf(fmt.Sprint(i), "echo", strings.Repeat("x", 1000)) },
			(maxInFlight + 2) * 2000,
		},
		"requests that run": {
			func(i int) string { return callOf(fmt.Sprint(i), "hold", strings.Repeat("x", 1000)) },
			(maxInFlight + 2) * 2000,
		},
		"garbage":         {func(int) string { return "garbage\n" }, 1000},
		"the same id":     {func(int) string { return callOf("1", "hold", "") }, 1000},
		"too long a line": {func(int) string { return strings.Repeat("x", 1<<20) + "\n" }, 3 << 20},
		"batches":         {func(int) string { return "[]\n" }, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, func(_ *rig, o *stdio.Options) { o.MaxInFlight, o.MaxLine = maxInFlight, 1<<16 })
				r.initialize()
				sent, done := r.flood(1_000_000, tc.line)
				synctest.Wait() // everybody waits for the client
				if n := sent.Load(); n > int64(tc.most+readAhead) {
					t.Errorf("%d bytes were taken", n)
				}
				if n := r.held.Load(); n > maxInFlight {
					t.Errorf("%d calls run", n)
				}
				_ = r.outPipe.Close() // it goes
				<-done
				if err := r.transport.Err(); err == nil || !strings.Contains(err.Error(), "write to the client") {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestBusy: each request is answered, by a refusal where there are too many.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(_ *rig, o *stdio.Options) { o.MaxInFlight = 3 })
		r.initialize()
		for i := range 3 {
			r.write(callOf(fmt.Sprint(i), "hold", ""))
		}
		synctest.Wait()
		for range 100 {
			r.write(callOf(`"more"`, "echo", ""))
			if got := r.read(); got.Error == nil || got.Error.Code != stdio.CodeBusy || string(got.ID) != `"more"` {
				t.Fatalf("%+v", got)
			}
		}
		close(r.release)
		for range 3 {
			if got := r.read(); got.Error != nil {
				t.Errorf("%+v", got.Error)
			}
		}
		r.ping("1")
	})
}

// TestBusyWithBytes: large requests are bounded by their bytes, whatever their number.
func TestBusyWithBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, func(_ *rig, o *stdio.Options) { o.MaxLine = 100_000 })
		r.initialize()
		for i := range 8 {
			r.write(callOf(fmt.Sprint(i), "hold", strings.Repeat("x", 99_000)))
		}
		r.write(callOf("8", "hold", strings.Repeat("x", 99_000)))
		if got := r.read(); got.Error == nil || got.Error.Code != stdio.CodeBusy || string(got.ID) != "8" {
			t.Fatalf("%+v", got)
		}
		r.ping(`"small"`)
		close(r.release)
		for range 8 {
			if got := r.read(); got.Error != nil {
				t.Errorf("%+v", got.Error)
			}
		}
	})
}

// TestPlacesAreFreeAtOnce: a client that keeps as many open as it may is never told that there are too many.
func TestPlacesAreFreeAtOnce(t *testing.T) {
	r := start(t, func(_ *rig, o *stdio.Options) { o.MaxInFlight = 2 })
	r.initialize()
	r.write(callOf("0", "echo", ""))
	r.write(callOf("1", "echo", ""))
	for range 500 {
		got := r.read()
		if got.Error != nil {
			t.Fatalf("%+v", got.Error)
		}
		r.write(callOf(string(got.ID), "echo", ""))
	}
	for range 2 {
		r.read()
	}
}

// TestNotificationsOutrunTheServer: the SDK would queue them all.
func TestNotificationsOutrunTheServer(t *testing.T) {
	for name, tc := range map[string]struct{ size, n int }{"small": {10, 1000}, "large": {200_000, 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r := start(t, func(r *rig, _ *stdio.Options) { r.onNote = func() { <-release } })
				r.initialize()
				note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + strings.Repeat("x", tc.size) + `","progress":1}}` + "\n"
				sent, done := r.flood(tc.n, func(int) string { return note })
				synctest.Wait()
				if got := sent.Load(); got > int64(min(64*len(note), 2<<20)+readAhead+len(note)) {
					t.Errorf("%d bytes were taken while the server was at the first", got)
				}
				if r.noted.Load() != 0 {
					t.Error("the server is further than it can be")
				}
				close(release)
				<-done
				r.ping("1")
				if got := r.noted.Load(); got != int64(tc.n) {
					t.Errorf("%d were handled", got)
				}
			})
		})
	}
}

// TestMemory: a client that reads, and sends nothing but what is refused or dropped, leaves nothing behind.
func TestMemory(t *testing.T) {
	r := start(t, func(_ *rig, o *stdio.Options) { o.MaxLine = 10_000 })
	r.initialize()
	lines := []string{
		"garbage\n",
		strings.Repeat("x", 20_000) + "\n",
		`{"jsonrpc":"2.0","id":7}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/unheard","params":{"x":"` + strings.Repeat("x", 5000) + `"}}` + "\n",
		`{"jsonrpc":"2.0","id":77,"result":{"x":"` + strings.Repeat("x", 5000) + `"}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}` + "\n",
	}
	round := func(n int) uint64 {
		_, done := r.flood(n, func(i int) string { return lines[i%len(lines)] })
		for range n / 2 {
			if got := r.read(); got.Error == nil {
				t.Fatalf("%+v", got)
			}
		}
		<-done
		r.ping("1")
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := round(600)
	after := round(6000)
	if after > before+2<<20 {
		t.Errorf("%d bytes, and %d after ten times as much", before, after)
	}
}

// TestAnswersOfAnyLength: what the server sends has no limit of ours.
func TestAnswersOfAnyLength(t *testing.T) {
	r := start(t, nil)
	r.initialize()
	text := strings.Repeat("x", 1<<20)
	go func() { _, _ = io.WriteString(r.in, callOf("1", "echo", text)) }()
	got := r.read()
	if got.Error != nil || len(got.Result) < 2*len(text) { // as content and as structured content
		t.Errorf("%d bytes, %+v", len(got.Result), got.Error)
	}
}

// TestRequestsOfTheServer: the answers of a client are read however many of its own requests are open.
func TestRequestsOfTheServer(t *testing.T) {
	r := start(t, func(_ *rig, o *stdio.Options) { o.MaxInFlight = 1 })
	r.initialize()
	r.write(callOf("1", "hold", ""))
	pinged := make(chan error, 1)
	go func() { pinged <- r.session.Ping(t.Context(), &mcp.PingParams{}) }()
	asked := r.read()
	if asked.Method != "ping" {
		t.Fatalf("%+v", asked)
	}
	r.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{}}` + "\n")
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	go func() { pinged <- r.session.Ping(t.Context(), &mcp.PingParams{}) }()
	asked = r.read()
	r.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"error":"no object"}` + "\n")
	if err := <-pinged; err == nil || !strings.Contains(err.Error(), "an error that is none") {
		t.Error(err)
	}
	close(r.release)
	r.read()
}
