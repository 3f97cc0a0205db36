package natsembed

import (
	"context"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// ring wakes the watchdog; it never blocks.
func (s *Server) ring() {
	select {
	case s.alarm <- struct{}{}:
	default:
	}
}

// watch restarts the inner server when its store is broken, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.opts.Check)
	defer tick.Stop()
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(s.opts.Check), backoff.WithMaxInterval(time.Minute), backoff.WithMaxElapsedTime(0))
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.alarm:
		}
		reason := s.broken()
		if reason == "" {
			pause.Reset()
			continue
		}
		s.log.Error("the store is broken and stays so until the server restarts", "reason", reason)
		if !s.awaitRoom(ctx) {
			return
		}
		s.log.Warn("restarting the embedded server")
		if err := s.Restart(ctx); err != nil {
			s.log.Error("restart of the embedded server", "error", err)
		} else {
			s.log.Warn("the embedded server is back")
		}
		if !sleep(ctx, pause.NextBackOff()) {
			return
		}
	}
}

// broken says why the store needs a restart, "" when it does not. A restart helps against a write error and a
// disabled JetStream, not against a stream that could not be recovered.
func (s *Server) broken() string {
	inner := s.inner.Load()
	if inner == nil {
		return "the last restart did not succeed"
	}
	if !inner.JetStreamEnabled() {
		return "the server has switched JetStream off"
	}
	if h := inner.Healthz(nil); strings.Contains(h.Error, "write error") {
		return h.Error
	}
	return ""
}

// awaitRoom waits until the disk of the store has room; false when ctx ended first.
func (s *Server) awaitRoom(ctx context.Context) bool {
	told := false
	for {
		free, err := FreeSpace(s.opts.StoreDir)
		switch {
		case err != nil:
			s.log.Error("free space of the store", "error", err)
		case free >= s.opts.MinFree:
			return true
		case !told:
			told = true
			s.log.Error("the disk is full: nothing is stored until it has room again; free some space",
				"dir", s.opts.StoreDir, "free_bytes", free, "needed_bytes", s.opts.MinFree)
		}
		if !sleep(ctx, s.opts.Check) {
			return false
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
