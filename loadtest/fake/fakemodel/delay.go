package fakemodel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// Delay is a range from which each answer's delay is drawn evenly.
type Delay struct{ Min, Max time.Duration }

// ParseDelay reads "0", "200ms" or "0-500ms".
func ParseDelay(s string) (Delay, error) {
	lo, hi, isRange := strings.Cut(s, "-")
	d := Delay{}
	var err error
	if d.Min, err = time.ParseDuration(lo); err != nil {
		return Delay{}, fmt.Errorf("delay %q: want 200ms or 0-500ms: %w", s, err)
	}
	d.Max = d.Min
	if isRange {
		if d.Max, err = time.ParseDuration(hi); err != nil {
			return Delay{}, fmt.Errorf("delay %q: want 200ms or 0-500ms: %w", s, err)
		}
	}
	if d.Min < 0 || d.Max < d.Min {
		return Delay{}, fmt.Errorf("delay %q: the range runs backwards", s)
	}
	return d, nil
}

func (d Delay) String() string {
	if d.Min == d.Max {
		return d.Min.String()
	}
	return d.Min.String() + "-" + d.Max.String()
}

// dice is a seeded source that many requests share.
type dice struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{rnd: rand.New(rand.NewPCG(seed, 0x6a657463))} }

func (d *dice) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rnd.Float64()
}

func (d *dice) delay(r Delay) time.Duration {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + time.Duration(d.float()*float64(r.Max-r.Min))
}

// pause waits, or returns false as soon as the caller is gone.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
