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
	// Ports are looked for at the last moment, when all is written but them: else somebody may take one.
	port := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }
	var routes, urls, paths []string
	for i := range n {
		routes = append(routes, "nats://"+port(n+i))
	}
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
		path := filepath.Join(dir, fmt.Sprint("n", i+1, ".conf"))
		put(t, path, r.stdout)
		paths = append(paths, path)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s := exec.CommandContext(context.WithoutCancel(t.Context()), self)
		s.Env, s.Stderr = append(os.Environ(), nodeVar+"="+path), os.Stderr
		c.all = append(c.all, s)
	}
	var pairs []string
	for i, free := range freePorts(t, 2*n) {
		pairs = append(pairs, port(i)+`"`, free+`"`, port(i)+`,`, free+`,`)
		if i < n {
			urls = append(urls, "nats://"+free)
		}
	}
	for _, path := range paths {
		conf, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, strings.NewReplacer(pairs...).Replace(string(conf)))
	}
	for _, s := range c.all {
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = s.Process.Kill()
			_ = s.Wait() // killed
		})
	}
	c.url = strings.Join(urls, ",")
	return c
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
