package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/schemas/fault"
)

// Server error codes of a cluster that is too small, or may store too little.
const (
	codeNoPeers   jetstream.ErrorCode = 10005
	codeNoCluster jetstream.ErrorCode = 10074
	codeNoStorage jetstream.ErrorCode = 10047
)

// Action is what a Change does.
type Action string

const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Delete    Action = "delete"  // by ApplyExecutors only
	Replace   Action = "replace" // of what can be built again, and cannot be changed
)

// Change is what Apply does, or did, to one stream or consumer.
type Change struct {
	Action Action
	Object string   // "stream EV", "consumer EV/turns"
	Diff   []string // of an update: "max_bytes: 100 → 200"
	// Risk says what is lost, or less safe, by it; "" for nothing.
	Risk string
}

func (c Change) String() string {
	if len(c.Diff) == 0 {
		return string(c.Action) + " " + c.Object
	}
	return fmt.Sprintf("%s %s (%s)", c.Action, c.Object, strings.Join(c.Diff, ", "))
}

// Plan says what Apply would do. It changes nothing.
func Plan(ctx context.Context, js jetstream.JetStream, t Topology) ([]Change, error) {
	return converge(ctx, js, t, look)
}

// Apply creates what is missing and updates what differs; it never deletes a stream, a consumer or a message. It may be
// repeated, and after an error continues where it stopped. The result is in the topology's order.
func Apply(ctx context.Context, js jetstream.JetStream, t Topology) ([]Change, error) {
	return converge(ctx, js, t, entirely)
}

// extent is how much of what differs converge changes.
type extent int

const (
	look      extent = iota // nothing
	carefully               // what has no Risk
	entirely
)

// does says whether a change is made.
func (x extent) does(c Change) bool { return x == entirely || x == carefully && c.Risk == "" }

// parallel requests: the files of a new stream are synced one by one, and these waits overlap.
const parallel = 8

