package app

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"time"
)

// watch looks at a file now and then, and tells its subscribers when it is another.
type watch struct {
	path string

	mu  sync.Mutex
	all []chan struct{} // guarded by mu; each of size 1
}

const watchEvery = time.Second

// subscribe returns a channel that gets a value after each change; several changes may become one.
func (w *watch) subscribe() <-chan struct{} {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, ch)
	return ch
}

// Run looks until ctx ends. A change is told once two looks have seen the same: a file that is being written may say for a moment
// that there is no server at all.
func (w *watch) Run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery / 2)
	defer tick.Stop()
	told := w.look()
	for before := told; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := w.look()
		if now == before && now != told {
			told = now
			w.tell()
		}
		before = now
	}
}

// Ready returns at once.
func (w *watch) Ready(context.Context) error { return nil }

// seen is what tells one state of a file from another.
type seen struct {
	size int64
	time time.Time
	mode fs.FileMode
}

// look follows links: the file may be one.
func (w *watch) look() seen {
	st, err := os.Stat(w.path)
	if err != nil {
		return seen{}
	}
	return seen{st.Size(), st.ModTime(), st.Mode()}
}

func (w *watch) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.all {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
