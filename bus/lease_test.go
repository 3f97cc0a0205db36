package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
)

func leases(t *testing.T, ctx context.Context, c *bus.Conn) *bus.Leases {
	t.Helper()
	l, err := c.Leases(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOneHoldsALease lets several processes compete: never do two work, and each gets its turn when the one before is done.
func TestOneHoldsALease(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "intake", Values: true, Leases: true})
	ctx := t.Context()
	var working atomic.Int32
	errs := make(chan error, 3)
	for range cap(errs) {
		l := leases(t, ctx, srv.Connect(t, "intake"))
		go func() {
			errs <- l.Hold(ctx, "telegram.bot", func(context.Context) error {
				if n := working.Add(1); n != 1 {
					return errors.New("two work at the same time")
				}
				working.Add(-1)
				return nil
			})
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestALeaseOutlivesNobody: the lease of a process that is gone is taken at once, one whose holder lives is not.
func TestALeaseOutlivesNobody(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "intake", Values: true, Leases: true})
	ctx := t.Context()
	gone, vanish := context.WithCancel(ctx) // its answers end, its lease stays
	dead := leases(t, gone, srv.Connect(t, "intake"))
	holds := make(chan struct{})
	blocked, unblock := context.WithCancel(ctx)
	defer unblock()
	ended := make(chan error, 1)
	go func() {
		ended <- dead.Hold(blocked, "bot", func(ctx context.Context) error {
			close(holds)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-holds

	took := make(chan time.Time, 1)
	other := leases(t, ctx, srv.Connect(t, "intake"))
	go func() {
		ended <- other.Hold(ctx, "bot", func(context.Context) error {
			took <- time.Now()
			return nil
		})
	}()
	// Another lease of the same processes is free.
	if err := other.Hold(ctx, "another", func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	select {
	case <-took:
		t.Fatal("a lease was taken from a holder that lives")
	default:
	}
	vanish()
	<-took
	if err := <-ended; err != nil {
		t.Error(err)
	}
	unblock()
	if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, bus.ErrLeaseLost) {
		t.Errorf("the one that was gone: %v", err)
	}
}

// TestASilentHolderKeepsItsLease: one that was stopped, or is busy, has it until it was not renewed for its whole time, whatever the
// clocks of the two say.
func TestASilentHolderKeepsItsLease(t *testing.T) {
	for name, c := range map[string]struct {
		until  time.Duration // from now
		silent bool
	}{
		"silent":                      {time.Hour, true},
		"busy":                        {time.Hour, false},
		"busy, its clock is behind":   {-time.Hour, false},
		"silent, its clock is behind": {-time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := bustest.New(t, bus.Spec{Name: "intake", Values: true, Leases: true})
			holder, other := srv.Connect(t, "intake"), leases(t, t.Context(), srv.Connect(t, "intake"))
			answering, end := context.WithCancel(t.Context())
			defer end()
			err := holder.AnswerWorkers(answering, func(bus.ClaimRef) bool {
				if c.silent {
					<-answering.Done()
				}
				return true
			}, func(bus.ClaimRef) {})
			if err != nil {
				t.Fatal(err)
			}
			value, err := json.Marshal(map[string]any{"holder": holder.Instance(), "until": time.Now().Add(c.until)})
			if err != nil {
				t.Fatal(err)
			}
			if err := holder.SetValue(t.Context(), "bot", value); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			taken := false
			if err := other.Hold(ctx, "bot", func(context.Context) error { taken = true; return nil }); taken {
				t.Errorf("taken %t: %v", taken, err)
			}
		})
	}
}

// TestALeaseIsLostToAnotherOnly: a renewal that meets another's lease ends the work, one that meets the own does not: its answer
// was lost.
func TestALeaseIsLostToAnotherOnly(t *testing.T) {
	for name, lost := range map[string]bool{"another's": true, "the own": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := bustest.New(t, bus.Spec{Name: "intake", Values: true, Leases: true})
			mine, another := srv.Connect(t, "intake"), srv.Connect(t, "intake")
			holder := mine.Instance()
			if lost {
				holder = another.Instance()
			}
			value, err := json.Marshal(map[string]any{"holder": holder, "until": time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var cause error
			_ = leases(t, ctx, mine).Hold(ctx, "bot", func(ctx context.Context) error {
				defer cancel()
				if err := another.SetValue(ctx, "bot", value); err != nil {
					return err
				}
				end := time.NewTimer(6 * time.Second) // a renewal and a half
				defer end.Stop()
				select {
				case <-ctx.Done():
					cause = context.Cause(ctx)
				case <-end.C:
				}
				return nil
			})
			if errors.Is(cause, bus.ErrLeaseLost) != lost {
				t.Errorf("ended by %v", cause)
			}
		})
	}
}

func TestFilesAreKept(t *testing.T) {
	srv := bustest.New(t, bus.Spec{Name: "intake", Appends: []string{"message.received"}}, bus.Spec{Name: "turns", Appends: []string{"turn.started"}})
	in, out := srv.Connect(t, "intake"), srv.Connect(t, "turns")
	data := make([]byte, 600<<10)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	const s = "main.telegram.bot.1"
	digest, err := in.PutFile(t.Context(), s, data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := in.PutFile(t.Context(), s, data); err != nil || again != digest {
		t.Errorf("the same again: %s %v", again, err)
	}
	got, err := out.GetFile(t.Context(), s, digest)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := out.GetFile(t.Context(), "main.telegram.bot.2", digest); err == nil {
		t.Error("another session has the file")
	}
	if _, err := in.PutFile(t.Context(), s, make([]byte, bus.MaxFile+1)); err == nil {
		t.Error("a file that is too large was kept")
	}
}
