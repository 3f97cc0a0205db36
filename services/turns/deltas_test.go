package turns

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// watcher is somebody who looks at live.<session>.
type watcher struct {
	mu  sync.Mutex
	got []Delta
}

func (w *watcher) PublishLive(_ session.ID, v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, v.(Delta))
	return nil
}

func TestDeltasAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		d := newDeltas(&w, "s", &turn.Turn{ID: "m1/t", Claim: turn.Claim{Round: 2, Attempt: 3}})
		d.flush() // nothing to send
		d.add("a")
		time.Sleep(10 * time.Millisecond)
		d.add("b")
		time.Sleep(40 * time.Millisecond)
		d.add("c")
		d.add("d")
		d.flush()
		d.flush()
		time.Sleep(time.Second)
		want := []Delta{{"delta", "m1/t", 2, 3, 1, "ab"}, {"delta", "m1/t", 2, 3, 2, "cd"}}
		if !slices.Equal(w.got, want) {
			t.Errorf("got %+v", w.got)
		}
	})
}
