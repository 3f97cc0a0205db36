package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// Executor is an executor that the configuration names, with a consumer of its own: what happens to it (it is slow, it is broken,
// it is paused) happens to no other.
type Executor struct {
	Name   string // see subject.Executor
	Serial bool   // one call at a time, over all workers: the next is delivered when the last one is settled
}

// Spec is that of the executor's doorbells, for Doorbells and Backlog of a service that has Spec.Executors.
func (x Executor) Spec() Spec {
	return Spec{Name: x.Name, Doorbells: []string{executorKind(x.Name)}}
}

func executorKind(executor string) string {
	return envelope.KindOf(callv1.Dispatched{}.EventType()) + "." + executor
}

func (x Executor) consumer(l Limits) Consumer {
	c := consumersOf(x.Spec(), l)[0]
	c.Service = subject.ExecutorService(x.Name)
	c.Config.Description = "calls of " + x.Name
	if x.Serial {
		c.Config.MaxAckPending = 1
	}
	return c
}

// ErrNoExecutor says that an executor has no consumer: its owner has not made it yet, or has removed it.
var ErrNoExecutor = errors.New("no such executor")

// ExecutorState is how far the consumer of an executor is.
type ExecutorState struct {
	PausedUntil time.Time // zero: it is not paused
	Waiting     uint64    // calls that were not delivered yet
	Open        int       // delivered and not settled
	Floor       uint64    // cursor up to which all is settled
}

// ExecutorState looks at the consumer of an executor. Errors: ErrNoExecutor.
func (c *Conn) ExecutorState(ctx context.Context, executor string) (ExecutorState, error) {
	var info struct {
		jetstream.ConsumerInfo
		Error *jetstream.APIError `json:"error"`
	}
	if err := c.api(ctx, "CONSUMER.INFO."+subject.Journal+"."+executor, struct{}{}, &info); err != nil {
		return ExecutorState{}, fmt.Errorf("executor %s: %w", executor, err)
	}
	if err := executorError(executor, info.Error); err != nil {
		return ExecutorState{}, err
	}
	s := ExecutorState{Waiting: info.NumPending, Open: info.NumAckPending, Floor: info.AckFloor.Stream}
	if until := info.Config.PauseUntil; until != nil && info.Paused {
		s.PausedUntil = *until
	}
	return s, nil
}

func executorError(executor string, api *jetstream.APIError) error {
	switch {
	case api == nil:
		return nil
	case api.Code == 404:
		return fmt.Errorf("executor %s: %w", executor, ErrNoExecutor)
	}
	return fault.New(fault.Unavailable, "executor %s: %w", executor, api)
}

// PauseExecutor has the server deliver no call of an executor to anybody until then. It outlives all workers. A time that is over
// ends a pause. Errors: ErrNoExecutor.
func (c *Conn) PauseExecutor(ctx context.Context, executor string, until time.Time) error {
	var resp struct {
		Error *jetstream.APIError `json:"error"`
	}
	req := struct {
		Until *time.Time `json:"pause_until,omitempty"`
	}{&until}
	if !until.After(time.Now()) {
		req.Until = nil
	}
	if err := c.api(ctx, "CONSUMER.PAUSE."+subject.Journal+"."+executor, req, &resp); err != nil {
		return fmt.Errorf("pause executor %s: %w", executor, err)
	}
	return executorError(executor, resp.Error)
}

// Executors are the names of all executors of a service that have a consumer, configured or not.
func (c *Conn) Executors(ctx context.Context, service string) ([]string, error) {
	var all []string
	for {
		var resp struct {
			Total     int                 `json:"total"`
			Consumers []string            `json:"consumers"`
			Error     *jetstream.APIError `json:"error"`
		}
		req := struct {
			Offset int `json:"offset"`
		}{len(all)}
		if err := c.api(ctx, "CONSUMER.NAMES."+subject.Journal, req, &resp); err != nil {
			return nil, fmt.Errorf("executors of %s: %w", service, err)
		}
		if resp.Error != nil {
			return nil, fault.New(fault.Unavailable, "executors of %s: %w", service, resp.Error)
		}
		all = append(all, resp.Consumers...)
		if len(resp.Consumers) == 0 || len(all) >= resp.Total {
			break
		}
	}
	own := slices.DeleteFunc(all, func(name string) bool { return name == service || subject.ExecutorService(name) != service })
	slices.Sort(own)
	return own, nil
}

// ApplyExecutors gives each executor its consumer, and takes away those of executors of the service that are not among them, when
// no call of theirs is left. As the user Admin.
func ApplyExecutors(ctx context.Context, admin *Conn, service string, l Limits, executors []Executor) ([]Change, error) {
	done, err := Apply(ctx, admin.js, Topology{Consumers: TopologyOf(nil, l, executors...).Consumers})
	if err != nil {
		return nil, err
	}
	names, err := admin.Executors(ctx, service)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if slices.ContainsFunc(executors, func(x Executor) bool { return x.Name == name }) {
			continue
		}
		state, err := admin.ExecutorState(ctx, name)
		if err != nil || state.Waiting > 0 || state.Open > 0 {
			continue // who serves it answers what is left
		}
		if err := admin.js.DeleteConsumer(ctx, subject.Journal, name); err == nil {
			done = append(done, Change{Action: Delete, Object: "consumer " + subject.Journal + "/" + name})
		}
	}
	return done, nil
}

// Calls calls fn for the calls that were handed to an executor from a cursor on, whether they were delivered or not, and returns
// the cursor to go on from. It reads past all that lies between: for what happens rarely.
func (c *Conn) Calls(ctx context.Context, executor string, from uint64, fn func(envelope.Event)) (next uint64, err error) {
	u, err := c.usage(ctx, subject.Journal)
	if err != nil {
		return from, err
	}
	next = max(from, u.First, 1)
	filter := subject.OfKind(executorKind(executor))
	for next <= u.Last {
		msgs, err := c.page(ctx, subject.Journal, filter, next, replayBatch)
		if err != nil {
			return next, fmt.Errorf("calls of %s from %d: %w", executor, next, err)
		}
		if len(msgs) == 0 {
			return u.Last + 1, nil
		}
		for _, m := range msgs {
			next = m.Sequence + 1
			ev, err := c.decode(ctx, m.Subject, m.Header, m.Data, m.Sequence)
			switch {
			case errors.Is(err, envelope.ErrEnvelope):
				c.log.Warn("not an event", "cursor", m.Sequence, "error", err)
			case err != nil:
				return m.Sequence, err
			default:
				fn(ev)
			}
		}
	}
	return next, nil
}
