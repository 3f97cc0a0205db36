package soak

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// sample is one reading of a daemon that works.
type sample struct {
	At         time.Duration `json:"at_ns"` // from the beginning
	Turns      int64         `json:"turns"` // so far; an update of Telegram counts as one
	Sessions   int64         `json:"sessions"`
	Events     uint64        `json:"events"`
	RSS        int64         `json:"rss_bytes"`
	Heap       float64       `json:"heap_bytes,omitempty"` // 0: not known, as with the next one
	Goroutines float64       `json:"goroutines,omitempty"`
	Files      int           `json:"files"` // descriptors
	Threads    int           `json:"threads"`
	Disk       int64         `json:"disk_bytes"` // of the home: blocks, not lengths
	Consumers  int           `json:"consumers"`
	Lag        uint64        `json:"lag"` // doorbells that wait, or are not settled
	Served     int64         `json:"mcp_serve_rss_bytes,omitempty"`
}

// Names of metrics of a Go process.
const (
	heapMetric      = "go_memstats_heap_inuse_bytes"
	goroutineMetric = "go_goroutines"
)

// look takes a reading.
func (s *soaked) look(ctx context.Context) (x sample, err error) {
	x = sample{At: time.Since(s.began), Turns: s.turns.Load(), Sessions: s.begun.Load(), Served: s.served.Load()}
	if s.people != nil {
		x.Turns += s.people.Done.Load()
	}
	if x.RSS, err = s.d.RSS(); err != nil {
		return x, err
	}
	if x.Files, err = s.d.Files(); err != nil {
		return x, err
	}
	if x.Threads, err = s.d.Threads(); err != nil {
		return x, err
	}
	if s.home.Monitor != "" {
		m, err := s.home.Metrics(ctx)
		if err != nil {
			return x, err
		}
		x.Heap, x.Goroutines = m[heapMetric], m[goroutineMetric]
	}
	if x.Disk, err = daemon.Occupied(s.home.Dir); err != nil {
		return x, err
	}
	return x, s.lookAtBus(ctx, &x)
}

// lookAtBus counts consumers and what waits in them.
func (s *soaked) lookAtBus(ctx context.Context, x *sample) error {
	conn, err := s.d.Dial(ctx, bus.Admin)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	u, err := conn.Journal().Usage(ctx)
	if err != nil {
		return err
	}
	x.Events = u.Messages
	streams := conn.JetStream().StreamNames(ctx)
	for name := range streams.Name() {
		st, err := conn.JetStream().Stream(ctx, name)
		if err != nil {
			return err
		}
		l := st.ListConsumers(ctx)
		for c := range l.Info() {
			x.count(c)
		}
		if err := l.Err(); err != nil {
			return err
		}
	}
	return streams.Err()
}

func (x *sample) count(c *jetstream.ConsumerInfo) {
	x.Consumers++
	if c.Config.Durable != "" {
		x.Lag += c.NumPending + uint64(max(0, c.NumAckPending))
	}
}
