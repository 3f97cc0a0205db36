// Package bustest gives tests a real bus: an embedded server with the topology and the permissions that the real one
// has, in a temporary directory, started in some 20 ms. Nothing of it is a fake.
package bustest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
)

// Server is a bus for one test; it ends with the test.
type Server struct {
	*natsembed.Server
	seeds map[string][]byte // user → seed
	log   *slog.Logger
	admin *bus.Conn
	tb    testing.TB

	mu    sync.Mutex
	conns []*bus.Conn // guarded by mu; those that Connect made, open or not
}

const endTimeout = 10 * time.Second

// New starts a bus for services. It writes without syncing: a test does not survive a power failure either.
func New(tb testing.TB, specs ...bus.Spec) *Server {
	tb.Helper()
	return NewIn(tb, tb.TempDir(), specs...)
}

// NewIn is New on a store that may hold an earlier one's data.
func NewIn(tb testing.TB, dir string, specs ...bus.Spec) *Server {
	tb.Helper()
	s := start(tb, dir, specs)
	limits := bus.DefaultLimits()
	limits.Free = 1 << 30
	if _, err := bus.Apply(tb.Context(), s.admin.JetStream(), bus.TopologyOf(specs, limits)); err != nil {
		tb.Fatalf("apply the topology: %v", err)
	}
	return s
}

// Bare is New without the topology: the users are there, no stream.
func Bare(tb testing.TB, specs ...bus.Spec) *Server {
	tb.Helper()
	return start(tb, tb.TempDir(), specs)
}

func start(tb testing.TB, dir string, specs []bus.Spec) *Server {
	tb.Helper()
	s := &Server{
		tb: tb, seeds: map[string][]byte{},
		log: slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	users := []natsembed.User{s.user(bus.Admin, bus.AdminPermissions())}
	for _, sp := range specs {
		users = append(users, s.user(sp.Name, bus.PermissionsOf(sp, specs...)))
	}
	var err error
	s.Server, err = natsembed.Start(tb.Context(), natsembed.Options{
		StoreDir: dir, Users: users, Log: s.log, Sync: natsembed.SyncInterval,
		Listen: true, Port: -1, MinFree: 1,
	})
	if err != nil {
		tb.Fatalf("start the bus: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			tb.Errorf("end of the bus: %v", err)
		}
	})
	s.admin = s.Connect(tb, bus.Admin)
	return s
}

func (s *Server) user(name string, p bus.Permissions) natsembed.User {
	kp, err := nkeys.CreateUser()
	if err != nil {
		s.tb.Fatalf("make a key: %v", err)
	}
	public, err := kp.PublicKey()
	if err != nil {
		s.tb.Fatalf("make a key: %v", err)
	}
	if s.seeds[name], err = kp.Seed(); err != nil {
		s.tb.Fatalf("make a key: %v", err)
	}
	return natsembed.User{Name: name, PublicKey: public, Permissions: p}
}

// Connect opens a connection of a service, or of bus.Admin, for a test. When the test ends it is drained, and the test
// fails if the service tried what its Spec does not allow.
func (s *Server) Connect(tb testing.TB, service string) *bus.Conn {
	tb.Helper()
	seed, ok := s.seeds[service]
	if !ok {
		tb.Fatalf("no Spec of %q was given to New", service)
	}
	c, err := bus.Connect(tb.Context(), bus.ConnOptions{Service: service, InProcess: s, Seed: seed, Log: s.log})
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			tb.Errorf("close: %v", err)
		}
		for _, v := range c.Violations() {
			tb.Errorf("%s did what its Spec does not allow: %s", service, v)
		}
	})
	return c
}

// Admin is a connection that may do everything.
func (s *Server) Admin() *bus.Conn { return s.admin }

// Seed is the secret of a user, for a connection that a test makes itself.
func (s *Server) Seed(service string) []byte { return s.seeds[service] }

// URL is where the server listens on loopback.
func (s *Server) URL() string { return "nats://" + s.Addr() }

// Restart replaces the server by a new one on the same store and port, and returns when the connections are back.
func (s *Server) Restart() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var back []<-chan nats.Status
	for _, c := range s.conns {
		if nc := c.NATS(); !nc.IsClosed() {
			back = append(back, nc.StatusChanged(nats.CONNECTED))
		}
	}
	if err := s.Server.Restart(s.tb.Context()); err != nil {
		s.tb.Fatalf("restart of the bus: %v", err)
	}
	for _, ch := range back {
		select {
		case <-ch:
		case <-s.tb.Context().Done():
			s.tb.Fatal("a connection did not come back")
		}
	}
}
