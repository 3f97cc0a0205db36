package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ConsumerState is how far one durable consumer is.
type ConsumerState struct {
	Stream, Name string
	Service      string // whose doorbells it has
	Timers       bool   // it is the consumer of the service's timers
	Missing      bool   // the server does not have it; then the rest is empty

	Pending     uint64    // not delivered yet
	AckPending  int       // delivered and not settled
	MaxPending  int       // of AckPending: with so many nothing new is delivered
	Redelivered int       // of AckPending, those that were delivered more than once
	Floor       uint64    // everything up to it is settled
	Delivered   uint64    // the highest sequence that was ever delivered
	Active      time.Time // when something was last delivered or acked; zero: never since the server's start
	Waiting     int       // pulls that wait: somebody is there
	PausedUntil time.Time // zero: it is not paused
}

// Consumers tells the state of all durable consumers of a topology, in its order. Admin only.
func Consumers(ctx context.Context, admin *Conn, t Topology) ([]ConsumerState, error) {
	return admin.consumerStates(ctx, t.Consumers)
}

func (c *Conn) consumerStates(ctx context.Context, all []Consumer) ([]ConsumerState, error) {
	states := make([]ConsumerState, len(all))
	err := sideBySide(ctx, all, func(ctx context.Context, i int, one Consumer) (err error) {
		states[i], err = c.consumerState(ctx, one)
		return err
	})
	return states, err
}

func (c *Conn) consumerState(ctx context.Context, want Consumer) (ConsumerState, error) {
	name := want.Config.Durable
	s := ConsumerState{Stream: want.Stream, Name: name, Service: want.Service, Timers: want.Stream == subject.Timers}
	var info struct {
		jetstream.ConsumerInfo
		Error *jetstream.APIError `json:"error"`
	}
	if err := c.api(ctx, "CONSUMER.INFO."+want.Stream+"."+name, struct{}{}, &info); err != nil {
		return s, fmt.Errorf("consumer %s of %s: %w", name, want.Stream, err)
	}
	switch {
	case info.Error != nil && info.Error.Code == 404:
		s.Missing = true
		return s, nil
	case info.Error != nil:
		return s, fault.New(fault.Unavailable, "consumer %s of %s: %w", name, want.Stream, info.Error)
	}
	s.Pending, s.AckPending, s.MaxPending = info.NumPending, info.NumAckPending, info.Config.MaxAckPending
	s.Redelivered, s.Waiting = info.NumRedelivered, info.NumWaiting
	s.Floor, s.Delivered = info.AckFloor.Stream, info.Delivered.Stream
	for _, at := range []*time.Time{info.Delivered.Last, info.AckFloor.Last} {
		if at != nil && at.After(s.Active) {
			s.Active = *at
		}
	}
	if info.Paused && info.Config.PauseUntil != nil {
		s.PausedUntil = *info.Config.PauseUntil
	}
	return s, nil
}

// TimerState is a timer of a service for a session, or one that has rung and is not settled.
type TimerState struct {
	Service string
	At      time.Time // when it rings; zero: it has rung
}

// TimersOf lists the timers of all services for a session. Admin only.
func TimersOf(ctx context.Context, admin *Conn, s session.ID) ([]TimerState, error) {
	lasts, err := admin.lasts(ctx, subject.Timers, []string{subject.Schedule("*", s), subject.Timer("*", s)})
	if err != nil {
		return nil, fmt.Errorf("timers of %s: %w", s, err)
	}
	var all []TimerState
	for _, m := range lasts {
		service, at := timerAt(m)
		all = append(all, TimerState{Service: service, At: at})
	}
	return all, nil
}

// timerAt reads whose timer a stored message is, and when it rings.
func timerAt(m *jetstream.RawStreamMsg) (service string, at time.Time) {
	if service, _, err := subject.ParseTimer(m.Subject); err == nil {
		return service, time.Time{}
	}
	service, _, _ = subject.ParseTimer(m.Header.Get("Nats-Schedule-Target"))
	at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(m.Header.Get("Nats-Schedule"), "@at "))
	if err != nil { // of a form that we do not write: it cannot be relied on
		return "", time.Time{}
	}
	return service, at
}

// StreamState is how full one stream is, and whether all copies of it are there.
type StreamState struct {
	Name string
	Usage
	Behind []string // servers whose copy is away or lags
}

// Streams tells how full the streams of a topology are; one that is missing is left out. Admin only.
func Streams(ctx context.Context, admin *Conn, t Topology) ([]StreamState, error) {
	var all []StreamState
	for _, s := range t.Streams {
		info, err := admin.streamInfo(ctx, s.Config.Name)
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.Code == 404 {
			continue
		}
		if err != nil {
			return nil, err
		}
		st := StreamState{Name: s.Config.Name, Usage: info.usage()}
		for _, r := range info.Cluster.Replicas {
			if r.Offline || !r.Current {
				st.Behind = append(st.Behind, r.Name)
			}
		}
		all = append(all, st)
	}
	return all, nil
}

// Mend is Apply for a server at work that somebody has changed: it goes on after what cannot be brought about, and a consumer
// whose change the server refuses is made anew. What that one had is delivered again, which a doorbell may be at any time.
func Mend(ctx context.Context, admin *Conn, t Topology) ([]Change, error) {
	var done []Change
	var wrong []error
	note := func(ch Change, err error) {
		wrong = append(wrong, err)
		if err == nil && ch.Action != Unchanged {
			done = append(done, ch)
		}
	}
	for _, s := range t.Streams {
		st, err := s.compare(ctx, admin.js, t.free)
		if err == nil {
			err = st.take(ctx, entirely)
		}
		note(st.Change, err)
	}
	for _, c := range t.Consumers {
		ch, err := c.converge(ctx, admin.js, false, entirely)
		if err != nil && ch.Action == Update {
			if err = admin.js.DeleteConsumer(ctx, c.Stream, c.Config.Durable); err == nil {
				_, err = admin.js.CreateConsumer(ctx, c.Stream, c.Config)
			}
			err = named("replace", ch, err)
		}
		note(ch, err)
	}
	return done, errors.Join(wrong...)
}

// Lag tells the state of the connection's own durable consumers: those of its service, and of executors that it runs, of which at
// most maxExecutors are asked about.
func (c *Conn) Lag(ctx context.Context, s Spec) ([]ConsumerState, error) {
	wanted := consumersOf(s, DefaultLimits())
	if s.Executors {
		names, err := c.Executors(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		for _, name := range names[:min(len(names), maxExecutors)] {
			wanted = append(wanted, Executor{Name: name}.consumer(DefaultLimits()))
		}
	}
	return c.consumerStates(ctx, wanted)
}

// maxExecutors bounds what Lag asks for.
const maxExecutors = 100
