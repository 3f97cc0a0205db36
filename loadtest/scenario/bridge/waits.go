package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

// waitCost is from the moment at which the bus has stored a message, by its own clock, to that at which a client that waits for it has
// its event. Beside it are a bare server of the SDK with as many calls that wait, from the call that releases them; and, over stdio, a
// plain call of that server. All results are of one size.
type waitCost struct {
	Transport string      `json:"transport"`
	Waiters   int         `json:"waiters"`
	Own       bool        `json:"sessions_of_their_own"`
	Took      stat.Spread `json:"took"` // of each waiter
	Last      stat.Spread `json:"last"` // of the last waiter of each event
	Floor     stat.Spread `json:"floor_sdk"`
	FloorLast stat.Spread `json:"floor_sdk_last"`
	Echo      stat.Spread `json:"floor_call"`
	Added     int64       `json:"added_p50_ns"` // Took less Floor, of the rounds' own
	AddedCall int64       `json:"added_call_p50_ns"`
	Ratio     float64     `json:"floor_p50"`
}

// waited is one round, before the journal has told when its events were stored.
type waited struct {
	waitCost

	events []awaited
}

// awaited is one event and when each of its waiters had it.
type awaited struct {
	cursor uint64
	told   []time.Time
}

// place is where clients wait: over which sessions, beside a bare server that has as many.
type place struct {
	waitCost

	all, bare []*mcp.ClientSession
}

const (
	manyShare   = 10 // many wait for a tenth of the events
	settleOne   = 5 * time.Millisecond
	settleEach  = time.Millisecond // until a call that was sent waits in its server: nobody tells
	waitTimeout = 60 * time.Second
)

// waitAll has clients wait for messages: one over stdio, many calls of one over stdio, and many over HTTP with a session each.
func (x *bridged) waitAll(ctx context.Context, c *caller.Stdio, bare *mcp.ClientSession) error {
	n := x.f.waiters
	places := []place{
		{waitCost{Transport: peer.OverStdio, Waiters: 1}, repeated(c.ClientSession, 1), repeated(bare, 1)},
		{waitCost{Transport: peer.OverStdio, Waiters: n}, repeated(c.ClientSession, n), repeated(bare, n)},
	}
	served, w, err := x.mcp.OverHTTP(ctx)
	if err != nil {
		return err
	}
	defer served.Kill()
	child, bareWeb, err := caller.BareHTTP(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = child.Close() }() // it was asked to end
	web := place{waitCost: waitCost{Transport: peer.OverHTTP, Waiters: n, Own: true}}
	if web.all, err = w.Open(ctx, n); err != nil {
		return err
	}
	defer func() { _ = w.Shut(ctx, web.all) }() // the server ends right after
	if web.bare, err = bareWeb.Open(ctx, n+1); err != nil {
		return err
	}
	defer func() { _ = bareWeb.Shut(ctx, web.bare) }()
	one := place{waitCost{Transport: peer.OverHTTP, Waiters: 1, Own: true}, web.all[:1], web.bare[:2]}
	for round := range x.f.Rounds {
		for i, p := range append(places, one, web) {
			x.P.Note("round %d of %d: %d waiting over %s", round+1, x.f.Rounds, p.Waiters, p.Transport)
			got, err := x.waitRound(ctx, p, fmt.Sprintf("w%dr%d", i, round))
			if err != nil {
				return fmt.Errorf("%d waiting over %s: %w", p.Waiters, p.Transport, err)
			}
			x.waits = append(x.waits, got)
		}
	}
	return served.Stop(bench.StopTime)
}

func repeated(s *mcp.ClientSession, n int) []*mcp.ClientSession {
	all := make([]*mcp.ClientSession, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// waitRound is one round of a place.
func (x *bridged) waitRound(ctx context.Context, p place, run string) (out waited, err error) {
	out.waitCost = p.waitCost
	events := x.f.waits
	if p.Waiters > 1 {
		events = max(1, events/manyShare)
	}
	size := 0
	for i := range events {
		e, bytes, err := x.await(ctx, p, marker.New(run, 0, i))
		if err != nil {
			return out, err
		}
		size = bytes
		out.events = append(out.events, e)
	}
	var each, last []time.Duration
	for range events {
		took, err := released(ctx, p.bare, p.Waiters, size)
		if err != nil {
			return out, fmt.Errorf("floor: %w", err)
		}
		each, last = append(each, took...), append(last, stat.Quantile(took, 1))
	}
	out.Floor, out.FloorLast = stat.SpreadOf(each), stat.SpreadOf(last)
	out.Echo, err = bareOf(ctx, p.bare[0], size, bench.Timing{Duration: min(x.f.Timing.Duration, time.Second)})
	return out, err
}

// together has n calls wait, has before done when they were sent, and is when each had its answer.
func together(n int, do func(i int) error, before func() error) ([]time.Time, error) {
	at, failed := make([]time.Time, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			failed[i] = do(i)
			at[i] = time.Now()
		})
	}
	err := before()
	wg.Wait()
	for _, f := range failed {
		if err == nil {
			err = f
		}
	}
	return at, err
}

