package cli

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// watched collects what a process writes, for a test that waits for a part of it.
type watched struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
	more chan struct{}   // guarded by mu; closed and replaced when text grows
	done bool            // guarded by mu
}

func newWatched() *watched { return &watched{more: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	close(w.more)
	w.more = make(chan struct{})
	return len(p), nil
}

func (w *watched) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	close(w.more)
	w.more = make(chan struct{})
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// waitFor returns what was written once it contains s.
func (w *watched) waitFor(t *testing.T, s string) string {
	t.Helper()
	return w.wait(t, s, func(text string) bool { return strings.Contains(text, s) })
}

// waitCount returns what was written once it contains s so many times.
func (w *watched) waitCount(t *testing.T, s string, n int) string {
	t.Helper()
	return w.wait(t, s, func(text string) bool { return strings.Count(text, s) >= n })
}

// wait returns what was written once it is enough; s says what was waited for.
func (w *watched) wait(t *testing.T, s string, enough func(text string) bool) string {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		w.mu.Lock()
		text, more, done := w.text.String(), w.more, w.done
		w.mu.Unlock()
		if enough(text) {
			return text
		}
		if done {
			t.Fatalf("it ended without %q:\n%s", s, text)
		}
		select {
		case <-more:
		case <-limit.C:
			t.Fatalf("no %q in time:\n%s", s, text)
		}
	}
}
