package natsembed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// Server is the embedded server. The inner one may be replaced while this one lives.
type Server struct {
	opts Options
	log  *slog.Logger
	lock *flock.Flock

	inner atomic.Pointer[server.Server] // nil while it restarts, and after Shutdown
	port  atomic.Int64                  // the TCP port, kept over restarts; 0 without one

	restart  sync.Mutex // held by who stops or starts the inner server
	down     bool       // guarded by restart: shut down for good
	restarts atomic.Int64
	alarm    chan struct{} // wakes the watchdog; holds one
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the watchdog has ended
}

// errAway is what a connection gets while there is no inner server; clients try again.
var errAway = errors.New("the embedded server is restarting or shut down")

// Start opens the store and returns when the server takes connections. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	lock, err := lockStore(o.StoreDir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, lock: lock, log: o.Log.With("part", "nats"),
		alarm: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	if err := s.start(ctx, o.Port); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s.giveBack()
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go func() {
		defer close(s.stopped)
		s.watch(watch)
	}()
	return s, nil
}

// start brings up an inner server. What a power failure has torn and can be made again is removed first: streams that hold
// nothing else, and what consumers have delivered, which they then deliver once more. The caller holds s.restart, or has s for itself.
func (s *Server) start(ctx context.Context, port int) error {
	for {
		err := s.open(ctx, port)
		if err == nil || !s.mend(err) {
			return err
		}
	}
}

func (s *Server) open(ctx context.Context, port int) error {
	if s.opts.Listen && port > 0 {
		if err := probePort(s.opts.Host, port); err != nil {
			return err
		}
	}
	log := &serverLog{log: s.log, alarm: s.ring}
	inner, err := server.NewServer(s.opts.server(port))
	if err != nil {
		return fmt.Errorf("embedded server: %w", err)
	}
	inner.SetLoggerV2(log, false, false, false)

	done := make(chan struct{})
	go func() {
		defer close(done)
		inner.Start()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		inner.Shutdown()
		<-done
		inner.WaitForShutdown()
		return fmt.Errorf("start the embedded server: %w", context.Cause(ctx))
	}
	err = usable(inner, log, s.opts.StoreDir)
	if torn := log.corruptConsumers(); err == nil && len(torn) > 0 {
		err = &tornError{torn}
	}
	if err != nil {
		inner.Shutdown()
		inner.WaitForShutdown()
		return err
	}
	if a, ok := inner.Addr().(*net.TCPAddr); ok {
		s.port.Store(int64(a.Port))
	}
	s.inner.Store(inner)
	return nil
}

func usable(inner *server.Server, log *serverLog, dir string) error {
	if text := log.fatalText(); text != "" {
		return fmt.Errorf("%w: %s: %s", ErrStore, dir, text)
	}
	if !inner.ReadyForConnections(connectionsTimeout) {
		return fmt.Errorf("%w: %s: the server does not take connections", ErrStore, dir)
	}
	// Its 500 means that one millisecond was too short to see the listener, which is nothing on a busy machine.
	if h := inner.Healthz(nil); h.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%w: %s: %s; restore it from a backup, or move it away to begin with an empty one",
			ErrStore, dir, h.Error)
	}
	return nil
}

// connectionsTimeout bounds a wait for what is already true after Start has returned.
const connectionsTimeout = 5 * time.Second

// giveBack returns the garbage of a recovery to the system: opening 200,000 messages leaves some 200 MB of it.
func (s *Server) giveBack() {
	inner := s.inner.Load()
	if inner == nil {
		return
	}
	if js, err := inner.Jsz(nil); err == nil && js.Messages > 0 {
		debug.FreeOSMemory()
	}
}

// InProcessConn gives a connection to the current inner server, so that a client made with
// nats.InProcessServer(s) reconnects to the next one after a restart.
func (s *Server) InProcessConn() (net.Conn, error) {
	inner := s.inner.Load()
	if inner == nil {
		return nil, errAway
	}
	return inner.InProcessConn()
}

// Addr is "host:port" of the TCP listener, "" without one.
func (s *Server) Addr() string {
	p := s.port.Load()
	if p == 0 {
		return ""
	}
	return net.JoinHostPort(s.opts.Host, strconv.FormatInt(p, 10))
}

// Restarts is how often the inner server was replaced.
func (s *Server) Restarts() int64 { return s.restarts.Load() }

// Restart replaces the inner server by a new one on the same store and port.
func (s *Server) Restart(ctx context.Context) error {
	s.restart.Lock()
	defer s.restart.Unlock()
	if s.down {
		return errAway
	}
	inner := s.inner.Swap(nil)
	if inner != nil {
		inner.Shutdown()
		inner.WaitForShutdown()
	}
	port := int(s.port.Load())
	if port == 0 {
		port = s.opts.Port
	}
	if err := s.start(ctx, port); err != nil {
		return err
	}
	s.restarts.Add(1)
	s.giveBack()
	return nil
}

// Shutdown ends the watchdog and the server and gives the store free. When ctx ends first it returns, and the server goes
// on closing its files by itself.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	done := make(chan error, 1)
	go func() {
		<-s.stopped
		s.restart.Lock()
		defer s.restart.Unlock()
		if s.down {
			done <- nil
			return
		}
		s.down = true
		if inner := s.inner.Swap(nil); inner != nil {
			inner.Shutdown()
			inner.WaitForShutdown()
		}
		done <- s.lock.Unlock()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("shut down the embedded server: %w", context.Cause(ctx))
	}
}
