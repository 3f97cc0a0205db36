package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Service is what a module does. Run blocks until ctx ends and has drained when it returns. Ready returns nil once the
// service does its work, and waits for that until ctx ends; it is called while Run runs.
type Service interface {
	Run(ctx context.Context) error
	Ready(ctx context.Context) error
}

// Module is a service with the name that its errors and log lines carry.
type Module struct {
	Name string
	Service
}

// Options of a run. The zero value waits as long as DefaultOptions says.
type Options struct {
	Start time.Duration   // for each module, from its start to ready
	Drain time.Duration   // for all modules together
	Grace time.Duration   // after Drain or Hurry, for those that still run
	Ready func()          // called once, when all are ready
	Hurry <-chan struct{} // closed, it cuts the drain short; nil never does
	Log   *slog.Logger
}

// DefaultOptions are meant for a process with a person or an init system in front of it.
func DefaultOptions() Options {
	return Options{Start: 60 * time.Second, Drain: 20 * time.Second, Grace: 2 * time.Second}
}

// ErrStop is the cause in a module's context when it is asked to stop in a normal shutdown.
var ErrStop = errors.New("stopping")

// ErrDrain is the cause in a module's context when the time to drain is over.
var ErrDrain = errors.New("the time to drain is over")

// ErrEarly is what a *Failure wraps when a module's Run returned nil although nobody had asked it to stop.
var ErrEarly = errors.New("stopped without being asked")

// Failure says which module brought the others down.
type Failure struct {
	Module string
	Err    error
}

func (f *Failure) Error() string { return f.Module + ": " + f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Stuck names the modules that had not returned when the drain was over.
type Stuck struct{ Modules []string }

func (s *Stuck) Error() string {
	return "did not stop in time: " + strings.Join(s.Modules, ", ")
}

// Run starts the modules, waits for the end and stops them; see the package comment. It returns nil after a stop asked
// for by ctx in which every module drained without an error.
func Run(ctx context.Context, o Options, modules ...Module) error {
	o = o.withDefaults()
	g := &group{o: o, ended: make(chan *running, len(modules))}
	cause := g.start(ctx, modules)
	if cause == nil {
		if o.Ready != nil {
			o.Ready()
		}
		cause = g.wait(ctx)
	}
	return errors.Join(append([]error{asError(cause)}, g.stop(cause)...)...)
}

func (o Options) withDefaults() Options {
	d := DefaultOptions()
	if o.Start == 0 {
		o.Start = d.Start
	}
	if o.Drain == 0 {
		o.Drain = d.Drain
	}
	if o.Grace == 0 {
		o.Grace = d.Grace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func asError(cause error) error {
	if errors.Is(cause, ErrStop) {
		return nil
	}
	return cause
}

// running is one started module. done is closed after err is set.
type running struct {
	Module
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error
}

type group struct {
	o     Options
	mods  []*running
	ended chan *running // every module that returns, once; buffered for all of them
}

// start brings the modules up one after another. It returns why it stopped to do so, nil when all are ready.
func (g *group) start(ctx context.Context, modules []Module) (cause error) {
	for _, m := range modules {
		if ctx.Err() != nil {
			return ErrStop
		}
		began := time.Now()
		// Not a child of ctx: a stop has to reach the modules one by one, in reverse.
		mctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		r := &running{Module: m, cancel: cancel, done: make(chan struct{})}
		g.mods = append(g.mods, r)
		go func() {
			r.err = r.Run(mctx)
			close(r.done)
			g.ended <- r
		}()
		if cause := g.await(ctx, mctx, r); cause != nil {
			return cause
		}
		g.o.Log.Debug("ready", "module", m.Name, "after", time.Since(began).Round(10*time.Microsecond))
	}
	return nil
}

// await waits until r is ready, r or another module fails, or ctx ends.
func (g *group) await(ctx, mctx context.Context, r *running) error {
	rctx, cancel := context.WithTimeoutCause(mctx, g.o.Start, fmt.Errorf("not ready after %s", g.o.Start))
	defer cancel()
	var err, cause error
	answered := make(chan struct{}) // closed once err is what Ready said
	go func() {
		defer close(answered)
		err = r.Ready(rctx)
	}()
	select {
	case <-answered:
		if err == nil {
			return nil
		}
		if rctx.Err() != nil {
			err = context.Cause(rctx)
		}
		return g.notReady(r, fmt.Errorf("ready: %w", err))
	case dead := <-g.ended:
		cause = failure(dead)
	case <-ctx.Done():
		cause = ErrStop
	}
	cancel()
	<-answered // Ready has the module in its hands; it is over before the module is stopped
	return cause
}

// notReady ends a module whose Ready has failed. As a rule that is because it dies, and its Run says why.
func (g *group) notReady(r *running, err error) error {
	r.cancel(&Failure{Module: r.Name, Err: err})
	grace := time.NewTimer(g.o.Grace)
	defer grace.Stop()
	select {
	case <-r.done:
		if r.err != nil && !asked(r.err) {
			err = r.err
		}
	case <-grace.C: // stop waits on
	}
	return &Failure{Module: r.Name, Err: err}
}

// wait blocks until the group has to stop and returns why.
func (g *group) wait(ctx context.Context) error {
	select {
	case dead := <-g.ended:
		return failure(dead)
	case <-ctx.Done():
		return ErrStop
	}
}

func failure(r *running) *Failure {
	if r.err == nil {
		return &Failure{Module: r.Name, Err: ErrEarly}
	}
	return &Failure{Module: r.Name, Err: r.err}
}

// stop asks the modules to stop, last first, each when the one after it has returned. It returns what went wrong.
func (g *group) stop(cause error) (errs []error) {
	drain := time.NewTimer(g.o.Drain)
	defer drain.Stop()
	for i, r := range slices.Backward(g.mods) {
		r.cancel(cause)
		select {
		case <-r.done:
			errs = appendStopError(errs, r, cause)
			g.o.Log.Debug("stopped", "module", r.Name)
			continue
		case <-drain.C:
		case <-g.o.Hurry:
		}
		return append(errs, g.cut(g.mods[:i+1], cause)...)
	}
	return errs
}

// cut ends all that still run at once and names those that do not return even so.
func (g *group) cut(rest []*running, cause error) (errs []error) {
	for _, r := range rest {
		r.cancel(ErrDrain)
	}
	grace := time.NewTimer(g.o.Grace)
	defer grace.Stop()
	var stuck []string
	over := false
	for _, r := range slices.Backward(rest) {
		if !over {
			select {
			case <-r.done:
			case <-grace.C:
				over = true
			}
		}
		select {
		case <-r.done:
			errs = appendStopError(errs, r, cause)
		default:
			stuck = append(stuck, r.Name)
		}
	}
	if stuck != nil {
		errs = append(errs, &Stuck{Modules: stuck})
	}
	return errs
}

// appendStopError keeps what a module says about its own end, unless that is only the cancellation, or the failure
// which is the cause of the stop and reported as such.
func appendStopError(errs []error, r *running, cause error) []error {
	var f *Failure
	switch {
	case r.err == nil, asked(r.err):
		return errs
	case errors.As(cause, &f) && (f.Module == r.Name || errors.Is(r.err, cause)):
		return errs
	}
	return append(errs, &Failure{Module: r.Name, Err: fmt.Errorf("stop: %w", r.err)})
}

// asked says whether an error only tells that its module was asked to stop.
func asked(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrStop) || errors.Is(err, ErrDrain)
}
