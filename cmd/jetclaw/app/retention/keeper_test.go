package retention_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
)

// clockwork is a clock that a test winds.
type clockwork struct {
	asked chan time.Duration
	rings chan time.Time
}

func (c *clockwork) after(d time.Duration) <-chan time.Time {
	c.asked <- d
	return c.rings
}

func TestKeeper(t *testing.T) {
	h := build(t)
	one := h.talked("one", 2, today.Add(-200*day))
	h.live()
	b := &dying{Bus: h.bus(), step: "before purge", lost: true}
	var log bytes.Buffer
	clock := &clockwork{asked: make(chan time.Duration), rings: make(chan time.Time)}
	k, err := retention.NewKeeper(retention.KeeperConfig{
		Pruner: h.pruner(b, retention.Policy{Dormant: 180 * day}), Log: slog.New(slog.NewTextHandler(&log, nil)), After: clock.after,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	if err := k.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := <-clock.asked; d != 5*time.Minute {
		t.Errorf("it looks after %s", d)
	}
	clock.rings <- today // it fails at the purge
	if d := <-clock.asked; d != 6*time.Hour {
		t.Errorf("it looks again after %s", d)
	}
	if n := len(h.journal()[one]); n != 7 {
		t.Errorf("%d events", n)
	}
	b.step = ""
	clock.rings <- today
	<-clock.asked
	if lines := h.journal()[one]; len(lines) != 1 {
		t.Errorf("%q", lines)
	}
	stop()
	running.Wait()
	for _, want := range []string{"level=WARN", "no answer in time", "a deleted session is purged", "session=" + string(one), "events=6"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

// TestKeeperOfASize reads the journal when it starts, and then only when it is too large.
func TestKeeperOfASize(t *testing.T) {
	h := build(t)
	h.talked("one", 2, today.Add(-200*day))
	h.live()
	size, err := h.bus().Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	p := h.pruner(h.bus(), retention.Policy{MaxBytes: size})
	p.Step = func() { read++ }
	clock := &clockwork{asked: make(chan time.Duration), rings: make(chan time.Time)}
	k, err := retention.NewKeeper(retention.KeeperConfig{Pruner: p, Log: slog.New(slog.DiscardHandler), After: clock.after})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	<-clock.asked
	for _, want := range []int{6, 6} {
		clock.rings <- today
		<-clock.asked
		if read != want {
			t.Errorf("%d events were read, want %d", read, want)
		}
	}
	two := id(t, "two")
	h.say(two, "hold on "+strings.Repeat("x", 10_000), today)
	clock.rings <- today
	<-clock.asked
	if read <= 6 || len(h.journal()[two]) == 0 {
		t.Errorf("%d events were read", read)
	}
	stop()
	running.Wait()
	if _, d := tombstone(t, h.journal()["main.terminal.local.one"][0]); d.Events != 6 {
		t.Errorf("%+v", d)
	}
}

func TestKeeperOfNothing(t *testing.T) {
	h := build(t)
	asked := false
	k, err := retention.NewKeeper(retention.KeeperConfig{
		Pruner: h.pruner(h.bus(), retention.Policy{}), Log: slog.New(slog.DiscardHandler),
		After: func(time.Duration) <-chan time.Time { asked = true; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := k.Run(ctx); err != nil || asked {
		t.Errorf("%v, asked for the time: %v", err, asked)
	}
	for _, c := range []retention.KeeperConfig{{Log: slog.New(slog.DiscardHandler)}, {Pruner: k.Pruner}} {
		if _, err := retention.NewKeeper(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
