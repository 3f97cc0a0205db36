package check

import (
	"strings"
	"sync"
)

// lines is what a process prints, to be read while it runs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
