package check

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/sys/unix"
)

// house is what compose.yaml describes, run without an engine: each service with its own command, files, environment and user, in
// a mount namespace of its own; all in one network namespace that has nothing but loopback. Only addresses differ, as services here
// share one machine.
type house struct {
	t       *testing.T
	project *types.Project
	base    string // of compose, prepared
	netns   string // /proc/…/ns/net
	hosts   string // a file for /etc/hosts
	uid     string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root can make namespaces: run this check as root")
	}
	h := &house{t: t, project: project(t), base: filepath.Join(prepared(t), "compose")}
	_, h.uid, _ = strings.Cut(readFile(t, filepath.Join(h.base, ".env")), "JETCLAW_UID=")
	h.uid, _, _ = strings.Cut(h.uid, "\n")
	h.hosts = filepath.Join(h.base, "hosts")
	writeFile(t, h.hosts, "127.0.0.1 localhost\n127.0.1.1 n1\n127.0.1.2 n2\n127.0.1.3 n3\n")
	tool(t, "ip", "iproute2")
	holder := exec.Command(tool(t, "unshare", "util-linux"), "--net", "sh", "-c", "ip link set lo up && echo up && exec cat")
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = holder.Wait() })
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatalf("a network of its own: %v", err)
	}
	h.netns = fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid)
	return h
}

// process is one that runs until it is stopped.
type process struct {
	name  string
	cmd   *exec.Cmd
	out   *lines
	ended chan error
}

func (h *house) start(name string, c *exec.Cmd) *process {
	h.t.Helper()
	p := &process{name: name, cmd: c, out: &lines{}, ended: make(chan error, 1)}
	c.Stdout, c.Stderr = p.out, p.out
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() { // whose thread lives as long as the process: its death would be the process's
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			p.ended <- c.Wait()
		}
	}()
	if err := <-started; err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	h.t.Cleanup(func() { _ = c.Process.Kill() })
	return p
}

func (p *process) stop(t *testing.T, within time.Duration) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("%s ended with %v\n%s", p.name, err, p.out)
		}
	case <-time.After(within):
		t.Errorf("%s has not ended\n%s", p.name, p.out)
		_ = p.cmd.Process.Kill()
	}
}

// node is a NATS server with the prepared configuration and certificates.
func (h *house) node(i int) *process {
	h.t.Helper()
	name, addr := fmt.Sprintf("n%d", i), fmt.Sprintf("127.0.1.%d", i)
	dir, _ := natsFolder(h.t, name)
	conf := filepath.Join(dir, "nats.conf")
	writeFile(h.t, conf, strings.ReplaceAll(readFile(h.t, conf), `"0.0.0.0:`, `"`+addr+`:`))
	script := `mount --bind "$1" /etc/hosts; shift; exec "$@"`
	c := exec.Command("nsenter", "--net="+h.netns, "unshare", "--mount", "bash", "-ec", script, "node", h.hosts, natsServerPath(h.t), "-c", conf)
	c.Env = append(os.Environ(), "NATS_NAME="+name, "NATS_MONITOR="+addr+":8222")
	for key, value := range h.project.Services[name].Environment {
		if key != "NATS_MONITOR" {
			c.Env = append(c.Env, key+"="+*value)
		}
	}
	return h.start(name, c)
}

