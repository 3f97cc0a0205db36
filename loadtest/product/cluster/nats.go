package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fault/wire"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// natsServer is the program that go.mod's version of the server is built from.
const natsServer = "github.com/nats-io/nats-server/v2"

// BuildNATS compiles the NATS server of go.mod's version into dir.
func BuildNATS(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "nats-server")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, natsServer)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server: %w\n%s", err, out)
	}
	return bin, nil
}

// Node is one NATS server.
type Node struct {
	Name    string
	Dir     string
	Address string // of clients, past all proxies

	monitor string
	routes  string // where it listens for the others
	binary  string
	process *daemon.Process // nil when it does not run
	paused  bool
}

// NATS is a cluster of servers. Its methods are for one goroutine.
type NATS struct {
	Nodes []*Node
	// pairs are the proxies of the routes, by the numbers of both: the lower one connects. If both did, the servers would close one of
	// the connections, with what is under way on it.
	pairs map[[2]int]*wire.Proxy
}

// newNATS writes the configuration of the servers and starts the proxies between them. users are lines of
// configuration.
func newNATS(o Options, users string) (*NATS, error) {
	n := &NATS{pairs: map[[2]int]*wire.Proxy{}}
	for i := range o.Nodes {
		x := &Node{Name: fmt.Sprintf("nats-%d", i+1), binary: o.NATS}
		x.Dir = filepath.Join(o.Dir, x.Name)
		for _, at := range []*string{&x.Address, &x.monitor, &x.routes} {
			var err error
			if *at, err = daemon.FreeAddress(); err != nil {
				return nil, err
			}
		}
		n.Nodes = append(n.Nodes, x)
	}
	for i := range n.Nodes {
		for j := i + 1; j < len(n.Nodes) && !o.Direct; j++ {
			p, err := wire.Listen("127.0.0.1:0", n.Nodes[j].routes)
			if err != nil {
				n.close()
				return nil, err
			}
			n.pairs[[2]int{i, j}] = p
		}
	}
	for i := range n.Nodes {
		if err := n.write(i, o.Config.Sync, users); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// nowhere is what a server tells the others about where it can be reached: they know that already, and the proxy to it.
const nowhere = "127.0.0.1:1"

func (n *NATS) write(i int, sync, users string) error {
	x := n.Nodes[i]
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of %s: %w", x.Name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %s\nlisten: %q\nhttp: %q\n", x.Name, x.Address, x.monitor)
	fmt.Fprintf(&b, "jetstream {\n  store_dir: %q\n  max_memory_store: 64MB\n  max_file_store: 1TB\n", x.Data())
	if sync == "always" {
		b.WriteString("  sync_interval: always\n")
	}
	b.WriteString("}\n")
	if len(n.Nodes) > 1 {
		fmt.Fprintf(&b, "cluster {\n  name: jetclaw\n  listen: %q\n  advertise: %q\n  no_advertise: true\n  routes: [", x.routes, nowhere)
		for j := i + 1; j < len(n.Nodes); j++ {
			to := n.Nodes[j].routes
			if p := n.pairs[[2]int{i, j}]; p != nil {
				to = p.Addr()
			}
			fmt.Fprintf(&b, "%q, ", "nats://"+to)
		}
		if i == len(n.Nodes)-1 {
			fmt.Fprintf(&b, "%q", "nats://"+x.routes) // its own, which it ignores: one has to be there
		}
		b.WriteString("]\n}\n")
	}
	b.WriteString(users)
	if err := os.WriteFile(x.config(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("configuration of %s: %w", x.Name, err)
	}
	return nil
}

func (x *Node) config() string { return filepath.Join(x.Dir, "nats.conf") }

// LogFile is where its output goes.
func (x *Node) LogFile() string { return x.Dir + ".log" }

// Data is where it stores its streams.
func (x *Node) Data() string { return filepath.Join(x.Dir, "data") }

// Running says whether its process is there; it may stand still.
func (x *Node) Running() bool { return x.process != nil }

// Process is what runs it; nil for none.
func (x *Node) Process() *daemon.Process { return x.process }

// Start starts the server, unless it runs.
func (x *Node) Start() error {
	if x.process != nil {
		return nil
	}
	p, err := daemon.Launch(exec.CommandContext(context.Background(), x.binary, "-c", x.config()), x.LogFile())
	if err != nil {
		return fmt.Errorf("start %s: %w", x.Name, err)
	}
	x.process, x.paused = p, false
	return nil
}

// Ended says whether it has ended by itself, and forgets it then.
func (x *Node) Ended() (how string, ended bool) {
	if x.process == nil {
		return "", false
	}
	select {
	case <-x.process.Done():
		how = endOf(x.process)
		x.process = nil
		return how, true
	default:
		return "", false
	}
}

func (x *Node) reap() { _, _ = x.Ended() }

// endOf says how a process has ended.
func endOf(p *daemon.Process) string {
	if err := p.Err(); err != nil {
		return err.Error()
	}
	return "exit code 0"
}

// Kill ends it at once.
func (x *Node) Kill() {
	if x.process != nil {
		x.process.Kill()
		x.process = nil
	}
}

// Stop ends it in order.
func (x *Node) Stop(patience time.Duration) error {
	if x.process == nil {
		return nil
	}
	x.Resume()
	err := x.process.Stop(patience)
	x.process = nil
	return err
}

// Pause has it stand still.
func (x *Node) Pause() {
	if x.process != nil {
		x.process.Pause()
		x.paused = true
	}
}

// Resume has it go on.
func (x *Node) Resume() {
	if x.process != nil && x.paused {
		x.process.Resume()
		x.paused = false
	}
}

// healthy asks the server whether all of its streams and consumers are there and up to date; the answer is nil, or what is missing.
func (x *Node) healthy(ctx context.Context) error {
	if x.process != nil {
		select {
		case <-x.process.Done():
			return fmt.Errorf("%s: %w:\n%s", x.Name, errEnded, daemon.Tail(x.LogFile(), 1000))
		default:
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+x.monitor+"/healthz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		b := make([]byte, 300)
		k, _ := res.Body.Read(b)
		return fmt.Errorf("%s: %s", x.Name, b[:k])
	}
	return nil
}

var errEnded = errors.New("the server has ended by itself")

const healthPoll = 100 * time.Millisecond

// Healthy waits until every server says that all of its streams and consumers are up to date.
func (n *NATS) Healthy(ctx context.Context) error {
	tick := time.NewTicker(healthPoll)
	defer tick.Stop()
	for {
		var errs []error
		for _, x := range n.Nodes {
			errs = append(errs, x.healthy(ctx))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		if errors.Is(err, errEnded) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the NATS servers are not healthy: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// URL names all servers, past all proxies.
func (n *NATS) URL() string {
	var all []string
	for _, x := range n.Nodes {
		all = append(all, "nats://"+x.Address)
	}
	return strings.Join(all, ",")
}

// Node is the number of a server by its name, or -1.
func (n *NATS) Node(name string) int {
	for i, x := range n.Nodes {
		if x.Name == name {
			return i
		}
	}
	return -1
}

// Route is the proxy between two servers; who connects is the first of them.
func (n *NATS) Route(i, j int) *wire.Proxy { return n.pairs[[2]int{min(i, j), max(i, j)}] }

// Routes are the proxies between a server and all others.
func (n *NATS) Routes(i int) []*wire.Proxy {
	var out []*wire.Proxy
	for j := range n.Nodes {
		if j != i {
			out = append(out, n.Route(i, j))
		}
	}
	return out
}

func (n *NATS) close() {
	for _, x := range n.Nodes {
		x.Kill()
	}
	for _, p := range n.pairs {
		p.Close()
	}
}
