package bustest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
)

// Cluster is a bus of three servers in this process, with three copies of everything. It takes some six seconds to begin: that long
// its first election lasts.
type Cluster struct {
	nodes []*server.Server
	wires [Nodes][Nodes]*Wire // the way from one node to another; none to itself
	seeds map[string][]byte   // user → seed
	log   *slog.Logger
	admin *bus.Conn
}

// Nodes is how many servers a Cluster has. The last one is Far: what the others tell it comes a moment later, so that its copies lag
// behind what was acknowledged, as long as it leads none of them.
const (
	Nodes = 3
	Far   = Nodes - 1
)

const lag = 15 * time.Millisecond

// nowhere is what a node tells the others of where it is: they have a way to each other, and no second one that nobody could cut.
const nowhere = "127.0.0.1:1"

const electionTime = 30 * time.Second

// NewCluster starts a cluster for services; it ends with the test.
func NewCluster(tb testing.TB, specs ...bus.Spec) *Cluster {
	tb.Helper()
	c := &Cluster{
		seeds: map[string][]byte{},
		log:   slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelError + 1})), // elections are loud
	}
	users := []natsembed.User{c.user(tb, bus.Admin, bus.AdminPermissions())}
	for _, sp := range specs {
		users = append(users, c.user(tb, sp.Name, bus.PermissionsOf(sp, specs...)))
	}
	ports := freePorts(tb)
	for from := range Nodes {
		for to := range Nodes {
			by := time.Duration(0)
			if from == Far || to == Far {
				by = lag
			}
			if from != to {
				c.wires[from][to] = newWire(tb, fmt.Sprintf("127.0.0.1:%d", ports[to]), by)
			}
		}
	}
	for i := range Nodes {
		var routes []*url.URL
		for to, w := range c.wires[i] {
			if to != i {
				routes = append(routes, &url.URL{Scheme: "nats", Host: w.Addr()})
			}
		}
		n, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i+1), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: tb.TempDir(), Nkeys: natsembed.NkeyUsers(users), Routes: routes,
			Cluster: server.ClusterOpts{Name: "jetclaw", Host: "127.0.0.1", Port: ports[i], Advertise: nowhere, PoolSize: -1},
		})
		if err != nil {
			tb.Fatalf("node %d: %v", i+1, err)
		}
		n.Start()
		tb.Cleanup(func() {
			n.Shutdown()
			n.WaitForShutdown()
		})
		c.nodes = append(c.nodes, n)
	}
	for i, n := range c.nodes {
		if !n.ReadyForConnections(electionTime) {
			tb.Fatalf("node %d takes no connections", i+1)
		}
	}
	c.admin = c.Connect(tb, bus.Admin, 0)
	c.apply(tb, specs)
	return c
}

// freePorts are ports that nobody has now: nodes have to know each other's before they begin.
func freePorts(tb testing.TB) (ports [Nodes]int) {
	tb.Helper()
	for i := range ports {
		l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// apply asks again until the cluster has elected who can answer.
func (c *Cluster) apply(tb testing.TB, specs []bus.Spec) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), electionTime)
	defer cancel()
	limits := bus.DefaultLimits()
	limits.Free, limits.Replicas = 1<<30, Nodes
	topology := bus.TopologyOf(specs, limits)
	for {
		trying, stop := context.WithTimeout(ctx, time.Second)
		_, err := bus.Apply(trying, c.admin.JetStream(), topology)
		stop()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			tb.Fatalf("apply the topology: %v", err)
		}
	}
	if err := bus.AwaitSettled(ctx, c.admin.JetStream(), topology, func(int, string) {}); err != nil {
		tb.Fatal(err)
	}
}

func (c *Cluster) user(tb testing.TB, name string, p bus.Permissions) natsembed.User {
	kp, err := nkeys.CreateUser()
	if err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	public, err := kp.PublicKey()
	if err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	if c.seeds[name], err = kp.Seed(); err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	return natsembed.User{Name: name, PublicKey: public, Permissions: p}
}

// Connect opens a connection of a service to one node, and there alone, for a test. The test fails if the service tried what its Spec
// does not allow.
func (c *Cluster) Connect(tb testing.TB, service string, node int) *bus.Conn {
	tb.Helper()
	conn, err := bus.Connect(tb.Context(), bus.ConnOptions{Service: service, URL: c.nodes[node].ClientURL(), Seed: c.seeds[service], Log: c.log})
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		_ = conn.Close(ctx) // its node may be gone
		for _, v := range conn.Violations() {
			tb.Errorf("%s did what its Spec does not allow: %s", service, v)
		}
	})
	return conn
}

// Cut parts a node from the others, or joins it to them again. It hears nothing of that, and goes on to answer its own connections.
func (c *Cluster) Cut(node int, yes bool) {
	ways := Way(0)
	if yes {
		ways = There | Back
	}
	for from := range Nodes {
		for to, w := range c.wires[from] {
			if from != to && (from == node || to == node) {
				w.Cut(ways)
			}
		}
	}
}

// Kill ends a node for good. It has no time to hand anything over: the others lose it first.
func (c *Cluster) Kill(node int) {
	for from := range Nodes {
		for to, w := range c.wires[from] {
			if from != to && (from == node || to == node) {
				w.end()
			}
		}
	}
	c.nodes[node].Shutdown()
	c.nodes[node].WaitForShutdown()
}

// Admin is a connection that may do everything.
func (c *Cluster) Admin() *bus.Conn { return c.admin }

// Leader is the node that leads a stream; -1 while nobody does, or can say.
func (c *Cluster) Leader(tb testing.TB, stream string) int {
	tb.Helper()
	s, err := c.admin.JetStream().Stream(tb.Context(), stream)
	if err != nil {
		return -1
	}
	for i, n := range c.nodes {
		if info := s.CachedInfo(); info.Cluster != nil && info.Cluster.Leader == n.Name() {
			return i
		}
	}
	return -1
}

// Near has a stream led by another node than Far.
func (c *Cluster) Near(tb testing.TB, streams ...string) {
	tb.Helper()
	deadline := time.Now().Add(electionTime)
	for _, stream := range streams {
		for at := c.Leader(tb, stream); at < 0 || at == Far; at = c.Leader(tb, stream) {
			if at == Far {
				c.StepDown(tb, stream)
			}
			if time.Now().After(deadline) {
				tb.Fatalf("no other node leads %s", stream)
			}
		}
	}
}

// StepDown makes another node the leader of a stream.
func (c *Cluster) StepDown(tb testing.TB, stream string) {
	tb.Helper()
	m, err := c.admin.NATS().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, electionTime)
	if err != nil {
		tb.Fatal(err)
	}
	var resp struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(m.Data, &resp); err != nil || !resp.Success {
		tb.Fatalf("step down: %s", m.Data)
	}
}
