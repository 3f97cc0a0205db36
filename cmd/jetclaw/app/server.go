package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/services/mcp"
)

// shutdownTime bounds the end of the embedded server and of each connection.
const shutdownTime = 10 * time.Second

// server is the embedded server with the topology applied, as a module.
type server struct {
	options   natsembed.Options
	limits    bus.Limits
	executors []bus.Executor
	admin     []byte // seed
	ready     chan struct{}

	// Set before ready is closed.
	embedded *natsembed.Server
	conn     *bus.Conn // as admin
}

// newServer prepares the server on the home's data. Without listen it can be reached from this process only.
func (e Env) newServer(keys map[string]natsembed.Key, listen bool) (*server, error) {
	if n := e.Config.Bus.Replicas; n > 1 {
		return nil, fmt.Errorf("bus.replicas: %d needs a cluster of NATS servers, named by --nats or remote.url: the embedded one is alone", n)
	}
	s := &server{admin: keys[bus.Admin].Seed(), limits: bus.DefaultLimits(), ready: make(chan struct{})}
	s.options = natsembed.Options{StoreDir: e.Home.Data(), Log: e.Log, Sync: natsembed.SyncAlways}
	if e.Config.Bus.Sync == "interval" {
		s.options.Sync = natsembed.SyncInterval
	}
	for _, u := range BusUsers() {
		s.options.Users = append(s.options.Users, natsembed.User{
			Name: u.Name, PublicKey: keys[u.Name].Public, Permissions: u.Permissions,
		})
	}
	if listen && e.Config.Bus.Listen != "off" {
		host, port, err := net.SplitHostPort(e.Config.Bus.Listen)
		if err != nil {
			return nil, fmt.Errorf("bus.listen: %w", err)
		}
		if s.options.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("bus.listen: %w", err)
		}
		if s.options.Port == 0 {
			s.options.Port = e.lastPort(host)
		}
		// The configuration has warned about an address that is not loopback.
		s.options.Listen, s.options.Host, s.options.AllowRemote = true, host, true
	}
	s.executors = executorsOf(e.Config)
	s.limits.JournalBytes = int64(e.Config.Bus.MaxBytes)
	var err error
	if s.limits.Free, err = natsembed.FreeSpace(e.Home.Data()); err != nil {
		return nil, err
	}
	return s, nil
}

// lastPort is the port that the bus had last, when it is free, else -1: any.
func (e Env) lastPort(host string) int {
	port := e.Home.Port()
	if port == 0 {
		return -1
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil || l.Close() != nil {
		return -1
	}
	return port
}

// Run opens the store and keeps the server until ctx ends.
func (s *server) Run(ctx context.Context) error {
	var err error
	if s.embedded, err = natsembed.Start(ctx, s.options); err != nil {
		return err
	}
	err = s.serve(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close(end))
	}
	return errors.Join(err, s.embedded.Shutdown(end))
}

func (s *server) serve(ctx context.Context) (err error) {
	s.conn, err = bus.Connect(ctx, bus.ConnOptions{Service: bus.Admin, InProcess: s.embedded, Seed: s.admin, Log: s.options.Log})
	if err != nil {
		return err
	}
	if err := applyTopology(ctx, s.conn, s.limits, s.executors, s.options.Log); err != nil {
		return err
	}
	close(s.ready)
	<-ctx.Done()
	return nil
}

// Ready waits for the topology.
func (s *server) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// URL is where other processes reach it, "" when they cannot.
func (s *server) URL() string {
	if addr := s.embedded.Addr(); addr != "" {
		return "nats://" + addr
	}
	return ""
}

// port is the TCP port, 0 without one.
func (s *server) port() int {
	_, port, err := net.SplitHostPort(s.embedded.Addr())
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

func applyTopology(ctx context.Context, admin *bus.Conn, l bus.Limits, executors []bus.Executor, log *slog.Logger) error {
	changes, err := bus.Apply(ctx, admin.JetStream(), bus.TopologyOf(specs(), l))
	if err != nil {
		return fmt.Errorf("apply the topology: %w", err)
	}
	more, err := bus.ApplyExecutors(ctx, admin, mcp.Name, l, executors)
	if err != nil {
		return fmt.Errorf("apply the topology: %w", err)
	}
	tellChanges(append(changes, more...), log)
	return nil
}

func tellChanges(changes []bus.Change, log *slog.Logger) {
	for _, c := range changes {
		if c.Action != bus.Unchanged {
			log.Debug("topology", "change", c.String())
		}
	}
}