// healthy asks a node what its health check in compose asks.
func (h *house) healthy(p *process, at string) {
	h.t.Helper()
	err := errors.New("not asked")
	for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); {
		var answer *http.Response
		if answer, err = h.client(at).Get("http://n/healthz?js-enabled-only=true"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				err = errors.New(answer.Status)
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	if err != nil {
		h.t.Fatalf("%s is not healthy: %v\n%s", p.name, err, p.out)
	}
}

// service is the command of a service of jetclaw, with other arguments where there are some.
func (h *house) service(name, monitor string, args ...string) *exec.Cmd {
	h.t.Helper()
	s := h.project.Services[name]
	var b strings.Builder
	fmt.Fprintf(&b, "mount -t tmpfs -o mode=0755 run /run; mount -t tmpfs -o mode=0755 home /home; mkdir /home/jetclaw\n")
	fmt.Fprintf(&b, "mount -t tmpfs -o mode=0700,uid=%s,gid=%s jetclaw /home/jetclaw; mount --bind '%s' /etc/hosts\n", h.uid, h.uid, h.hosts)
	compose, err := filepath.Abs(filepath.Join(deployDir, "compose"))
	if err != nil {
		h.t.Fatal(err)
	}
	bind := func(source, target string, readOnly bool) {
		rel, err := filepath.Rel(compose, source)
		if err != nil {
			h.t.Fatal(err)
		}
		from := filepath.Join(h.base, rel)
		st, err := os.Stat(from)
		if err != nil {
			h.t.Fatal(err)
		}
		made := "touch '" + target + "'"
		if st.IsDir() {
			made = "mkdir -p '" + target + "'"
		}
		fmt.Fprintf(&b, "mkdir -p '%s'; %s; mount --bind '%s' '%s'\n", filepath.Dir(target), made, from, target)
		if readOnly {
			fmt.Fprintf(&b, "mount -o remount,bind,ro '%s'\n", target)
		}
	}
	for _, v := range s.Volumes {
		if v.Target != "/backups" {
			bind(v.Source, v.Target, v.ReadOnly)
		}
	}
	for _, c := range s.Configs {
		bind(h.project.Configs[c.Source].File, c.Target, true)
	}
	for _, c := range s.Secrets {
		bind(h.project.Secrets[c.Source].File, c.Target, true)
	}
	fmt.Fprintf(&b, "cd /home/jetclaw; exec setpriv --reuid=%s --regid=%s --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all env -i \"$@\"\n", h.uid, h.uid)
	list := append([]string{"--net=" + h.netns, "unshare", "--mount", "bash", "-ec", b.String(), name}, imageEnv(h.t)...)
	for key, value := range s.Environment {
		if value != nil && *value != "" {
			list = append(list, key+"="+*value)
		}
	}
	list = append(list, jetclaw(h.t))
	if len(args) == 0 {
		args = slices.Clone(s.Command)
		for i, a := range args {
			if a == ":9464" {
				args[i] = monitor
			}
		}
	}
	return exec.Command("nsenter", append(list, args...)...)
}

// client asks an address in the network of the house; over HTTPS it trusts the prepared CA only.
func (h *house) client(addr string) *http.Client {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(readFile(h.t, filepath.Join(h.base, "state", "tls", "ca.crt")))) {
		h.t.Fatal("the CA has no certificate")
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		type dialed struct {
			c   net.Conn
			err error
		}
		done := make(chan dialed, 1)
		go func() { // a thread that goes into the network of the house, and ends with this function
			runtime.LockOSThread()
			ns, err := os.Open(h.netns)
			if err == nil {
				defer ns.Close()
				err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
			}
			if err != nil {
				done <- dialed{nil, err}
				return
			}
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			done <- dialed{c, err}
		}()
		d := <-done
		return d.c, d.err
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, Timeout: time.Minute}
}

