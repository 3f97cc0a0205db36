package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Catalog finds models by reference ("provider/model"). An error is for the person.
type Catalog interface {
	Model(ref string) (model.Model, error)
}

// Config is what a router needs; all of it.
type Config struct {
	Catalog Catalog
	Store   Store
	Log     *slog.Logger
}

// Router asks models. It is safe for concurrent use.
type Router struct {
	catalog Catalog
	holds   *memory
	log     *slog.Logger
}

// New makes a router. It panics when a part is missing.
func New(c Config) *Router {
	if c.Catalog == nil || c.Store == nil || c.Log == nil {
		panic("a router needs a catalog, a store and a logger")
	}
	return &Router{catalog: c.Catalog, holds: &memory{store: c.Store, log: c.Log, known: map[string]known{}}, log: c.Log}
}

// Result is an answer, or how far it came.
type Result struct {
	Answer model.Answer
	Model  string       // that answered, or was asked last; "" when none was
	Tried  []turnv1.Try // the others of the chain that failed or were passed over
}

// target is one model of a chain.
type target struct {
	standing
	ref      string
	model    model.Model // nil when the catalog does not have it
	keys     [2]string   // of its hold, and of its provider's
	err      *model.Error
	started  bool // some of its answer was passed on
	answered bool
}

// Generate asks the models of a chain, in order; see the package comment. request makes the request for the model that
// is asked. An error is a *model.Error, or, when ctx has ended, one that wraps its cause. The text of a *model.Error tells
// about the first model that failed; its class is that of the last.
func (r *Router) Generate(
	ctx context.Context, chain []string, request func(model.Model) model.Request, onDelta func(string),
) (Result, error) {
	targets := r.resolve(chain)
	if len(targets) == 0 {
		return Result{}, &model.Error{Class: model.Invalid, Cause: turnv1.ModelUnavailable, Text: "No model is configured.", Detail: "an empty chain"}
	}
	var last *target
	for {
		now := time.Now()
		r.look(ctx, targets, now)
		standings := make([]standing, len(targets))
		for i := range targets {
			standings[i] = targets[i].standing
		}
		next, more := pick(standings, now)
		if next < 0 {
			break
		}
		if last != nil {
			r.log.Warn("the next model is asked", "failed", last.ref, "class", last.err.Class, "detail", last.err.Detail, "model", targets[next].ref)
		}
		last = &targets[next]
		answer, err := r.ask(ctx, last, more, request, onDelta)
		if err == nil {
			return Result{Answer: answer, Model: last.ref, Tried: tried(targets, last, now)}, nil
		}
		if ctx.Err() != nil {
			return Result{Model: last.ref, Tried: tried(targets, last, now)}, fmt.Errorf("ask %s: %w", last.ref, context.Cause(ctx))
		}
		if last.started || !passable(last.err.Class) {
			return Result{Model: last.ref, Tried: tried(targets, last, now)}, last.err
		}
	}
	now := time.Now()
	result := Result{Tried: tried(targets, last, now)}
	if last == nil {
		return result, nobody(targets, now)
	}
	result.Model = last.ref
	return result, together(targets, last, now)
}

// passable says whether the next model is asked after such a failure.
func passable(c model.Class) bool {
	switch c {
	case model.Passing, model.Denied, model.Missing, model.Garbage, model.Invalid:
		return true
	case model.Filtered, model.Overflow:
		return false
	}
	return true
}

// resolve finds the models. One that is not there, or is named again, is not asked.
func (r *Router) resolve(chain []string) []target {
	targets := make([]target, 0, len(chain))
	seen := map[string]bool{}
	for _, ref := range chain {
		if seen[ref] {
			continue
		}
		seen[ref] = true
		t := target{ref: ref}
		m, err := r.catalog.Model(ref)
		if err != nil {
			t.done = true
			t.err = &model.Error{Class: model.Missing, Cause: turnv1.ModelUnavailable, Text: err.Error(), Detail: "not in the catalog"}
		} else {
			t.model = m
			t.keys[0], t.keys[1] = keysOf(ref, m)
		}
		targets = append(targets, t)
	}
	return targets
}

// look reads the holds of those that were not asked yet.
func (r *Router) look(ctx context.Context, targets []target, now time.Time) {
	keys := make([]string, 0, 2*len(targets))
	for i := range targets {
		if !targets[i].done {
			keys = append(keys, targets[i].keys[:]...)
		}
	}
	holds := r.holds.get(ctx, keys, now)
	for i := range targets {
		if !targets[i].done {
			targets[i].hold = longer(holds[0], holds[1])
			holds = holds[2:]
		}
	}
}

// errShare ends a model that does not begin to answer while others could be asked.
var errShare = errors.New("the time to begin an answer is over")

// ask makes one model call, and remembers what it says about the next one. more says that others could be asked.
func (r *Router) ask(
	ctx context.Context, t *target, more bool, request func(model.Model) model.Request, onDelta func(string),
) (model.Answer, error) {
	t.done = true
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := func() {}
	began := time.Now()
	if deadline, ok := ctx.Deadline(); ok && more {
		share := time.AfterFunc(time.Until(deadline)/2, func() { cancel(errShare) })
		defer share.Stop()
		begun = func() { share.Stop() }
	}
	answer, err := r.generate(call, t.model, request(t.model), func(text string) {
		if text == "" {
			return
		}
		if !t.started {
			t.started = true
			begun()
		}
		onDelta(text)
	})
	now := time.Now()
	switch {
	case err == nil:
		r.answered(ctx, t, now)
		return answer, nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && !t.started, errors.Is(context.Cause(call), errShare):
		// It hangs: as if the provider had given up.
		t.err = &model.Error{
			Class: model.Passing, Cause: turnv1.TimedOut, Text: "The model did not begin its answer in time. Please try again.",
			Detail: fmt.Sprintf("no answer began within %s", now.Sub(began).Round(time.Millisecond)),
		}
	default:
		t.err = reported(err)
	}
	if ctx.Err() == nil || ended(ctx) {
		r.failed(ctx, t, now)
	}
	return model.Answer{}, err
}
