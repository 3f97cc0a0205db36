package natsembed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is one server with its admin user.
type fixture struct {
	*Server
	key Key
	log *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func options(t *testing.T, dir string) (Options, Key, *lockedBuffer) {
	t.Helper()
	keys, err := Keys(filepath.Join(t.TempDir(), "keys"), bus.Admin)
	if err != nil {
		t.Fatal(err)
	}
	key := keys[bus.Admin]
	log := &lockedBuffer{}
	return Options{
		StoreDir: dir, Log: slog.New(slog.NewTextHandler(log, nil)), MinFree: 1, Check: 10 * time.Millisecond,
		Users: []User{{Name: bus.Admin, PublicKey: key.Public, Permissions: bus.AdminPermissions()}},
	}, key, log
}

func begin(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	o, key, log := options(t, t.TempDir())
	if change != nil {
		change(&o)
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, s) })
	return &fixture{s, key, log}
}

func end(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func (f *fixture) connect(t *testing.T) *bus.Conn {
	t.Helper()
	c, err := bus.Connect(t.Context(), bus.ConnOptions{
		Service: bus.Admin, InProcess: f, Seed: f.key.Seed(), Log: f.opts.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

func store(t *testing.T, c *bus.Conn) jetstream.Stream {
	t.Helper()
	s, err := c.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The server's own way to give up on a broken disk is to switch JetStream off.
func TestWatchdogRestarts(t *testing.T) {
	f := begin(t, nil)
	c := f.connect(t)
	store(t, c)
	if _, err := c.JetStream().Publish(t.Context(), "s.1", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	back := c.NATS().StatusChanged(nats.CONNECTED)
	defer c.NATS().RemoveStatusListener(back)
	if err := f.inner.Load().DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-back:
	case <-t.Context().Done():
		t.Fatal("the connection did not come back")
	}
	if n := f.Restarts(); n != 1 {
		t.Errorf("%d restarts", n)
	}
	s, err := c.JetStream().Stream(t.Context(), "S")
	if err != nil || s.CachedInfo().State.Msgs != 1 {
		t.Fatalf("after the restart: %v", err)
	}
	if !strings.Contains(f.log.String(), "switched JetStream off") {
		t.Errorf("the log does not tell why:\n%s", f.log)
	}
}

func TestRestartKeepsThePort(t *testing.T) {
	f := begin(t, func(o *Options) { o.Listen, o.Port = true, -1 })
	addr := f.Addr()
	c, err := bus.Connect(t.Context(), bus.ConnOptions{
		Service: bus.Admin, URL: "nats://" + addr, Seed: f.key.Seed(), Log: f.opts.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	back := c.NATS().StatusChanged(nats.CONNECTED)
	if err := f.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Addr() != addr {
		t.Errorf("%s became %s", addr, f.Addr())
	}
	<-back
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStoreIsLocked(t *testing.T) {
	f := begin(t, nil)
	o, _, _ := options(t, f.opts.StoreDir)
	_, err := Start(t.Context(), o)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%v", err)
	}
}

func TestStoreIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o, _, _ := options(t, filepath.Join(file, "data"))
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

// A stream that cannot be read must not be replaced by an empty one.
func TestStreamIsDamaged(t *testing.T) {
	f := begin(t, nil)
	c := f.connect(t)
	store(t, c)
	end(t, f.Server)
	meta := filepath.Join(f.opts.StoreDir, "jetstream", "$G", "streams", "S", "meta.inf")
	if err := os.WriteFile(meta, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, _, _ := options(t, f.opts.StoreDir)
	if _, err := Start(t.Context(), o); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "could not be recovered") {
		t.Errorf("%v", err)
	}
}

func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o, _, _ := options(t, t.TempDir())
	o.Listen, o.Port = true, l.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), o)
	if !errors.Is(err, ErrPort) || !strings.Contains(err.Error(), fmt.Sprint(o.Port)) {
		t.Errorf("%v", err)
	}
	if portOwner(o.Port) != "" && !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%v does not say whose", err)
	}
}

func TestBadOptions(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no store":     func(o *Options) { o.StoreDir = "" },
		"no log":       func(o *Options) { o.Log = nil },
		"no users":     func(o *Options) { o.Users = nil },
		"no port":      func(o *Options) { o.Listen = true },
		"all networks": func(o *Options) { o.Listen, o.Port, o.Host = true, -1, "0.0.0.0" },
		"other host":   func(o *Options) { o.Listen, o.Port, o.Host = true, -1, "10.1.2.3" },
	} {
		o, _, _ := options(t, t.TempDir())
		change(&o)
		if s, err := Start(t.Context(), o); err == nil {
			end(t, s)
			t.Errorf("%s: started", name)
		}
	}
}

func TestNobodyGetsInWithoutKey(t *testing.T) {
	f := begin(t, func(o *Options) { o.Listen, o.Port = true, -1 })
	nc, err := nats.Connect("nats://" + f.Addr())
	if err == nil {
		nc.Close()
		t.Error("connected without a key")
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, _, _ := options(t, t.TempDir())
	s, err := Start(ctx, o)
	if err == nil { // it was faster
		end(t, s)
		return
	}
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStartStop(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		o, _, _ := options(t, dir)
		s, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Restart(t.Context()) }) // at the same time: either order is fine
		end(t, s)
		wg.Wait()
		end(t, s)
		if _, err := s.InProcessConn(); err == nil {
			t.Fatal("a connection after the end")
		}
	}
}
