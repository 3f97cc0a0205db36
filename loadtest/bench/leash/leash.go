// Package leash ends a child of this program with whoever has started it: the other end of its stdin.
package leash

import (
	"context"
	"io"
)

// Wait returns when in has ended, or ctx. What it reads is nobody's.
func Wait(ctx context.Context, in io.Reader) {
	gone := make(chan struct{})
	go func() { // ends with the process at the latest
		_, _ = io.Copy(io.Discard, in)
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}