func converge(ctx context.Context, js jetstream.JetStream, t Topology, x extent) ([]Change, error) {
	changes := make([]Change, len(t.Streams)+len(t.Consumers))
	missing := make(map[string]bool, len(t.Streams)) // streams that a plan would create
	steps := make([]step, len(t.Streams))
	err := sideBySide(ctx, t.Streams, func(ctx context.Context, i int, s Stream) (err error) {
		steps[i], err = s.compare(ctx, js, t.free)
		changes[i] = steps[i].Change
		return err
	})
	if err != nil {
		return nil, err
	}
	take := func(shrinking bool) error {
		return sideBySide(ctx, steps, func(ctx context.Context, _ int, s step) error {
			if s.shrinks != shrinking {
				return nil
			}
			return s.take(ctx, x)
		})
	}
	if err := take(true); err != nil { // first: the servers must have room for all bounds at any time
		return nil, err
	}
	if err := take(false); err != nil {
		return nil, err
	}
	for i, s := range t.Streams {
		missing[s.Config.Name] = x == look && changes[i].Action == Create
	}
	err = sideBySide(ctx, t.Consumers, func(ctx context.Context, i int, c Consumer) (err error) {
		changes[len(t.Streams)+i], err = c.converge(ctx, js, missing[c.Stream], x)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// sideBySide does something for all of a list, some at a time, and ends with the first error.
func sideBySide[T any](ctx context.Context, all []T, do func(context.Context, int, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, one := range all {
		g.Go(func() error { return do(ctx, i, one) })
	}
	return g.Wait()
}

// step is a Change of a stream and how it is made.
type step struct {
	Change
	do      func(context.Context) error // nil: there is nothing to do
	shrinks bool                        // it makes room
}

// take makes the change, as far as that is wanted.
func (s step) take(ctx context.Context, x extent) error {
	if s.do == nil || !x.does(s.Change) {
		return nil
	}
	return named(string(s.Action), s.Change, s.do(ctx))
}

// compare says what is to be done to have a stream as it should be.
func (s Stream) compare(ctx context.Context, js jetstream.JetStream, free int64) (step, error) {
	want := s.Config
	ch := Change{Action: Unchanged, Object: "stream " + want.Name}
	create := func(ctx context.Context) error { _, err := js.CreateStream(ctx, want); return err }
	have, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		ch.Action = Create
		return step{Change: ch, do: create}, nil
	}
	if err != nil {
		return step{}, named("look at", ch, err)
	}
	info := have.CachedInfo()
	if s.auto {
		want.MaxBytes = keepSize(info.Config.MaxBytes, want.MaxBytes, int64(info.State.Bytes), free)
	}
	if want.Metadata, err = metadataOf(want, info.Config.Metadata); err != nil {
		return step{}, err
	}
	if s.copies {
		want.Replicas = info.Config.Replicas
	}
	if want.Replicas == 1 || info.Config.PersistMode == jetstream.DefaultPersistMode { // it cannot be changed
		want.PersistMode = info.Config.PersistMode
	} else {
		want.PersistMode = jetstream.DefaultPersistMode
	}
	if ch.Diff, err = differences(info.Config, want); err != nil {
		return step{}, named("compare", ch, err)
	}
	if len(ch.Diff) == 0 {
		return step{Change: ch}, nil
	}
	ch.Action, ch.Risk = Update, riskOf(info.Config, want)
	do := func(ctx context.Context) error { _, err := js.UpdateStream(ctx, want); return err }
	if info.Config.PersistMode != want.PersistMode {
		ch.Action, ch.Risk = Replace, "what it has is built again: each session is folded from its beginning once"
		do = func(ctx context.Context) error {
			if err := js.DeleteStream(ctx, want.Name); err != nil {
				return err
			}
			return create(ctx)
		}
	}
	return step{Change: ch, do: do, shrinks: want.MaxBytes > 0 && want.MaxBytes < info.Config.MaxBytes}, nil
}

// metadataOf is what a stream is to have there: the server writes versions into it, which stay.
func metadataOf(want jetstream.StreamConfig, have map[string]string) (map[string]string, error) {
	if contractOf(want.Metadata) == 0 {
		return have, nil
	}
	return withContract(have)
}

// keepSize decides the automatic limit of a stream that exists: as it is, unless the disk can no longer hold it or has
// room for twice as much.
func keepSize(have, auto, used, free int64) int64 {
	auto += used // auto is a share of what is free beside what is used
	switch {
	case have <= 0:
		return auto
	case free == 0:
		return have
	case have-used > free, have < auto/2:
		return auto
	}
	return have
}

func (c Consumer) converge(ctx context.Context, js jetstream.JetStream, noStream bool, x extent) (Change, error) {
	want := c.Config
	ch := Change{Action: Create, Object: "consumer " + c.Stream + "/" + want.Durable}
	if noStream {
		return ch, nil
	}
	have, err := js.Consumer(ctx, c.Stream, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if x.does(ch) {
			_, err = js.CreateConsumer(ctx, c.Stream, want)
			return ch, named("create", ch, err)
		}
		return ch, nil
	}
	if err != nil {
		return ch, named("look at", ch, err)
	}
	ch.Action = Unchanged
	conf := have.CachedInfo().Config
	want.Metadata = conf.Metadata
	want.PauseUntil = conf.PauseUntil // somebody's decision, not part of the topology
	if ch.Diff, err = differences(conf, want); err != nil {
		return ch, named("compare", ch, err)
	}
	if len(ch.Diff) == 0 {
		return ch, nil
	}
	ch.Action = Update
	if x.does(ch) {
		_, err = js.UpdateConsumer(ctx, c.Stream, want)
		return ch, named("update", ch, err)
	}
	return ch, nil
}

func named(verb string, ch Change, err error) error {
	if err == nil {
		return nil
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch code := api.ErrorCode; {
		case noRoom(api):
			return fault.New(fault.Unavailable, "%s %s: the NATS servers may not store as much as all streams together are bounded to: "+
				"let each store more (max_file_store: jetclaw nats config --max-store), or say less for the largest (bus.max_bytes): %w", verb, ch.Object, err)
		case code == codeNoPeers, code == codeNoCluster:
			return fault.New(fault.Unavailable, "%s %s: there are too few servers with JetStream that can be reached for so many copies (bus.replicas): %w",
				verb, ch.Object, err)
		}
	}
	if len(ch.Diff) > 0 {
		return fmt.Errorf("%s %s (%s): %w", verb, ch.Object, strings.Join(ch.Diff, ", "), err)
	}
	return fmt.Errorf("%s %s: %w", verb, ch.Object, err)
}

// noRoom says whether servers refuse a stream as all streams together could become larger than what they may store.
func noRoom(api *jetstream.APIError) bool {
	return api.ErrorCode == codeNoStorage || api.ErrorCode == codeNoPeers && strings.Contains(api.Description, "insufficient storage")
}

// differences lists the fields in which two configurations differ, by their wire names.
func differences(have, want any) ([]string, error) {
	h, err := fields(have)
	if err != nil {
		return nil, err
	}
	w, err := fields(want)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(h)+len(w))
	for n := range h {
		names = append(names, n)
	}
	for n := range w {
		names = append(names, n)
	}
	slices.Sort(names)
	var out []string
	for _, n := range slices.Compact(names) {
		if a, b := text(h[n]), text(w[n]); a != b {
			out = append(out, fmt.Sprintf("%s: %s → %s", n, a, b))
		}
	}
	return out, nil
}

func fields(config any) (map[string]json.RawMessage, error) {
	b, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	err = json.Unmarshal(b, &m)
	return m, err
}

func text(v json.RawMessage) string {
	if v == nil {
		return "–"
	}
	return string(v)
}