// TestComposeHouseRuns starts all that compose.yaml says of NATS and jetclaw, in its order, and talks to it.
func TestComposeHouseRuns(t *testing.T) {
	h := newHouse(t)
	nodes := []*process{h.node(1), h.node(2), h.node(3)}
	for i, p := range nodes { // as depends_on says: healthy
		h.healthy(p, fmt.Sprintf("127.0.1.%d:8222", i+1))
	}
	if out, err := h.service("topology", "").CombinedOutput(); err != nil {
		t.Fatalf("topology: %v\n%s\n%s\n==2\n%s\n==3\n%s", err, out, nodes[0].out, nodes[1].out, nodes[2].out)
	}
	var services []*process
	monitors := map[string]string{}
	for i, name := range []string{"outbox", "builtin", "mcp", "tools", "approvals", "turns", "conversations", "intake"} {
		monitors[name] = fmt.Sprintf("127.0.2.%d:9464", i+1)
		services = append(services, h.start(name, h.service(name, monitors[name])))
	}
	for _, p := range services {
		var answer []byte
		err := errors.New("not asked")
		for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); {
			select {
			case e := <-p.ended:
				t.Fatalf("%s ended: %v\n%s", p.name, e, p.out)
			case <-time.After(50 * time.Millisecond):
			}
			answer, err = exec.Command("nsenter", "--net="+h.netns, jetclaw(t), "health", monitors[p.name]).CombinedOutput()
		}
		if err != nil {
			t.Fatalf("%s is not ready: %s\n%s", p.name, answer, p.out)
		}
	}
	// By the API, with the token and the certificate that were prepared.
	client := h.client("127.0.0.1:7443")
	token := strings.TrimSpace(readFile(t, filepath.Join(h.base, "state", "keys", "http.token")))
	ask := func(method, path, body string, into any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://localhost:7443"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode/100 != 2 || json.Unmarshal(data, into) != nil {
			t.Fatalf("%s: %s %s", path, answer.Status, data)
		}
	}
	send := func(key, text string) (status, reply string) {
		t.Helper()
		var receipt struct {
			ID string `json:"message_id"`
		}
		ask(http.MethodPost, "/v1/messages", fmt.Sprintf(`{"session":"demo","text":%q,"idempotency_key":%q}`, text, key), &receipt)
		var answer struct{ Status, Text string }
		ask(http.MethodGet, "/v1/messages/"+receipt.ID+"/reply?wait=30s", "", &answer)
		return answer.Status, answer.Text
	}
	if status, text := send("1", "hello"); status != "completed" || !strings.Contains(text, "hello") {
		t.Errorf("%s: %s", status, text)
	}
	// A tool of the workspace that three services share, allowed by the gate: turns, tools, builtin.
	if status, text := send("2", `!tool write_file {"path":"note.txt","content":"from a cluster"}`); status != "completed" {
		t.Errorf("%s: %s", status, text)
	}
	if got := readFile(t, filepath.Join(h.base, "state", "workspace", "note.txt")); got != "from a cluster" {
		t.Errorf("the workspace holds %q", got)
	}
	// One that asks a person, who allows it: approvals signs, builtin believes it.
	if status, text := send("3", `!tool remember {"text":"signed"}`); status != "awaiting_approval" {
		t.Errorf("%s: %s", status, text)
	}
	if out, err := h.service("cli", "", "approvals", "list").CombinedOutput(); err != nil || !strings.Contains(string(out), "remember") {
		t.Errorf("the command line: %v\n%s", err, out)
	} else {
		fields := strings.Fields(string(out))
		id := fields[slices.Index(fields, "runs")+1]
		if out, err := h.service("cli", "", "approvals", "approve", id).CombinedOutput(); err != nil {
			t.Errorf("approve: %v\n%s", err, out)
		}
		if status, text := send("4", "and now?"); status != "completed" {
			t.Errorf("after the approval: %s: %s", status, text)
		}
		out, err := h.service("cli", "", "events", "--json").CombinedOutput()
		if err != nil || strings.Count(string(out), `"outcome":"ok"`) < 2 {
			t.Errorf("events: %v\n%s", err, out)
		}
	}
	for _, p := range slices.Backward(services) {
		rss(t, p)
		p.stop(t, drains+5*time.Second)
	}
	for _, p := range nodes {
		if strings.Contains(p.out.String(), "TLS route handshake error") {
			t.Errorf("%s does not know another node by its certificate:\n%s", p.name, p.out)
		}
		_ = p.cmd.Process.Kill()
		if err := <-p.ended; err == nil {
			t.Errorf("%s had ended before", p.name)
		}
	}
}

// rss tells what a service took: the figures that requests of memory follow.
func rss(t *testing.T, p *process) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Error(err)
		return
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			t.Logf("%s: %s", p.name, strings.Join(strings.Fields(line), " "))
		}
	}
}
