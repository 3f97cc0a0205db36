package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatchTellsWhatStays: a file that is rewritten all the time is told of once, when that is over.
func TestWatchTellsWhatStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jetclaw.yaml")
	synctest.Test(t, func(t *testing.T) {
		size := 0
		write := func() {
			size++
			if err := os.WriteFile(path, []byte(strings.Repeat("#", size)), 0o600); err != nil {
				t.Error(err)
			}
		}
		write()
		w := &watch{path: path}
		changed := w.subscribe()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		for range 50 {
			write()
			time.Sleep(100 * time.Millisecond)
		}
		if len(changed) > 0 {
			t.Error("told in the middle")
		}
		time.Sleep(2 * watchEvery)
		if len(changed) != 1 {
			t.Error("not told of what it has become")
		}
		<-changed
		time.Sleep(5 * watchEvery)
		if len(changed) > 0 {
			t.Error("told twice")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
