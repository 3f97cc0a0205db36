package httpguard_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/services/internal/httpguard"
)

// slow is a ResponseWriter whose client takes what take allows, by the clock of the bubble.
type slow struct {
	http.ResponseWriter
	deadline time.Time
	take     time.Duration // for each write and flush
	wrote    int
	flushed  int
}

func (s *slow) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

func (s *slow) leave() error {
	done := time.Now().Add(s.take)
	if done.After(s.deadline) {
		<-time.After(time.Until(s.deadline))
		return os.ErrDeadlineExceeded
	}
	<-time.After(s.take)
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	if err := s.leave(); err != nil {
		return 0, err
	}
	s.wrote += len(p)
	return len(p), nil
}

func (s *slow) FlushError() error {
	err := s.leave()
	if err == nil {
		s.flushed++
	}
	return err
}

func TestStallOfEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall = 10 * time.Second
		next := &slow{take: 4 * time.Second}
		w := httpguard.NewWriter(next, stall)
		rc := http.NewResponseController(w)
		start := time.Now()
		for range 5 { // longer than a stall in all, and idle for longer than one
			if _, err := w.Write([]byte("event")); err != nil {
				t.Fatal(err)
			}
			if err := rc.Flush(); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		if took := time.Since(start); took != 5*(time.Minute+8*time.Second) || next.flushed != 5 {
			t.Errorf("%s, %d flushes", took, next.flushed)
		}
		next.take = 6 * time.Second // a write and its flush together have one stall
		if _, err := w.Write([]byte("event")); err != nil {
			t.Fatal(err)
		}
		if err := rc.Flush(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a flush after its time: %v", err)
		}
		next.take, next.wrote = 0, 0
		if _, err := w.Write([]byte("event")); !errors.Is(err, os.ErrDeadlineExceeded) || next.wrote > 0 {
			t.Errorf("written after it was cut: %d, %v", next.wrote, err)
		}
		if err := rc.Flush(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("flushed after it was cut: %v", err)
		}
	})
}

func TestFlushAloneHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := &slow{take: time.Second}
		w := httpguard.NewWriter(next, 2*time.Second)
		for range 3 {
			w.Flush()
		}
		if next.flushed != 3 {
			t.Errorf("%d flushes", next.flushed)
		}
	})
}

// stream sends events as fast as they go until one does not.
func stream(failed chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		event := append(make([]byte, 64<<10), "\n\n"...)
		for {
			if _, err := w.Write(event); err != nil {
				failed <- err
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				failed <- err
				return
			}
		}
	})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestClientThatDoesNotRead is the same over a real connection of net/http.
func TestClientThatDoesNotRead(t *testing.T) {
	failed := make(chan error, 1)
	addr := serve(t, httpguard.Stalled(stream(failed), 50*time.Millisecond))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// TestAnswerAfterALongThought: what a handler wrote before it was idle for longer than a stall still leaves when it returns.
func TestAnswerAfterALongThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall = 10 * time.Second
		next := &slow{}
		httpguard.Stalled(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, err := io.WriteString(w, "done"); err != nil { // stays in the buffer of net/http
				t.Error(err)
			}
			<-time.After(3 * stall)
		}), stall).ServeHTTP(next, request(t, ""))
		if left := time.Until(next.deadline); left != stall {
			t.Errorf("net/http has %s to send it", left)
		}
	})
}
