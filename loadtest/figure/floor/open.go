package floor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
)

// OpenCommand is the child's: an Opening on stdin, an Opened on stdout.
const OpenCommand = "floor-open"

// Opening says which store a bare server is to open, and how long it is to rest then.
type Opening struct {
	Data string        `json:"data"`
	Calm time.Duration `json:"calm_ns"`
}

// Opened is what that took.
type Opened struct {
	Took time.Duration `json:"took_ns"`
	RSS  int64         `json:"rss_bytes"` // at rest, when the garbage of the opening is given back
}

// Open has a bare server open a store that nobody uses, in a process of its own.
func Open(ctx context.Context, o Opening) (Opened, error) {
	return ask[Opened](ctx, OpenCommand, o)
}

// ServeOpen is the child's side of Open.
func ServeOpen(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, open)
}

func open(ctx context.Context, o Opening) (r Opened, err error) {
	began := time.Now()
	st, err := store.Open(o.Data)
	if err != nil {
		return r, err
	}
	defer st.Close()
	r.Took = time.Since(began)
	t := time.NewTimer(o.Calm)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	debug.FreeOSMemory()
	r.RSS, err = resident()
	return r, err
}

// resident is the memory of this process.
func resident() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("memory of the floor: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 10, 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("memory of the floor: no VmRSS: %w", lines.Err())
}
