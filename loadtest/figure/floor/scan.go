package floor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// ScanCommand runs this program as the child that reads a journal: Scan on stdin, Scanned on stdout.
const ScanCommand = "floor-scan"

// Scan is one reading of the whole journal of a stopped daemon, and nothing else: no event is decoded.
type Scan struct {
	Data    string `json:"data"`    // folder of the store
	Batched bool   `json:"batched"` // by direct gets of many messages each, one after the other; else by an ordered consumer
}

// Scanned is what came of it. The time is that of the reading, not of opening the store.
type Scanned struct {
	Events    int           `json:"events"`
	Bytes     int64         `json:"bytes"` // of the bodies
	Took      time.Duration `json:"took_ns"`
	PerSecond float64       `json:"per_second"`
	CPU       time.Duration `json:"cpu_ns"` // of the process, opening the store included
}

// ScanJournal has a child of this program read.
func ScanJournal(ctx context.Context, s Scan) (Scanned, error) {
	return ask[Scanned](ctx, ScanCommand, s)
}

// ServeScan is the child's side of ScanJournal.
func ServeScan(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, RunScan)
}

// RunScan reads in this process: server and reader are in it together, as those of `jetclaw replay` are.
func RunScan(ctx context.Context, s Scan) (Scanned, error) {
	st, err := store.Open(s.Data)
	if err != nil {
		return Scanned{}, err
	}
	defer st.Close()
	js := st.JetStream()
	journal, err := js.Stream(ctx, subject.Journal)
	if err != nil {
		return Scanned{}, fmt.Errorf("floor: %w", err)
	}
	state := journal.CachedInfo().State
	if state.Msgs == 0 {
		return Scanned{}, errors.New("floor: the journal has no events")
	}
	var r Scanned
	began := time.Now()
	if s.Batched {
		err = r.batched(ctx, js, state.LastSeq)
	} else {
		err = r.ordered(ctx, journal, state.LastSeq)
	}
	if err != nil {
		return Scanned{}, fmt.Errorf("floor: after %d events: %w", r.Events, err)
	}
	r.Took = time.Since(began)
	r.PerSecond, r.CPU = float64(r.Events)/r.Took.Seconds(), cpu()
	return r, nil
}

const (
	scanPull  = 2000
	scanBatch = 512 // as the product reads
	scanBytes = 8 << 20
)

func (r *Scanned) ordered(ctx context.Context, journal jetstream.Stream, last uint64) error {
	cons, err := journal.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	ended := false
	cc, err := cons.Consume(func(m jetstream.Msg) {
		if ended {
			return
		}
		meta, err := m.Metadata()
		if err == nil {
			r.Events, r.Bytes = r.Events+1, r.Bytes+int64(len(m.Data()))
		}
		if ended = err != nil || meta.Sequence.Stream >= last; ended {
			done <- err
		}
	}, jetstream.PullMaxMessages(scanPull))
	if err != nil {
		return err
	}
	defer func() {
		cc.Stop()
		<-cc.Closed()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Scanned) batched(ctx context.Context, js jetstream.JetStream, last uint64) error {
	for next := uint64(1); next <= last; {
		msgs, err := jetstreamext.GetBatch(ctx, js, subject.Journal, scanBatch, jetstreamext.GetBatchSeq(next), jetstreamext.GetBatchMaxBytes(scanBytes))
		if err != nil {
			return err
		}
		begin := next
		for m, err := range msgs {
			if err != nil {
				return err
			}
			r.Events, r.Bytes = r.Events+1, r.Bytes+int64(len(m.Data))
			next = m.Sequence + 1
		}
		if next == begin {
			return errors.New("a batch was empty")
		}
	}
	return nil
}
