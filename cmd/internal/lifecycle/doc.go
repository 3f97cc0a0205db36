// Package lifecycle runs the modules of a process: it starts them in order, lets them fail together and stops them in
// reverse.
//
//	start   a ─ready→ b ─ready→ c ─ready→ "all ready" …
//	stop    c ─drained→ b ─drained→ a ─drained→ Run returns
//
// A module starts when the one before it is ready, so it may rely on all before it until its own Run has returned. What
// ends the run is one of
//
//   - the context of Run: a normal stop, Run returns nil when all have drained;
//   - a module whose Run returns, with an error or without one, before it was asked to: a *Failure that names it, which
//     is also the cause seen by the contexts of all others;
//   - a module that is not ready in time: the same.
//
// Draining is bounded by Options.Drain over all modules together. When it is over, or when Options.Hurry is closed, the
// contexts of all that still run end at once, and after a short last grace Run returns a *Stuck that names them; their
// goroutines are then abandoned, which only a process about to exit may do.
package lifecycle
