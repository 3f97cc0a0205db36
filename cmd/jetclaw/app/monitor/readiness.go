package monitor

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
)

// State is what a module is up to.
type State string

// The states.
const (
	Ready    State = "ready"
	Waiting  State = "waiting" // its turn to start has not come
	NotReady State = "not ready"
	Ended    State = "ended"
)

// ModuleState is what /readyz says of one module.
type ModuleState struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Error string `json:"error,omitempty"`
}

// Report is what /readyz says.
type Report struct {
	Ready    bool          `json:"ready"`
	Draining bool          `json:"draining,omitempty"`
	NotReady []string      `json:"not_ready"` // names of modules, and "nats" when something is lost
	Modules  []ModuleState `json:"modules"`
	Lost     []string      `json:"lost,omitempty"` // users whose connection to NATS is down, or of no use: "turns: its consumer is gone"
}

// Readiness asks the modules of a process. Its methods may be called from any goroutine.
type Readiness struct {
	lost   func() []string
	redact func(string) string

	draining atomic.Bool

	mu      sync.Mutex
	modules []*watched // guarded by mu

	asking sync.Mutex
	at     time.Time // guarded by asking
	last   Report    // guarded by asking
}

// askTime is what a module has to say that it is ready: it is asked whether, not when. askEvery bounds what being asked may cost.
const (
	askTime  = time.Second
	askEvery = 250 * time.Millisecond
)

// NewReadiness makes one without modules. lost names connections to NATS that are down or of no use; redact takes secrets out of errors.
func NewReadiness(lost func() []string, redact func(string) string) *Readiness {
	return &Readiness{lost: lost, redact: redact}
}

// Watch is m, asked about from now on.
func (r *Readiness) Watch(m lifecycle.Module) lifecycle.Module {
	w := &watched{Service: m.Service, name: m.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules = append(r.modules, w)
	return lifecycle.Module{Name: m.Name, Service: w}
}

// Drain says that the process is about to stop.
func (r *Readiness) Drain() { r.draining.Store(true) }

// Ask asks all modules at once. Who asks meanwhile, or right after, gets the same answer.
func (r *Readiness) Ask(ctx context.Context) Report {
	r.asking.Lock()
	defer r.asking.Unlock()
	if time.Since(r.at) > askEvery {
		r.last = r.ask(ctx)
		r.at = time.Now()
	}
	out := r.last
	if out.Draining = r.draining.Load(); out.Draining {
		out.Ready = false
	}
	return out
}

func (r *Readiness) ask(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime) // the answer is for others, too
	defer cancel()
	r.mu.Lock()
	modules := slices.Clone(r.modules)
	r.mu.Unlock()
	out := Report{NotReady: []string{}, Modules: make([]ModuleState, len(modules))}
	var wg sync.WaitGroup
	for i, w := range modules {
		wg.Go(func() { out.Modules[i] = w.state(ctx, r.redact) })
	}
	wg.Wait()
	for _, m := range out.Modules {
		if m.State != Ready {
			out.NotReady = append(out.NotReady, m.Name)
		}
	}
	if out.Lost = r.lost(); len(out.Lost) > 0 {
		out.NotReady = append(out.NotReady, "nats")
	}
	out.Ready = len(out.NotReady) == 0
	return out
}

// watched is a service that tells whether it runs.
type watched struct {
	lifecycle.Service
	name           string
	started, ended atomic.Bool
}

// Run implements lifecycle.Service.
func (w *watched) Run(ctx context.Context) error {
	w.started.Store(true)
	defer w.ended.Store(true)
	return w.Service.Run(ctx)
}

// state asks the service, which may be asked only while it runs.
func (w *watched) state(ctx context.Context, redact func(string) string) ModuleState {
	s := ModuleState{Name: w.name}
	switch {
	case w.ended.Load():
		s.State = Ended
	case !w.started.Load():
		s.State = Waiting
	default:
		s.State = Ready
		if err := w.Ready(ctx); err != nil {
			s.State, s.Error = NotReady, redact(err.Error())
		}
	}
	return s
}
