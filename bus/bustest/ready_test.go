package bustest_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/natsembed"
)

// BenchmarkReady is from nothing to a server with its topology, synced writes, one connection: what a start costs before
// the services run.
func BenchmarkReady(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	keys, err := natsembed.Keys(filepath.Join(b.TempDir(), "keys"), bus.Admin)
	if err != nil {
		b.Fatal(err)
	}
	key := keys[bus.Admin]
	topo := bus.TopologyOf(representative, bus.DefaultLimits())
	ready := func(b *testing.B, dir string) {
		b.Helper()
		s, err := natsembed.Start(b.Context(), natsembed.Options{
			StoreDir: dir, Log: log,
			Users: []natsembed.User{{Name: bus.Admin, PublicKey: key.Public, Permissions: bus.AdminPermissions()}},
		})
		if err != nil {
			b.Fatal(err)
		}
		c, err := bus.Connect(b.Context(), bus.ConnOptions{Service: bus.Admin, InProcess: s, Seed: key.Seed(), Log: log})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bus.Apply(b.Context(), c.JetStream(), topo); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := c.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Fatal(err)
		}
		if err := s.Shutdown(context.WithoutCancel(b.Context())); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			ready(b, b.TempDir())
		}
	})
	b.Run("existing", func(b *testing.B) {
		dir := b.TempDir()
		ready(b, dir)
		for b.Loop() {
			ready(b, dir)
		}
	})
}
