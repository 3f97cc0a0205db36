package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// secretEnv has what nobody in a sandbox may find. It has to be there when the process starts, or /proc does not show it.
const secretEnv = "JETCLAW_TEST_SECRET"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sandbox-exec":
			os.Exit(Main(os.Args[2:]))
		case "attack", "fair-attack":
			os.Exit(attackAll(os.Args[2], os.Args[1] == "fair-attack"))
		case "caller":
			os.Exit(caller(os.Args[2], os.Args[3], os.Args[4]))
		}
	}
	if os.Getenv(secretEnv) == "" {
		err := unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), secretEnv+"="+rand.Text()))
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func containsSecret(raw []byte, secret string) bool { return bytes.Contains(raw, []byte(secret)) }

// self starts this test as a keeper.
var self = []string{"/proc/self/exe", "sandbox-exec"}

// scene is a home as it lies on a disk, with somebody listening on every kind of socket.
type scene struct {
	target
	workspace string
	hits      atomic.Int64 // what listeners got
}

// newScene makes one below a folder of the machine.
func newScene(t *testing.T, root string) *scene {
	t.Helper()
	base, err := os.MkdirTemp(root, "jetclaw-scene-") //nolint:usetesting // where it lies matters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(base) })
	s := &scene{}
	s.Secret, s.Parent, s.Home = os.Getenv(secretEnv), os.Getpid(), filepath.Join(base, "home")
	if s.Secret == "" {
		t.Fatalf("%s is not set", secretEnv)
	}
	s.workspace = filepath.Join(s.Home, "workspace")
	for _, dir := range []string{"keys", "run/later", "data", "other", "workspace"} {
		if err := os.MkdirAll(filepath.Join(s.Home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"keys/key", "data/d", "jetclaw.yaml", "other/USER.md"} {
		if err := os.WriteFile(filepath.Join(s.Home, name), []byte("a secret: "+s.Secret+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.workspace, "program"), raw, 0o755); err != nil {
		t.Fatal(err)
	}
	s.listen(t)
	return s
}

func (s *scene) listen(t *testing.T) {
	t.Helper()
	s.Unix = filepath.Join(s.Home, "run", "socket")
	s.Abstract = "jetclaw-test-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(filepath.Dir(s.Home))
	tcp := s.accept(t, "tcp", "127.0.0.1:0")
	s.accept(t, "unix", s.Unix)
	s.accept(t, "unix", "@"+s.Abstract)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.TCP, s.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 100)); err != nil {
				return
			}
			s.hits.Add(1)
		}
	}()
	t.Cleanup(func() { _ = udp.Close(); <-done })
	if s.Shm, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(s.Shm, unix.IPC_RMID, nil) })
}

func (s *scene) accept(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.hits.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l
}

// hidden are the paths that a daemon would hide. One does not exist.
func (s *scene) hidden() []string {
	var list []string
	for _, name := range []string{"keys", "run", "data", "jetclaw.yaml", "other", "none/yet"} {
		list = append(list, filepath.Join(s.Home, name))
	}
	return list
}

// state is all that can be seen of a home from outside, its workspace not.
func (s *scene) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Dir(s.Home), func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == s.workspace {
			return errors.Join(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		raw, _ := os.ReadFile(path)
		b.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + " " + string(raw) + "\n")
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipDir) {
		t.Fatal(err)
	}
	return b.String()
}

// boxes gives a test each kind of sandbox. One that cannot be had here has to be refused, with a reason and a way out.
func boxes(t *testing.T, hidden []string, test func(t *testing.T, b *Box)) {
	t.Helper()
	for _, k := range []kind{bwrap, own, bare} {
		t.Run(string(k), func(t *testing.T) {
			b, err := newBox(k, Options{Self: self, Hidden: hidden})
			if err == nil {
				test(t, b)
				return
			}
			t.Logf("cannot be had here: %v", err)
			if k != bwrap {
				return // Landlock as a mode has two kinds: TestRefusal
			}
			_, err = New(Options{Mode: Bwrap, Self: self})
			if err == nil || !strings.Contains(err.Error(), "bwrap: ") || !strings.Contains(err.Error(), "tools.exec.sandbox: none") {
				t.Errorf("got %v, want a refusal that says why and what to do", err)
			}
		})
	}
}

// in runs a command in the workspace and returns what it printed.
func (s *scene) in(t *testing.T, ctx context.Context, b *Box, text string) (string, Status) {
	t.Helper()
	var out bytes.Buffer
	st, err := b.Run(ctx, Command{
		Text: text, Dir: s.workspace, Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + s.workspace},
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), st
}

// attack runs the attacks and returns those that worked.
func (s *scene) attack(t *testing.T, b *Box, fair bool) (worked, tried []string) {
	t.Helper()
	arg, err := json.Marshal(s.target)
	if err != nil {
		t.Fatal(err)
	}
	name := "attack"
	if fair {
		name = "fair-attack"
	}
	out, st := s.in(t, t.Context(), b, "exec ./program "+name+" '"+string(arg)+"'")
	if st != (Status{}) {
		t.Fatalf("%+v: %s", st, out)
	}
	for line := range strings.Lines(out) {
		var got [2]string
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		t.Logf("%s: %s", got[0], got[1])
		tried = append(tried, got[0])
		if got[1] == "" {
			worked = append(worked, got[0])
		}
	}
	slices.Sort(worked)
	return worked, tried
}
