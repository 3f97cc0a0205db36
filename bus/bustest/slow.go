package bustest

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// slow stands before an address and hands on what is sent, both ways, a while later.
type slow struct {
	l  net.Listener
	to string
	by time.Duration

	mu    sync.Mutex
	open  []net.Conn // guarded by mu
	ended bool       // guarded by mu
	busy  sync.WaitGroup
}

func newSlow(tb testing.TB, to string, by time.Duration) *slow {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &slow{l: l, to: to, by: by}
	s.busy.Go(s.accept)
	return s
}

func (s *slow) addr() string { return s.l.Addr().String() }

func (s *slow) end() {
	_ = s.l.Close()
	s.mu.Lock()
	s.ended = true
	for _, c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.busy.Wait()
}

func (s *slow) accept() {
	for {
		in, err := s.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", s.to) //nolint:noctx // end closes it
		if err != nil {
			_ = in.Close()
			continue
		}
		s.mu.Lock()
		s.open = append(s.open, in, out)
		if s.ended {
			_, _ = in.Close(), out.Close()
		}
		s.mu.Unlock()
		s.busy.Go(func() { s.hand(in, out) })
		s.busy.Go(func() { s.hand(out, in) })
	}
}

// later is what was read, and when it is due.
type later struct {
	data []byte
	due  time.Time
}

func (s *slow) hand(from, to net.Conn) {
	queue := make(chan later, 4096)
	s.busy.Go(func() {
		for l := range queue {
			time.Sleep(time.Until(l.due)) // a slow wire is what this is
			if _, err := to.Write(l.data); err != nil {
				_ = from.Close()
			}
		}
		_ = to.Close()
	})
	defer close(queue)
	for {
		buf := make([]byte, 64<<10)
		n, err := from.Read(buf)
		if n > 0 {
			queue <- later{buf[:n], time.Now().Add(s.by)}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = to.Close()
			}
			return
		}
	}
}
