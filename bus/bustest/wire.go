package bustest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Wire stands before an address and hands on what is sent, both ways, a while later.
type Wire struct {
	l  net.Listener
	to string
	by time.Duration

	mu      sync.Mutex
	open    []net.Conn    // guarded by mu
	ended   bool          // guarded by mu
	cut     Way           // guarded by mu
	changed chan struct{} // guarded by mu; closed and replaced when cut changes
	busy    sync.WaitGroup
}

// Way is a direction of a wire, or several.
type Way int

// There is from who connects, Back from who listens.
const (
	There Way = 1 << iota
	Back
)

// NewWire lays a wire to an address; it ends with the test.
func NewWire(tb testing.TB, to string) *Wire {
	tb.Helper()
	return newWire(tb, to, 0)
}

func newWire(tb testing.TB, to string, by time.Duration) *Wire {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w := &Wire{l: l, to: to, by: by, changed: make(chan struct{})}
	tb.Cleanup(w.end)
	w.busy.Go(w.accept)
	return w
}

// Addr is where it begins.
func (w *Wire) Addr() string { return w.l.Addr().String() }

// Cut has nothing pass on some ways, 0 all of it. Nobody hears that, and what was sent arrives afterwards.
func (w *Wire) Cut(ways Way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = ways
	close(w.changed)
	w.changed = make(chan struct{})
}

// Break ends the connections that are there, with what is under way.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// pass returns once a way is not cut.
func (w *Wire) pass(way Way) {
	for {
		w.mu.Lock()
		cut, changed := w.cut&way != 0, w.changed
		w.mu.Unlock()
		if !cut {
			return
		}
		<-changed
	}
}

func (w *Wire) end() {
	_ = w.l.Close()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.Break()
	w.Cut(0)
	w.busy.Wait()
}

func (w *Wire) accept() {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		w.busy.Go(func() { w.connect(in) })
	}
}

func (w *Wire) connect(in net.Conn) {
	w.pass(There)
	out, err := net.Dial("tcp", w.to) //nolint:noctx // end closes it
	if err != nil {
		_ = in.Close()
		return
	}
	w.mu.Lock()
	w.open = append(w.open, in, out)
	if w.ended {
		_, _ = in.Close(), out.Close() // nobody else does
	}
	w.mu.Unlock()
	w.busy.Go(func() { w.hand(in, out, There) })
	w.busy.Go(func() { w.hand(out, in, Back) })
}

// later is what was read, and when it is due.
type later struct {
	data []byte
	due  time.Time
}

func (w *Wire) hand(from, to net.Conn, way Way) {
	queue := make(chan later, 4096)
	w.busy.Go(func() {
		for l := range queue {
			time.Sleep(time.Until(l.due)) // a slow wire is what this is
			w.pass(way)
			if _, err := to.Write(l.data); err != nil {
				_ = from.Close()
			}
		}
		w.pass(way)
		_ = to.Close()
	})
	defer close(queue)
	for {
		buf := make([]byte, 64<<10)
		n, err := from.Read(buf)
		if n > 0 {
			queue <- later{buf[:n], time.Now().Add(w.by)}
		}
		if err != nil {
			return
		}
	}
}
