package mcp

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/launch"
)

// silent is a program that does not end by itself.
func silent(t *testing.T) launch.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return launch.Command{
		Server: "silent", Path: self, Args: []string{hostile + "silent"}, Env: map[string]string{asServer: t.TempDir()}, Home: t.TempDir(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// TestAProgramIsNotStartedAfterItsEnd, however they meet: who gives up a connection does not wait for what it was doing.
func TestAProgramIsNotStartedAfterItsEnd(t *testing.T) {
	c := silent(t)
	for i := range 30 {
		var p program
		var starts sync.WaitGroup
		starts.Go(func() {
			if _, err := p.start(t.Context(), c); err != nil && !errors.Is(err, client.ErrClosed) {
				t.Error(err)
			}
		})
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no patience
		_ = p.end(ctx)
		starts.Wait()
		if process := p.running(); process != nil {
			select {
			case <-process.Done():
			case <-time.After(30 * time.Second):
				t.Fatal("a process is left")
			}
		}
		if _, err := p.start(t.Context(), c); !errors.Is(err, client.ErrClosed) {
			t.Fatal(err)
		}
	}
}

// TestAnAttemptThatWasGivenUpEndsNothing: it comes late, and another one runs.
func TestAnAttemptThatWasGivenUpEndsNothing(t *testing.T) {
	c := silent(t)
	var p program
	if _, err := p.start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.start(late, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-p.running().Done():
		t.Error("it was ended")
	case <-time.After(10 * time.Millisecond):
	}
	if err := p.end(t.Context()); err != nil {
		t.Error(err)
	}
}
