package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// Options of a cluster.
type Options struct {
	Dir    string // of everything; it is made
	Binary string // jetclaw
	NATS   string // nats-server, see BuildNATS
	Nodes  int    // NATS servers: 1 or 3
	Copies int    // of each stream: 1 or 3
	Direct bool   // there are no proxies: what is measured is not theirs
	// Services says how many processes each target has. A target is a service, or several with commas.
	Services []Many
	Config   daemon.Config // of every home; Listen, Workspace and Replicas are set here. Sync is that of the servers
}

// Many is a number of processes of one target.
type Many struct {
	Target string
	N      int
}

// Each is n processes of every service.
func Each(n int) []Many {
	var out []Many
	for _, t := range Targets() {
		out = append(out, Many{t, n})
	}
	return out
}

// Targets are the services, in the order in which they start: who is rung before who rings.
func Targets() []string {
	return []string{"outbox", "builtin", "mcp", "tools", "approvals", "turns", "conversations", "intake"}
}

// Cluster is a running one. Its methods are for one goroutine, but for Dial.
type Cluster struct {
	*NATS
	Services []*Service

	o      Options
	keys   string // of the users of the bus
	shared string // keys of the homes: tokens, and what decisions are signed with
}

const (
	startTime = 60 * time.Second
	stopTime  = 40 * time.Second
)

// Start starts the servers, brings the topology about, and starts every process; it returns when all are ready.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime+time.Duration(len(o.Services))*5*time.Second, errors.New("the cluster had its time to start"))
	defer cancel()
	c := &Cluster{o: o, keys: filepath.Join(o.Dir, "keys"), shared: filepath.Join(o.Dir, "shared")}
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	for _, dir := range []string{"workspace", "shared"} {
		if err := os.MkdirAll(filepath.Join(c.o.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	users, err := c.users(ctx)
	if err != nil {
		return err
	}
	if c.NATS, err = newNATS(c.o, users); err != nil {
		return err
	}
	for _, x := range c.Nodes {
		if err := x.Start(); err != nil {
			return err
		}
	}
	if err := c.Healthy(ctx); err != nil {
		return err
	}
	if err := c.services(); err != nil {
		return err
	}
	return c.startAll(ctx)
}

func (c *Cluster) startAll(ctx context.Context) error {
	for i, s := range c.Services {
		if err := s.Start(); err != nil {
			return err
		}
		if i == 0 {
			if _, err := s.Ready(ctx); err != nil {
				return err
			}
		}
	}
	for _, s := range c.Services {
		if _, err := s.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// services makes the homes of all processes, and what is between them and the servers.
func (c *Cluster) services() error {
	for _, m := range c.o.Services {
		for i := range m.N {
			s := &Service{Name: fmt.Sprintf("%s-%d", m.Target, i+1), Target: m.Target, binary: c.o.Binary}
			s.creds = filepath.Join(c.o.Dir, "creds", s.Name)
			err := c.lend(s.creds, strings.Split(m.Target, ",")...)
			if err != nil {
				return err
			}
			if len(c.Services) == 0 {
				if err := c.lend(s.creds, "admin"); err != nil {
					return err
				}
			}
			if s.Home, err = c.home(s.Name); err != nil {
				return err
			}
			if s.direct = c.URL(); !c.o.Direct {
				if s.Links, err = newLinks(c.NATS); err != nil {
					return err
				}
			}
			c.Services = append(c.Services, s)
		}
	}
	return nil
}

// lend gives a process the keys of its own users, and of nobody else.
func (c *Cluster) lend(dir string, users ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, u := range users {
		if err := os.Link(c.key(u), filepath.Join(dir, u+".nk")); err != nil {
			return fmt.Errorf("key of %s: %w", u, err)
		}
	}
	return nil
}

func (c *Cluster) key(user string) string { return filepath.Join(c.keys, user+".nk") }

// home makes a home with the keys of all.
func (c *Cluster) home(name string) (daemon.Home, error) {
	conf := c.o.Config
	conf.Workspace, conf.Replicas = filepath.Join(c.o.Dir, "workspace"), c.o.Copies
	var err error
	if conf.Listen, err = daemon.FreeAddress(); err != nil {
		return daemon.Home{}, err
	}
	h, err := daemon.NewHome(filepath.Join(c.o.Dir, name), conf)
	if err != nil {
		return h, err
	}
	return h, os.Symlink(c.shared, filepath.Join(h.Dir, "keys"))
}

// Of are the processes of a target.
func (c *Cluster) Of(target string) []*Service {
	var out []*Service
	for _, s := range c.Services {
		if s.Target == target {
			out = append(out, s)
		}
	}
	return out
}

// Dial connects to the bus as one of its users, past all proxies. The caller closes the connection.
func (c *Cluster) Dial(ctx context.Context, user string) (*bus.Conn, error) {
	seed, err := os.ReadFile(c.key(user))
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", user, err)
	}
	return bus.Connect(ctx, bus.ConnOptions{
		Service: user, URL: c.URL(), Seed: bytes.TrimSpace(seed), Log: slog.New(slog.DiscardHandler),
	})
}

// Heal ends every fault: the links pass everything, who stands still goes on, who is dead is started.
func (c *Cluster) Heal(ctx context.Context) error {
	for _, p := range c.pairs {
		p.Set(free)
	}
	for _, s := range c.Services {
		for _, l := range s.Links {
			l.Set(free)
		}
	}
	for _, x := range c.Nodes {
		x.Resume()
		x.reap()
		if err := x.Start(); err != nil {
			return err
		}
	}
	for _, s := range c.Services {
		s.Resume()
		s.reap()
		if err := s.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends every service in order, all at a time, and says which did not.
func (c *Cluster) Stop() error {
	errs := make([]error, len(c.Services))
	var work sync.WaitGroup
	for i, s := range c.Services {
		work.Go(func() { errs[i] = s.Stop(stopTime) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// StopNATS ends the servers in order.
func (c *Cluster) StopNATS() error {
	errs := make([]error, len(c.Nodes))
	var work sync.WaitGroup
	for i, x := range c.Nodes {
		work.Go(func() { errs[i] = x.Stop(stopTime) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// Close kills whatever runs.
func (c *Cluster) Close() {
	for _, s := range c.Services {
		s.Kill()
		for _, l := range s.Links {
			l.Close()
		}
	}
	if c.NATS != nil {
		c.close()
	}
}
