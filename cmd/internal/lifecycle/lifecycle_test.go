package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tape records what happens in which order.
type tape struct {
	mu    sync.Mutex
	lines []string
}

func (t *tape) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

// part is a service whose times and errors are given.
type part struct {
	name     string
	tape     *tape
	readyIn  time.Duration
	drainFor time.Duration
	failIn   time.Duration // 0: never by itself
	err      error
	deaf     chan struct{} // not nil: Run ignores its context until it is closed
	cause    error
}

func (p *part) Run(ctx context.Context) error {
	p.tape.add(p.name + " start")
	defer p.tape.add(p.name + " end")
	if p.deaf != nil {
		<-p.deaf
		return nil
	}
	var fail <-chan time.Time
	if p.failIn > 0 {
		t := time.NewTimer(p.failIn)
		defer t.Stop()
		fail = t.C
	}
	select {
	case <-fail:
		return p.err
	case <-ctx.Done():
		p.cause = context.Cause(ctx)
		p.tape.add(p.name + " drain")
		drained := time.NewTimer(p.drainFor)
		defer drained.Stop()
		<-drained.C
		return ctx.Err()
	}
}

func (p *part) Ready(ctx context.Context) error {
	t := time.NewTimer(p.readyIn)
	defer t.Stop()
	select {
	case <-t.C:
		p.tape.add(p.name + " ready")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func modules(parts ...*part) (ms []Module) {
	for _, p := range parts {
		ms = append(ms, Module{Name: p.name, Service: p})
	}
	return ms
}

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		ctx, stop := context.WithCancel(t.Context())
		a := &part{name: "a", tape: tp, readyIn: time.Second, drainFor: time.Second}
		b := &part{name: "b", tape: tp, readyIn: time.Second, drainFor: time.Second}
		err := Run(ctx, Options{Ready: func() { tp.add("all ready"); stop() }}, modules(a, b)...)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"a start", "a ready", "b start", "b ready", "all ready",
			"b drain", "b end", "a drain", "a end",
		}
		if !slices.Equal(tp.lines, want) {
			t.Errorf("got  %q\nwant %q", tp.lines, want)
		}
		if !errors.Is(a.cause, ErrStop) {
			t.Errorf("cause of a is %v, want ErrStop", a.cause)
		}
	})
}

func TestFailTogether(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		b    part
		want string
		is   error
	}{
		"an error":            {part{failIn: time.Minute, err: boom}, "b: boom", boom},
		"an early end":        {part{failIn: time.Minute}, "b: stopped without being asked", ErrEarly},
		"dies while starting": {part{failIn: time.Second, readyIn: time.Hour, err: boom}, "b: boom", boom},
		"never ready":         {part{readyIn: time.Hour}, "b: ready: not ready after 10s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tp := &tape{}
				a, b := &part{name: "a", tape: tp}, c.b
				b.name, b.tape = "b", tp
				err := Run(t.Context(), Options{Start: 10 * time.Second}, modules(a, &b)...)
				if err == nil || err.Error() != c.want {
					t.Fatalf("got %v, want %s", err, c.want)
				}
				if c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("%v does not wrap %v", err, c.is)
				}
				var f *Failure
				if !errors.As(a.cause, &f) || f.Module != "b" {
					t.Errorf("the cause seen by a is %v, want the failure of b", a.cause)
				}
			})
		})
	}
}

func TestFailureOfAnEarlierModuleWhileAnotherStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		a := &part{name: "a", tape: tp, failIn: time.Second, err: errors.New("boom")}
		b := &part{name: "b", tape: tp, readyIn: time.Hour}
		c := &part{name: "c", tape: tp}
		err := Run(t.Context(), Options{}, modules(a, b, c)...)
		if err == nil || err.Error() != "a: boom" {
			t.Fatalf("got %v", err)
		}
		if slices.Contains(tp.lines, "c start") {
			t.Error("c was started although a had failed")
		}
	})
}

func TestStopWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := Run(ctx, Options{Ready: func() { t.Error("ready") }},
			modules(&part{name: "a", tape: tp}, &part{name: "b", tape: tp, readyIn: time.Hour})...)
		if err != nil {
			t.Fatal(err)
		}
		if last := tp.lines[len(tp.lines)-1]; last != "a end" {
			t.Errorf("last is %q", last)
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		ctx, stop := context.WithCancel(t.Context())
		deaf := make(chan struct{})
		a := &part{name: "a", tape: tp}
		b := &part{name: "b", tape: tp, deaf: deaf}
		c := &part{name: "c", tape: tp}
		began := time.Now()
		err := Run(ctx, Options{Drain: 5 * time.Second, Grace: time.Second, Ready: stop}, modules(a, b, c)...)
		var s *Stuck
		if !errors.As(err, &s) || strings.Join(s.Modules, " ") != "b" {
			t.Fatalf("got %v, want b stuck", err)
		}
		if d := time.Since(began); d != 6*time.Second {
			t.Errorf("took %s", d)
		}
		if !errors.Is(a.cause, ErrDrain) {
			t.Errorf("cause of a is %v, want ErrDrain", a.cause)
		}
		close(deaf)
		synctest.Wait()
	})
}

func TestHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := &tape{}
		ctx, stop := context.WithCancel(t.Context())
		hurry, now := context.WithTimeout(t.Context(), time.Second)
		defer now()
		began := time.Now()
		a := &part{name: "a", tape: tp}
		b := &part{name: "b", tape: tp, drainFor: time.Minute}
		err := Run(ctx, Options{Hurry: hurry.Done(), Ready: stop}, modules(a, b)...)
		var s *Stuck
		if !errors.As(err, &s) || s.Modules[0] != "b" {
			t.Fatalf("got %v, want b stuck", err)
		}
		if d := time.Since(began); d != time.Second+DefaultOptions().Grace {
			t.Errorf("took %s", d)
		}
		time.Sleep(time.Minute) // the bubble's clock: lets b's drain end
	})
}

func TestErrorsOfTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		flush := errors.New("flush: no space")
		a := Module{Name: "a", Service: &part{name: "a", tape: &tape{}}}
		b := Module{Name: "b", Service: stubborn{flush}}
		err := Run(ctx, Options{Ready: stop}, a, b)
		if err == nil || err.Error() != "b: stop: flush: no space" || !errors.Is(err, flush) {
			t.Fatalf("got %v", err)
		}
	})
}

// TestReadyFailsBecauseItDies: the error of Run is the one that tells why.
func TestReadyFailsBecauseItDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), Options{}, Module{Name: "a", Service: dying{make(chan struct{})}})
		if err == nil || err.Error() != "a: the port is taken" {
			t.Fatalf("got %v", err)
		}
	})
}

type dying struct{ dies chan struct{} }

func (d dying) Run(context.Context) error {
	close(d.dies)
	time.Sleep(time.Second) // the bubble's clock
	return errors.New("the port is taken")
}

func (d dying) Ready(context.Context) error {
	<-d.dies
	return errors.New("it has stopped")
}

type stubborn struct{ err error }

func (s stubborn) Run(ctx context.Context) error {
	<-ctx.Done()
	return s.err
}
func (s stubborn) Ready(context.Context) error { return nil }

// TestStress starts and stops groups from many sides at once; run it with -race.
func TestStress(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				ctx, stop := context.WithCancel(context.Background())
				o := Options{}
				switch (i + j) % 3 {
				case 0:
					o.Ready = stop
				case 1:
					stop()
				case 2:
					go stop()
				}
				tp := &tape{}
				ms := modules(&part{name: "a", tape: tp}, &part{name: "b", tape: tp}, &part{name: "c", tape: tp})
				if err := Run(ctx, o, ms...); err != nil {
					t.Error(err)
				}
				stop()
			}
		})
	}
	wg.Wait()
}
