package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A daemon answers before it says how its bus is reached.
func TestTheEndpointIsWaitedFor(t *testing.T) {
	h := Home{Dir: t.TempDir()}
	run := filepath.Join(h.Dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		go func() {
			for _, text := range []string{`{"ur`, `{"url":"nats://x"}`} { // not whole at first
				time.Sleep(endpointTime / 4)
				if err := os.WriteFile(filepath.Join(run, "endpoint.json"), []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
		}()
		if url, err := h.Endpoint(t.Context()); err != nil || url != "nats://x" {
			t.Errorf("%q, %v", url, err)
		}
		synctest.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := (Home{Dir: h.Workspace()}).Endpoint(t.Context()); err == nil || time.Since(began) < endpointTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
