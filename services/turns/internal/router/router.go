package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Catalog finds models by reference ("provider/model"). An error is for the person.
type Catalog interface {
	Model(ref string) (provider.Model, error)
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
	ref     string
	model   provider.Model // nil when the catalog does not have it
	places  [2]place       // of its hold, and of its provider's
	err     *model.Error
	started bool // some of its answer was passed on
}

// Generate asks the models of a chain, in order; see the package comment. request makes the request for the model that
// is asked. An error is a *model.Error, or, when ctx has ended, one that wraps its cause. The text of a *model.Error tells
// about the first model that failed; its class is that of the last.
func (r *Router) Generate(
	ctx context.Context, chain []string, request func(provider.Model) model.Request, onDelta func(string),
) (Result, error) {
	targets := r.resolve(chain)
	if len(targets) == 0 {
		return Result{}, &model.Error{Class: model.Invalid, Cause: turnv1.ModelUnavailable, Text: "No model is configured.", Detail: "an empty chain"}
	}
	var last *target
	for {
		now := time.Now()
		r.look(ctx, targets, now)
		next, more := pick(standings(targets), now)
		if next < 0 {
			break
		}
		if last != nil {
			r.log.Warn("the next model is asked", "failed", last.ref, "class", last.err.Class, "detail", last.err.Detail, "model", targets[next].ref)
		}
		last = &targets[next]
		answer, err := r.ask(ctx, last, more, request, onDelta)
		switch result := (Result{Answer: answer, Model: last.ref, Tried: before(targets, next, now)}); {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			return result, fmt.Errorf("ask %s: %w", last.ref, context.Cause(ctx))
		case last.started || !passable(last.err.Class):
			return result, last.err
		}
	}
	now := time.Now()
	if last == nil {
		return Result{Tried: besides(targets, nil, now)}, nobody(targets, now)
	}
	return Result{Model: last.ref, Tried: besides(targets, last, now)}, together(targets, last, now)
}

func standings(targets []target) []standing {
	list := make([]standing, len(targets))
	for i := range targets {
		list[i] = targets[i].standing
	}
	return list
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
			t.absent = true
			t.err = &model.Error{Class: model.Missing, Cause: turnv1.ModelUnavailable, Text: err.Error(), Detail: "not in the catalog"}
		} else {
			t.model = m
			t.places = placesOf(ref, m)
		}
		targets = append(targets, t)
	}
	return targets
}

// look reads the holds of those that were not asked yet.
func (r *Router) look(ctx context.Context, targets []target, now time.Time) {
	places := make([]place, 0, 2*len(targets))
	for i := range targets {
		if t := &targets[i]; !t.done && !t.absent {
			places = append(places, t.places[:]...)
		}
	}
	holds := r.holds.get(ctx, places, now)
	for i := range targets {
		if t := &targets[i]; !t.done && !t.absent {
			t.own, t.provider = holds[0], holds[1]
			holds = holds[2:]
		}
	}
}

// errShare ends a model that does not begin to answer while others could be asked.
var errShare = errors.New("the time to begin an answer is over")

// ask makes one model call, and remembers what it says about the next one. more says that others could be asked. After a
// failure t.err has it.
func (r *Router) ask(
	ctx context.Context, t *target, more bool, request func(provider.Model) model.Request, onDelta func(string),
) (model.Answer, error) {
	t.done = true
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := func() {}
	began := time.Now()
	if deadline, ok := ctx.Deadline(); ok && more {
		share := time.AfterFunc(deadline.Sub(began)/2, func() { cancel(errShare) })
		defer share.Stop()
		begun = func() { share.Stop() }
	}
	req := request(t.model)
	req.Once = more // the next model answers sooner than this one's second try
	answer, err := r.generate(call, t.model, req, func(text string) {
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
	if err == nil {
		r.answered(ctx, t, began, now)
		return answer, nil
	}
	late := errors.Is(ctx.Err(), context.DeadlineExceeded) || ctx.Err() == nil && errors.Is(context.Cause(call), errShare)
	switch {
	case late && !t.started: // it hangs: as if the provider had given up
		t.err = &model.Error{
			Class: model.Passing, Cause: turnv1.TimedOut, Text: "The model did not begin its answer in time. Please try again.",
			Detail: fmt.Sprintf("no answer began within %s", now.Sub(began).Round(time.Millisecond)),
		}
	case ctx.Err() != nil: // it was ended from outside, or was in the middle of its answer: that says nothing about it
		t.err = reported(err)
		return model.Answer{}, err
	default:
		t.err = reported(err)
	}
	r.failed(ctx, t, began, now)
	return model.Answer{}, err
}

// answered ends the holds of a model that works.
func (r *Router) answered(ctx context.Context, t *target, began, now time.Time) {
	for _, p := range t.places {
		r.holds.change(ctx, p, func(h hold) (hold, bool) { return h.answered(began, now) })
	}
}

// failed puts a model on hold, or its provider, if the failure asks for it.
func (r *Router) failed(ctx context.Context, t *target, began, now time.Time) {
	if t.err.Class == model.Denied {
		r.holds.change(ctx, t.places[1], func(hold) (hold, bool) { return deny(now), true })
		return
	}
	r.holds.change(ctx, t.places[0], func(h hold) (hold, bool) { return h.after(t.err.Class, t.err.RetryAfter, began, now) })
}

// generate calls the model. A panic of an adapter is a failure of the model: it reads what strangers send, and the person
// who waits is to be told.
func (r *Router) generate(ctx context.Context, m provider.Model, req model.Request, onDelta func(string)) (a model.Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("panic in a model call", "model", m.Name(), "panic", v, "stack", string(debug.Stack()))
			a, err = model.Answer{}, &model.Error{
				Class: model.Garbage, Cause: turnv1.ModelGarbage, Text: "The model's answer could not be read. Please try again.",
				Detail: fmt.Sprint("panic: ", v),
			}
		}
	}()
	return m.Generate(ctx, req, onDelta)
}
