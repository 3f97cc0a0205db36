//go:build diskfull && linux

package natsembed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
)

// The disk fills up under a running server; when it has room again the store works again, by itself, and everything
// that was acknowledged is there. Needs the right to mount.
func TestDiskFull(t *testing.T) {
	for name, sync := range map[string]Sync{"always": SyncAlways, "interval": SyncInterval} {
		t.Run(name, func(t *testing.T) { diskFull(t, sync) })
	}
}

func diskFull(t *testing.T, sync Sync) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Fatalf("mount a small disk (run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	f := begin(t, func(o *Options) {
		o.StoreDir, o.Sync, o.MinFree = filepath.Join(dir, "data"), sync, 8<<20
	})
	c := f.connect(t)
	store(t, c)

	acked, balloon := 0, filepath.Join(dir, "balloon")
	publish := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.JetStream().Publish(ctx, "s.1", make([]byte, 64<<10))
		if err == nil {
			acked++
		}
		return err
	}
	for range 10 {
		if err := publish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(balloon, make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	for err == nil {
		err = publish(t.Context())
	}
	t.Logf("full after %d messages: %v", acked, err)

	back := c.NATS().StatusChanged(nats.CONNECTED)
	defer c.NATS().RemoveStatusListener(back)
	for !strings.Contains(f.log.String(), "the disk is full") { // Check is 10 ms
		if t.Context().Err() != nil {
			t.Fatal("the watchdog has not noticed")
		}
		_ = publish(t.Context()) // takes its second, and may even be stored
	}
	freed := time.Now()
	if err := os.Remove(balloon); err != nil {
		t.Fatal(err)
	}
	select {
	case <-back:
	case <-t.Context().Done():
		t.Fatal("the server did not come back")
	}
	t.Logf("back %v after space was freed", time.Since(freed))
	if err := publish(t.Context()); err != nil {
		t.Fatalf("after the restart: %v\n%s", err, f.log)
	}
	s, err := c.JetStream().Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n < uint64(acked) {
		t.Errorf("%d messages were acknowledged, %d are there", acked, n)
	}
	if f.Restarts() < 1 {
		t.Error("no restart")
	}
}
