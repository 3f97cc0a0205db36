package leash_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jetclaw/jetclaw/loadtest/bench/leash"
)

func TestItEndsWithItsInput(t *testing.T) {
	leash.Wait(t.Context(), strings.NewReader("whatever"))
}

func TestItEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		defer func() { _ = out.Close() }() // the reader that is left behind goes with it
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			leash.Wait(ctx, in)
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("it does not wait")
		default:
		}
		cancel()
		<-ended
	})
}
