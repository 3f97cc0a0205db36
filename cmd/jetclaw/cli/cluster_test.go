package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// nodes are NATS servers as `nats config` describes them, for a user whose keys they know.
type nodes struct {
	u    *user
	url  string
	keys string
	all  []*exec.Cmd
}

// nodeVar has the configuration of the NATS server that this process is to be.
const nodeVar = "JETCLAW_TEST_NODE"

func runNode(conf string) int {
	o, err := server.ProcessConfigFile(conf)
	if err == nil {
		o.NoSigs, o.NoLog = true, true
		var s *server.Server
		if s, err = server.NewServer(o); err == nil {
			s.Start()
			s.WaitForShutdown()
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// newNodes starts n of them; several are a cluster, which is not waited for. They end with the test.
func newNodes(t *testing.T, u *user, n int) *nodes {
	t.Helper()
	c := &nodes{u: u, keys: filepath.Join(u.home, "keys")}
	u.run("keys").want(t, 0)
	dir := t.TempDir()
	listed := u.run("nats", "keys", c.keys)
	listed.want(t, 0)
	put(t, filepath.Join(dir, "keys.conf"), listed.stdout)
	// Ports are put in at the last moment: somebody may take one meanwhile.
	port := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }
	var routes []string
	for i := range n {
		routes = append(routes, "nats://"+port(n+i))
	}
	confs := make([]string, n)
	for i := range n {
		args := []string{
			"nats", "config", "--name", fmt.Sprint("n", i+1), "--keys", filepath.Join(dir, "keys.conf"), "--store", t.TempDir(), "--sync", "interval",
			"--listen", port(i),
		}
		if n > 1 {
			args = append(args, "--cluster-listen", port(n+i), "--routes", strings.Join(routes, ","))
		}
		r := u.run(args...)
		r.want(t, 0)
		confs[i] = r.stdout
	}
	for range 5 {
		if c.start(t, dir, confs, port) {
			return c
		}
	}
	t.Fatal("the NATS servers end, or do not listen")
	return nil
}

// start gives the nodes free ports and starts them. false: one has ended instead of listening, as somebody has taken its port.
func (c *nodes) start(t *testing.T, dir string, confs []string, port func(int) string) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var pairs, urls []string
	for i, free := range freePorts(t, 2*len(confs)) {
		pairs = append(pairs, port(i)+`"`, free+`"`, port(i)+`,`, free+`,`)
		if i < len(confs) {
			urls = append(urls, "nats://"+free)
		}
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer stop()
	c.all, c.url = nil, strings.Join(urls, ",")
	for i, conf := range confs {
		path := filepath.Join(dir, fmt.Sprint("n", i+1, ".conf"))
		put(t, path, strings.NewReplacer(pairs...).Replace(conf))
		s := exec.CommandContext(context.WithoutCancel(t.Context()), self)
		s.Env, s.Stderr = append(os.Environ(), nodeVar+"="+path), os.Stderr
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = s.Wait() // it is killed, or could not listen
			close(ended)
			stop()
		}()
		t.Cleanup(func() {
			_ = s.Process.Kill()
			<-ended
		})
		c.all = append(c.all, s)
	}
	for _, url := range urls {
		for !listens(ctx, strings.TrimPrefix(url, "nats://")) {
			if ctx.Err() != nil {
				return false
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return ctx.Err() == nil
}

func listens(ctx context.Context, addr string) bool {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// freePorts are addresses that nobody has now: nodes have to know each other's before they begin.
func freePorts(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		all = append(all, l.Addr().String())
	}
	return all
}