// await has everybody wait for one message. The message is new to the index of conversations, too, and its turn goes on meanwhile: that
// is what a user's machine does.
func (x *bridged) await(ctx context.Context, p place, m string) (e awaited, size int, err error) {
	ctx, cancel := context.WithCancel(ctx) // whoever waits for nothing does not wait on
	defer cancel()
	after, err := x.mcp.Reach(ctx, p.all[0])
	if err != nil {
		return e, 0, err
	}
	results := make([]*mcp.CallToolResult, p.Waiters)
	e.told, err = together(p.Waiters, func(i int) (err error) {
		results[i], err = caller.Call(ctx, p.all[i], caller.WaitTool, caller.Arguments{
			"after_cursor": after, "timeout_ms": waitTimeout.Milliseconds(), "types": []string{caller.MessageType},
		})
		return err
	}, func() error {
		pace.Wait(ctx, settleOne+time.Duration(p.Waiters)*settleEach)
		a, err := x.cl.Send(ctx, client.Message{Session: "waits", Text: m + " are you there?", Key: m})
		if err != nil {
			cancel()
			return err
		}
		e.cursor = a.Cursor
		return x.completed(ctx, a)
	})
	if err != nil {
		return e, 0, err
	}
	for _, r := range results {
		got, err := caller.Structured[struct {
			Event *caller.Happened `json:"event"`
		}](r)
		if err != nil {
			return e, 0, err
		}
		if got.Event == nil || got.Event.Cursor != e.cursor || marker.First(got.Event.Text) != m {
			return e, 0, fmt.Errorf("a client that waited behind %d for event %d was told of %+v", after, e.cursor, got.Event)
		}
	}
	size, err = sizeOf(results[0])
	return e, size, err
}

// completed waits until a message has its answer.
func (x *bridged) completed(ctx context.Context, a client.Accepted) error {
	for {
		switch r, err := x.cl.Wait(ctx, a.ID, exchange.ReplyPatience); {
		case err != nil:
			return err
		case r.Status == "completed":
			return nil
		case r.Final():
			return fmt.Errorf("reply to %s: %s %q", a.ID, r.Status, r.Text)
		}
	}
}

// released is the floor: calls that wait in a bare server, and how long after the call that releases them each had its answer. That call
// comes by the last session, which over HTTP has none that waits.
func released(ctx context.Context, all []*mcp.ClientSession, n, size int) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	other := all[len(all)-1]
	var began time.Time
	at, err := together(n, func(i int) error {
		_, err := caller.Call(ctx, all[i], fakemcp.Await, nil)
		return err
	}, func() error {
		if _, err := caller.Call(ctx, other, fakemcp.Awaited, caller.Arguments{"calls": n}); err != nil {
			cancel()
			return err
		}
		began = time.Now()
		_, err := caller.Call(ctx, other, fakemcp.Release, caller.Arguments{"bytes": size})
		return err
	})
	if err != nil {
		return nil, err
	}
	return stat.Each(at, func(t time.Time) time.Duration { return t.Sub(began) }), nil
}

// waitsOf takes from the journal when the events were stored.
func waitsOf(rounds []waited, journal []store.Record) ([]waitCost, error) {
	stored := map[uint64]time.Time{}
	for _, r := range journal {
		stored[r.Cursor] = r.Stored
	}
	type kind struct {
		transport string
		waiters   int
	}
	var order []kind
	all := map[kind][]waitCost{}
	for _, w := range rounds {
		var took, last []time.Duration
		for _, e := range w.events {
			at, ok := stored[e.cursor]
			if !ok {
				return nil, fmt.Errorf("event %d is not in the journal", e.cursor)
			}
			these := stat.Each(e.told, func(t time.Time) time.Duration { return t.Sub(at) })
			took, last = append(took, these...), append(last, stat.Quantile(these, 1))
		}
		o := w.waitCost
		o.Took, o.Last = stat.SpreadOf(took), stat.SpreadOf(last)
		o.Added, o.AddedCall = int64(o.Took.P50-o.Floor.P50), int64(o.Took.P50-o.Echo.P50)
		o.Ratio = stat.Ratio(o.Took.P50, o.Floor.P50)
		k := kind{o.Transport, o.Waiters}
		if all[k] == nil {
			order = append(order, k)
		}
		all[k] = append(all[k], o)
	}
	return stat.Each(order, func(k kind) waitCost { return medianWait(all[k]) }), nil
}

// medianWait takes each figure's median over several rounds; differences and ratios are those of the rounds' own.
func medianWait(rounds []waitCost) waitCost {
	spread := func(f func(waitCost) stat.Spread) stat.Spread { return stat.MedianSpread(stat.Each(rounds, f)) }
	return waitCost{
		Transport: rounds[0].Transport, Waiters: rounds[0].Waiters, Own: rounds[0].Own,
		Took:      spread(func(w waitCost) stat.Spread { return w.Took }),
		Last:      spread(func(w waitCost) stat.Spread { return w.Last }),
		Floor:     spread(func(w waitCost) stat.Spread { return w.Floor }),
		FloorLast: spread(func(w waitCost) stat.Spread { return w.FloorLast }),
		Echo:      spread(func(w waitCost) stat.Spread { return w.Echo }),
		Added:     stat.Median(stat.Each(rounds, func(w waitCost) int64 { return w.Added })),
		AddedCall: stat.Median(stat.Each(rounds, func(w waitCost) int64 { return w.AddedCall })),
		Ratio:     stat.Median(stat.Each(rounds, func(w waitCost) float64 { return w.Ratio })),
	}
}
